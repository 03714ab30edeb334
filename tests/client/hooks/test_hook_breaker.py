"""A server that does not answer costs its time once a minute, and the agent is told when leases are not enforced."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hooked import Agent, Done
from silent_server import SilentServer

from commonplace.client.companion import deadlines
from commonplace.client.companion.server_record import RETRY_SECONDS, ServerRecord
from patience import wait_until

NOTHING = Done(0, "", "")


@pytest.fixture
def silent() -> Iterator[SilentServer]:
    server = SilentServer()
    yield server
    server.close()


@pytest.fixture
def record(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ServerRecord]:
    """What the hooks of this home remember of a server."""
    monkeypatch.setenv("COMMONPLACE_HOME", str(home))
    return ServerRecord


def let_a_minute_pass(home: Path) -> None:
    """For the file that says when the server failed last."""
    for path in (home / "servers").glob("*.away"):
        past = time.time() - RETRY_SECONDS - 1
        os.utime(path, (past, past))


def alone(url: str, shop: Path, home: Path) -> Agent:
    return Agent(
        "claude",
        shop,
        {"COMMONPLACE_URL": url, "COMMONPLACE_HOME": str(home), "COMMONPLACE_HOOKS_TRANSCRIPTS": "off"},
    )


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_silent_server_is_tried_once_a_minute_by_all_agents_together(silent, shop, home, scheme):
    url = silent.url.replace("http", scheme)
    ann, ben = alone(url, shop, home), alone(url, shop, home)
    told = [await agent.edit("src/cart.py") for agent in (ann, ben)]
    again = [await agent.edit("src/cart.py") for agent in (ann, ben, ann)]
    assert ["not checked against the leases" in each.context for each in told] == [True, True]
    assert (again, len(silent.accepted)) == ([NOTHING] * 3, 1)
    await asyncio.to_thread(let_a_minute_pass, home)
    for agent in (ann, ben, ann):
        await agent.edit("src/cart.py")
    assert len(silent.accepted) == 2


async def test_answer_that_comes_too_late_ends_the_minute_early(silent, shop, home, record):
    await alone(silent.url, shop, home).edit("src/cart.py")
    assert not record(silent.url).claim_attempt()
    silent.answer()
    await asyncio.to_thread(wait_until, record(silent.url).claim_attempt)
    assert len(silent.accepted) == 1


async def test_agent_is_told_when_leases_are_enforced_again(near, silent):
    ann = near()
    away = replace(
        ann, environ=ann.environ | {"COMMONPLACE_URL": silent.url, "COMMONPLACE_HOOKS_SECONDS": "0.2"}
    )
    warned = [(await away.edit("src/cart.py")).context for _ in range(2)]
    back = [(await ann.edit("src/cart.py")).context for _ in range(2)]
    warned_again = (await away.edit("src/cart.py")).context
    assert ["not checked" in text for text in (*warned, warned_again)] == [True, False, True]
    assert ["enforced again" in text for text in back] == [True, False]


async def test_files_edited_meanwhile_are_reported_later(near, silent):
    ann, ben = near(COMMONPLACE_AGENT="ann"), near(COMMONPLACE_AGENT="ben")
    away = replace(
        ann, environ=ann.environ | {"COMMONPLACE_URL": silent.url, "COMMONPLACE_HOOKS_SECONDS": "0.2"}
    )
    await ann.start()
    await away.edit("src/cart.py")
    await away.edited("src/cart.py")
    await ann.edited("src/tax.py")
    assert "src/cart.py was also changed by ann" in (await ben.edited("src/cart.py")).context


async def test_local_server_that_refuses_or_cuts_connections_is_tried_at_each_edit(
    silent, shop, home, record
):
    """It costs no time, and hooks notice at once when it is back."""
    silent.hangs_up = True
    await alone(silent.url, shop, home).edit("src/cart.py")
    assert record(silent.url).claim_attempt()
    silent.close()
    await alone(silent.url, shop, home).edit("src/cart.py")
    assert record(silent.url).claim_attempt()


def test_one_process_tries_after_a_minute_and_success_ends_it(record, home):
    url = "https://far.example"
    record(url).record_failure()
    assert not record(url).claim_attempt()
    let_a_minute_pass(home)
    assert [record(url).claim_attempt() for _ in range(3)] == [True, False, False]
    record(url).record_answer(0.1)
    assert [record(url).claim_attempt() for _ in range(2)] == [True, True]
    assert [path.suffix for path in (home / "servers").iterdir()] == [".answers"]


def test_attempt_that_was_never_finished_does_not_block_the_server_forever(record, home):
    url = "https://far.example"
    record(url).record_failure()
    let_a_minute_pass(home)
    assert record(url).claim_attempt()
    for path in (home / "servers").glob("*.claim"):
        os.utime(path, (0, 0))
    assert not record(url).claim_attempt()
    let_a_minute_pass(home)
    assert record(url).claim_attempt()


FAR, NEAR = "https://far.example", "http://127.0.0.1:8080"


def wait_after(record: Callable[[str], ServerRecord], url: str, kind: str, *samples: float) -> float:
    for sample in samples:
        record(url).record_sample(sample)
    return round(deadlines.wait_seconds(kind, url, record(url)), 2)


def test_limits_follow_event_and_distance(record):
    assert wait_after(record, NEAR, "session_start") == 0.3
    assert wait_after(record, FAR, "session_start") == 3.0
    assert wait_after(record, FAR, "before_edit") == 1.0
    assert wait_after(record, FAR, "before_edit", 0.01, 0.01) == 0.36
    assert wait_after(record, FAR, "session_start", 0.2, 0.2, 0.2) == 1.5
    assert wait_after(record, FAR, "before_edit") == 1.0


def test_single_slow_answer_changes_little(record):
    assert wait_after(record, FAR, "before_edit", *[0.02] * 9, 3.0) == 0.42


def test_slow_tunnel_on_this_machine_gets_more_time(record):
    assert wait_after(record, NEAR, "before_edit", 0.3) == 1.0


def test_quick_local_answers_leave_no_file(record, home):
    record(NEAR).record_answer(0.01)
    assert not (home / "servers").exists()


def test_samples_stay_bounded(record, home):
    for _ in range(50):
        record(FAR).record_sample(0.1)
    assert len((home / "servers").glob("*.answers").__next__().read_text().split()) == 20


def test_address_decides_what_is_remote():
    urls = (
        "http://127.0.0.1:1",
        "http://localhost:1",
        "http://[::1]:1",
        "https://127.0.0.1:1",
        "http://10.0.0.7",
    )
    assert [deadlines.is_remote(url) for url in urls] == [False, False, False, True, True]
