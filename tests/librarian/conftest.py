"""Calls as the librarian makes them: from a thread, on the path of every call."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from commonplace import access
from patience import PATIENCE_SECONDS


@pytest.fixture
async def call(team) -> Callable[[str, Mapping[str, Any]], dict[str, Any]]:
    loop = asyncio.get_running_loop()

    def run(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        running = asyncio.run_coroutine_threadsafe(team.calls.run(name, given, access.OPERATOR), loop)
        return msgspec.json.decode(running.result(PATIENCE_SECONDS).text())

    return run
