"""What the tests of the search engine share."""

import asyncio

import pytest


@pytest.fixture
def eventually():
    """Wait until it holds, five seconds at most."""

    async def wait(holds):
        async with asyncio.timeout(5):
            while not await holds():  # noqa: ASYNC110 - nobody tells when a vector is made
                await asyncio.sleep(0.02)

    return wait
