"""Periodic background work goes on after failures, and ends when it is stopped."""

import asyncio
import logging

import pytest

from commonplace import background, errors
from patience import PATIENCE_SECONDS


async def count_to(limit: int, failures: tuple[BaseException, ...] = ()) -> int:
    """Run an act every millisecond that raises the failures first; return how often it was run at its end."""
    runs, done = 0, asyncio.Event()

    async def act() -> None:
        nonlocal runs
        runs += 1
        if runs >= limit:
            done.set()
        if runs <= len(failures):
            raise failures[runs - 1]

    task = background.every(0.001, act)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await done.wait()
    await background.stop(task)
    assert task.done()
    return runs


async def test_the_act_is_run_again_and_again():
    assert await count_to(3) >= 3


async def test_the_work_goes_on_after_a_failure_that_is_logged(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        assert await count_to(4, (errors.Unavailable(), ValueError("a bug"), errors.Unavailable())) >= 4
    assert [record.getMessage() for record in caplog.records] == [
        "background work waits",
        "background work failed",
    ]


async def test_the_first_run_may_come_at_another_time():
    ran = asyncio.Event()

    async def act() -> None:
        ran.set()

    task = background.every(3600, act, first_after=0)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await ran.wait()
    await background.stop(task)


async def test_stopping_what_was_never_started_does_nothing():
    await background.stop(None)
