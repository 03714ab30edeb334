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

    def call_operation(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        future = asyncio.run_coroutine_threadsafe(team.calls.run(name, arguments, access.OPERATOR), loop)
        return msgspec.json.decode(future.result(PATIENCE_SECONDS).to_text())

    return call_operation
