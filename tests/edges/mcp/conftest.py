from collections.abc import AsyncIterator

import pytest
from stage import Stage, serving


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with serving() as running:
        yield running
