"""The resident companion and its launcher: real processes, two windows, and a companion that is killed, hangs or cannot write."""

import asyncio
import json
import os
import signal
import socket
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from hooked import Agent, Done, git, run
from silent_server import SilentServer

import product
from commonplace.client.agents import AGENTS_WITH_HOOKS
from commonplace.client.companion import event_spool
from commonplace.client.link.server_link import ServerLink
from patience import PATIENCE_SECONDS, wait_until

NOTHING = Done(0, "", "")


def find_companions(home: Path) -> list[psutil.Process]:
    companions = []
    for process in psutil.process_iter():
        try:
            words, environ = process.cmdline(), process.environ()
        except psutil.Error:
            continue
        if "companion" in words[-2:] and environ.get("COMMONPLACE_HOME") == str(home):
            companions.append(process)
    return companions


async def wait_for_companion(home: Path) -> psutil.Process:
    await asyncio.to_thread(wait_until, (home / "companion.sock").exists)
    (companion,) = await asyncio.to_thread(find_companions, home)
    return companion


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "h"
    for companion in find_companions(tmp_path / "h"):
        companion.kill()


@pytest.fixture
def window(surroundings: dict[str, str], shop: Path) -> Callable[..., Agent]:
    """A window as `install` sets it up."""

    def open_window(name: str, **environ: str) -> Agent:
        known = surroundings | {"COMMONPLACE_HOOKS_COMPANION": "1", "COMMONPLACE_AGENT": name} | environ
        return Agent("claude", shop, known, launched=True)

    return open_window


async def test_two_windows_share_one_companion(window, home):
    ann, ben = window("ann", COMMONPLACE_KEY="smk_secret"), window("ben")
    assert "You are the agent ann" in (await ann.start()).context  # by itself: there is no companion yet
    companion = await wait_for_companion(home)
    assert "You are the agent ben" in (await ben.start()).context
    assert await ann.edit("src/cart.py") == NOTHING
    assert "leased by ann" in (await ben.edit("src/cart.py")).denial
    assert await ben.shell("ls") == NOTHING
    await ann.end()
    assert find_companions(home) == [companion]
    assert stat.S_IMODE((home / "companion.sock").stat().st_mode) == 0o600
    assert "smk_secret" not in str(companion.cmdline()) + str(companion.environ())


async def test_killed_companion_loses_nothing_and_another_is_started(window, home):
    ann, ben = window("ann"), window("ben")
    await ann.start()
    companion = await wait_for_companion(home)
    await ann.edit("src/cart.py")
    companion.kill()
    await asyncio.to_thread(companion.wait, PATIENCE_SECONDS)
    await asyncio.to_thread((home / "companion.started").unlink)
    assert await ann.edit("src/tax.py") == NOTHING
    assert await wait_for_companion(home) != companion
    denials = [(await ben.edit(file)).denial for file in ("src/cart.py", "src/tax.py")]
    assert ["leased by ann" in denial for denial in denials] == [True, True]


async def test_companion_that_hangs_is_replaced_and_the_agent_is_told_once(window, home):
    ann, ben = window("ann"), window("ben")
    await ann.start()
    hung = await wait_for_companion(home)
    hung.send_signal(signal.SIGSTOP)
    started = time.monotonic()
    assert await ann.edit("src/cart.py") == NOTHING
    assert time.monotonic() - started < PATIENCE_SECONDS / 6
    await asyncio.to_thread(os.utime, home / "companion.silent", (0, 0))
    await asyncio.to_thread((home / "companion.started").unlink, missing_ok=True)
    told = [(await ann.edit("src/cart.py")).context for _ in range(2)]
    assert ["did not answer in time" in text for text in told] == [True, False]
    await asyncio.to_thread(wait_until, lambda: len(find_companions(home)) == 2)
    assert "leased by ann" in (await ben.edit("src/cart.py")).denial
    hung.send_signal(signal.SIGCONT)
    await asyncio.to_thread(hung.wait, PATIENCE_SECONDS)


async def test_silent_server_costs_one_wait_and_its_ends_arrive_when_it_is_back(window, home, url):
    silent = SilentServer()
    ann, ben = window("ann"), window("ben")
    await ann.start()
    await wait_for_companion(home)
    await ann.edit("src/cart.py")
    for agent in (ann, ben):
        agent.environ |= {"COMMONPLACE_URL": silent.url, "COMMONPLACE_HOOKS_SECONDS": "0.3"}
    told = [await agent.edit("src/cart.py") for agent in (ann, ben)]
    again = [await agent.edit("src/cart.py") for agent in (ann, ben, ann)]
    assert ["not checked against the leases" in done.context for done in told] == [True, True]
    assert (again, len(silent.accepted)) == ([NOTHING] * 3, 1)
    await ann.end()
    ends = list((home / "ends").glob("*.json"))
    silent.close()
    assert len(ends) == 1
    # The server is back at the address that the end is for.
    end = json.loads(await asyncio.to_thread(ends[0].read_text))
    await asyncio.to_thread(ends[0].write_text, json.dumps(end | {"url": url}))
    carl = window("carl")
    await carl.start()
    await asyncio.to_thread(wait_until, lambda: not list((home / "ends").glob("*.json")))
    assert (await carl.edit("src/cart.py")).denial == ""


