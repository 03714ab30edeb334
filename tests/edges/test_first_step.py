"""A coroutine that is started at once behaves as if it were awaited, also where it is cancelled or fails."""

import asyncio

import pytest

from commonplace.edges.http.first_step import StartedCoroutine


async def add_after(event: asyncio.Event, seen: list[str]) -> int:
    seen.append("started")
    try:
        await event.wait()
    except asyncio.CancelledError:
        seen.append("cancelled")
        raise
    await asyncio.sleep(0)
    seen.append("ended")
    return 3


async def test_what_never_waits_has_ended_at_once():
    event = asyncio.Event()
    event.set()

    async def answer() -> int:
        await event.wait()
        return 7

    started = StartedCoroutine(answer())
    assert started.has_ended
    assert await started == started.result == 7


async def test_what_waits_goes_on_when_it_is_awaited():
    event, seen = asyncio.Event(), list[str]()
    started = StartedCoroutine(add_after(event, seen))
    assert (started.has_ended, seen) == (False, ["started"])
    asyncio.get_running_loop().call_soon(event.set)
    assert await started == 3
    assert seen == ["started", "ended"]


async def test_cancelling_the_task_reaches_the_coroutine():
    seen = list[str]()

    async def work() -> None:
        await StartedCoroutine(add_after(asyncio.Event(), seen))

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["started", "cancelled"]


async def test_a_time_limit_around_it_holds():
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await StartedCoroutine(add_after(asyncio.Event(), []))


async def test_an_error_is_raised_before_the_first_wait_and_after_it():
    async def fail(event: asyncio.Event) -> None:
        await event.wait()
        raise KeyError("late")

    event = asyncio.Event()
    started = StartedCoroutine(fail(event))
    event.set()
    with pytest.raises(KeyError):
        await started
    with pytest.raises(KeyError):
        StartedCoroutine(fail(event))


async def test_a_coroutine_may_go_on_after_an_error_that_it_expects():
    future = asyncio.get_running_loop().create_future()

    async def recover() -> str:
        try:
            await future
        except ValueError:
            await asyncio.sleep(0)
            return "recovered"
        return "not failed"

    started = StartedCoroutine(recover())
    future.set_exception(ValueError())
    assert await started == "recovered"
