"""Everything in the background goes on after failures, says how it goes, and ends when it is stopped."""

import asyncio
import logging

import pytest

from commonplace import background, errors
from patience import PATIENCE_SECONDS


async def count_to(limit: int, failures: tuple[BaseException, ...] = ()) -> background.BackgroundWork:
    """Run an act every millisecond that raises the failures first; return the work after so many runs."""
    runs, done = 0, asyncio.Event()

    async def act() -> None:
        nonlocal runs
        runs += 1
        if runs >= limit:
            done.set()
        if runs <= len(failures):
            raise failures[runs - 1]

    work = background.every(0.001, act, name="counting")
    async with asyncio.timeout(PATIENCE_SECONDS):
        await done.wait()
        await asyncio.sleep(0)
    await background.stop(work)
    assert work.task is not None
    assert work.task.done()
    return work


async def test_the_act_is_run_again_and_again():
    work = await count_to(3)
    assert (work.failures, work.last_error) == (0, "")


async def test_the_work_goes_on_after_a_failure_that_is_logged(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        work = await count_to(4, (errors.Unavailable(), ValueError("a bug"), errors.Unavailable()))
    assert [record.getMessage() for record in caplog.records] == [
        "background work waits",
        "background work failed",
        "background work waits",
    ]
    assert (work.failures, work.consecutive_failures) == (3, 0)


async def test_a_failure_that_repeats_is_logged_once(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.WARNING):
        await count_to(4, (ValueError("a bug"),) * 3)
    assert len(caplog.records) == 1


async def test_the_first_run_may_come_at_another_time():
    ran = asyncio.Event()

    async def act() -> None:
        ran.set()

    work = background.every(3600, act, name="seldom", first_after=0)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await ran.wait()
    await background.stop(work)


async def test_an_act_with_more_to_do_is_run_again_at_once():
    left, done = 3, asyncio.Event()

    async def act() -> bool:
        nonlocal left
        left -= 1
        if not left:
            done.set()
        return left > 0

    work = background.every(3600, act, name="queue", first_after=0)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await done.wait()
    await background.stop(work)


async def test_stopping_runs_the_last_act_and_raises_nothing():
    flushed = asyncio.Event()

    async def fail() -> None:
        flushed.set()
        raise ValueError("a bug")

    await background.stop(background.every(3600, fail, name="flush"), finish=fail)
    assert flushed.is_set()


async def test_stopping_what_was_never_started_does_nothing():
    await background.stop(None)


async def test_essential_work_that_hangs_is_found(monkeypatch: pytest.MonkeyPatch):
    async def hang() -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(background, "_STUCK_SECONDS", -1)
    work = background.every(0, hang, name="hanging", essential=True)
    idle = background.every(3600, hang, name="unimportant")
    assert background.find_stuck_work() is work
    assert [each.name for each in background.list_work() if each in (work, idle)] == [
        "hanging",
        "unimportant",
    ]
    await background.stop(work)
    await background.stop(idle)
    assert background.find_stuck_work() is None