async def test_agent_is_told_once_where_nothing_can_be_stored(window, home, shop):
    ann = window("ann")
    await asyncio.to_thread(home.write_text, "")
    assert "cannot use" in (await ann.edit("src/cart.py")).context
    assert await ann.edit("src/cart.py") == NOTHING
    ben = window("ben", COMMONPLACE_HOME=str(home.with_name("full")))
    event = json.dumps(ben.sends("before_edit", "src/cart.py")).encode()
    full = ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *product.command("hook", "claude")]
    assert "not checked" in (await run(full, shop, ben.environ, event)).context


async def test_companion_of_another_version_or_without_use_ends(window, home):
    ann = window("ann", COMMONPLACE_HOOKS_COMPANION="0")
    home.mkdir()
    done = await run(product.command("companion", "0.1"), home, {"COMMONPLACE_HOME": str(home)})
    assert (done, (home / "companion.sock").exists()) == (NOTHING, False)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(home / "companion.sock"))
    assert "You are the agent ann" in (await ann.start()).context
    assert find_companions(home) == []


async def test_home_with_a_long_path_has_no_companion(window, tmp_path):
    deep = tmp_path / ("deep" * 30)
    far = window("ann", COMMONPLACE_HOME=str(deep))
    assert "You are the agent" in (await far.start()).context
    assert not (deep / "companion.sock").exists()


@pytest.mark.usefixtures("relay")
async def test_connection_with_tls_is_opened_once(remote_agent, relay, home):
    ann = replace(remote_agent(COMMONPLACE_HOOKS_COMPANION="1"), launched=True)
    await ann.start()
    await wait_for_companion(home)
    assert await ann.edit("src/cart.py") == NOTHING
    before = relay.connection_count
    assert await ann.edit("src/tax.py") == NOTHING
    await ann.end()
    assert relay.connection_count == before


FAR, NEAR = "https://far.example", "http://127.0.0.1:8080"


def wait_after(url: str, *samples: float, is_start: bool = False) -> float:
    link = ServerLink(url)
    for sample in samples:
        link.record_answer(sample)
    return round(link.wait_seconds(is_start=is_start), 2)


def test_limits_follow_event_and_distance():
    assert (wait_after(NEAR, is_start=True), wait_after(FAR, is_start=True)) == (0.3, 3.0)
    assert (wait_after(FAR), wait_after(FAR, 0.01, 0.01)) == (1.0, 0.36)
    assert wait_after(FAR, 0.2, 0.2, 0.2, is_start=True) == 1.5
    assert wait_after(FAR, *[0.02] * 9, 3.0) == 0.42  # a single slow answer changes little
    assert wait_after(NEAR, 0.3) == 1.0  # a slow tunnel on this machine


def test_one_caller_tries_a_server_that_was_away_and_a_late_answer_ends_it(monkeypatch):
    silent, now = SilentServer(), [100.0]
    link = ServerLink(silent.url)
    link.mark_away()
    assert not link.claim_attempt()
    monkeypatch.setattr(time, "monotonic", lambda: time.perf_counter() + now[0])
    assert [link.claim_attempt() for _ in range(3)] == [True, False, False]
    link.record_answer(0.1)
    assert [link.claim_attempt() for _ in range(2)] == [True, True]
    silent.close()


def test_events_of_a_session_are_claimed_until_they_were_sent_and_long_ones_are_cut(tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path))
    event_spool.spool_event("claude", "s/1", {"prompt": "a" * 500_000})
    event_spool.spool_event("claude", "s/1", {"prompt": "b"})
    (path,) = event_spool.claim_events("s/1")
    first, second = event_spool.read_events(path)
    assert (len(first["event"]["prompt"]) < 10_000, second["event"]) == (True, {"prompt": "b"})
    assert event_spool.claim_events("s/1") == [path]
    path.unlink()
    assert event_spool.claim_events("s/1") == []


@pytest.mark.parametrize("tool", AGENTS_WITH_HOOKS)
async def test_every_program_is_served_by_the_launcher(window, home, tool):
    ann = replace(window("ann"), tool=tool)
    await window("ben").start()
    await wait_for_companion(home)
    assert (await ann.edit("src/cart.py")).denial == ""
    assert "leased by ann" in (await window("ben").edit("src/cart.py")).denial


async def test_own_git_command_explains_that_the_branch_moved(near, shop):
    ann, ben = near(COMMONPLACE_AGENT="ann"), near(COMMONPLACE_AGENT="ben")
    for agent in (ann, ben):
        await agent.start()
    assert (await ann.shell("git switch -c topic")).denial == ""
    await asyncio.to_thread(git, shop, "switch", "-q", "-c", "topic")
    assert "It was not you" not in (await ann.edit("src/cart.py")).context
    assert "It was not you" in (await ben.edit("src/tax.py")).context
