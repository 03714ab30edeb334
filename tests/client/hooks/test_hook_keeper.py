"""The keeper holds a connection to a remote server warm for all hooks of a user, and nothing depends on it."""

import asyncio
import os
import signal
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from bench.tls_relay import TlsRelay
from hooked import Agent, run

import product
from patience import PATIENCE_SECONDS, wait_until


def find_keepers(home: Path) -> list[psutil.Process]:
    keepers = []
    for process in psutil.process_iter():
        try:
            words, environ = process.cmdline(), process.environ()
        except psutil.Error:
            continue
        if words[-3:-1] == ["hook", "keeper"] and environ.get("COMMONPLACE_HOME") == str(home):
            keepers.append(process)
    return keepers


async def wait_for_keeper(home: Path, relay: TlsRelay, connections: int) -> psutil.Process:
    """Until it listens and has opened its connection."""
    await asyncio.to_thread(wait_until, (home / "keeper.sock").exists)
    await asyncio.to_thread(wait_until, lambda: relay.connection_count >= connections)
    (keeper,) = await asyncio.to_thread(find_keepers, home)
    return keeper


@pytest.fixture
def ann(remote_agent) -> Agent:
    """With a key, though this server asks for none."""
    return remote_agent(COMMONPLACE_KEY="smk_secret", COMMONPLACE_HOOKS_SECONDS=str(PATIENCE_SECONDS))


async def test_hooks_after_the_first_use_its_connection(ann, relay, home):
    await ann.start()
    await wait_for_keeper(home, relay, 2)
    assert (await ann.edit("src/cart.py")).stdout == ""
    before = relay.connection_count
    assert (await ann.edit("src/tax.py")).stdout == ""
    await ann.end()
    assert relay.connection_count == before


async def test_it_is_open_to_its_owner_only_and_knows_no_key(ann, relay, home):
    await ann.start()
    keeper = await wait_for_keeper(home, relay, 2)
    assert stat.S_IMODE((home / "keeper.sock").stat().st_mode) == 0o600
    assert "smk_secret" not in str(keeper.cmdline()) + str(keeper.environ())


async def test_hooks_work_when_it_was_killed_and_start_another(ann, relay, home):
    await ann.start()
    keeper = await wait_for_keeper(home, relay, 2)
    keeper.kill()
    await asyncio.to_thread(keeper.wait, PATIENCE_SECONDS)
    (home / "keeper.started").unlink()
    assert (await ann.edit("src/cart.py")).stdout == ""
    assert await wait_for_keeper(home, relay, 4) != keeper


@pytest.fixture
def stopped() -> Iterator[list[psutil.Process]]:
    processes: list[psutil.Process] = []
    yield processes
    for process in processes:
        process.kill()


async def test_hooks_work_when_it_hangs_and_dismiss_it_after_a_while(ann, relay, home, stopped):
    await ann.start()
    keeper = await wait_for_keeper(home, relay, 2)
    keeper.send_signal(signal.SIGSTOP)
    stopped.append(keeper)
    assert (await ann.edit("src/cart.py")).stdout == ""
    assert (home / "keeper.sock").exists()
    os.utime(home / "keeper.silent", (0, 0))
    assert (await ann.edit("src/tax.py")).stdout == ""
    assert not (home / "keeper.sock").exists()


async def test_keeper_that_was_slow_once_stays(ann, relay, home):
    await ann.start()
    await wait_for_keeper(home, relay, 2)
    (home / "keeper.silent").touch()
    await asyncio.to_thread(os.utime, home / "keeper.silent", (0, 0))
    assert (await ann.edit("src/cart.py")).stdout == ""
    assert ((home / "keeper.sock").exists(), (home / "keeper.silent").exists()) == (True, False)


async def test_keeper_that_trusts_other_certificates_is_replaced(ann, relay, home):
    await ann.start()
    keeper = await wait_for_keeper(home, relay, 2)
    (home / "keeper.started").unlink()
    other = replace(ann, environ=ann.environ | {"SSL_CERT_FILE": str(relay.ca_file)})
    assert (await other.edit("src/cart.py")).stdout == ""
    await asyncio.to_thread(keeper.wait, PATIENCE_SECONDS)
    assert await wait_for_keeper(home, relay, 4) != keeper


async def test_it_can_be_turned_off(ann, home):
    off = replace(ann, environ=ann.environ | {"COMMONPLACE_HOOKS_KEEPER": "0"})
    await off.start()
    assert not (home / "keeper.sock").exists()


async def test_it_ends_when_nobody_uses_it(shop, home):
    home.mkdir()
    done = await run(product.command("hook", "keeper", "0.1"), shop, {"COMMONPLACE_HOME": str(home)}, b"\n")
    assert (done.code, done.stderr, (home / "keeper.sock").exists()) == (0, "", False)


async def test_only_one_of_several_serves(shop, home):
    home.mkdir()
    words = product.command("hook", "keeper", "1")
    both = await asyncio.gather(*(run(words, shop, {"COMMONPLACE_HOME": str(home)}, b"\n") for _ in range(2)))
    assert [(done.code, done.stderr) for done in both] == [(0, "")] * 2


async def test_home_with_a_long_path_has_no_keeper(ann, tmp_path):
    deep = tmp_path / ("deep" * 30)
    far = replace(ann, environ=ann.environ | {"COMMONPLACE_HOME": str(deep)})
    assert "You are the agent" in (await far.start()).context
    assert not (deep / "keeper.sock").exists()
