"""Calls as the librarian makes them: from a thread, on the path of every call."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from commonplace import access


@pytest.fixture
async def call(team) -> Callable[[str, Mapping[str, Any]], dict[str, Any]]:
    loop = asyncio.get_running_loop()

    def run(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        running = asyncio.run_coroutine_threadsafe(team.calls.run(name, given, access.OPERATOR), loop)
        return msgspec.json.decode(running.result(5).text())

    return run
