from collections.abc import AsyncIterator

import pytest
from stage import Stage, run_stage


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with run_stage() as running:
        yield running
