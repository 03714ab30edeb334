"""A server that is away, silent or locked: the agent goes on, and is told once."""

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hooked import Agent, Done

import product
from commonplace.client.agents import AGENTS_WITH_HOOKS
from commonplace.client.link import remote
from patience import PATIENCE_SECONDS


@pytest.fixture
def silent() -> Iterator[str]:
    """An address that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def closed() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def alone(shop: Path, home: Path):
    def arrive(url: str, tool: str = "claude", **environ: str) -> Agent:
        variables = {"COMMONPLACE_URL": url, "COMMONPLACE_HOME": str(home)}
        return Agent(tool, shop, variables | {"COMMONPLACE_HOOKS_TRANSCRIPTS": "off"} | environ)

    return arrive


NOTHING = Done(0, "", "")


@pytest.mark.parametrize("tool", AGENTS_WITH_HOOKS)
async def test_edit_goes_on_and_the_agent_is_told_once(alone, closed, tool):
    bob = alone(closed, tool)
    act = bob.edited if tool in ("opencode", "copilot") else bob.edit  # they hear nothing before an edit
    first, second = await act("src/cart.py"), await act("src/cart.py")
    assert (first.denial, first.code, second) == ("", 0, NOTHING)
    assert "No server answers" in first.stdout + first.stderr


async def test_silent_server_counts_as_away(alone, silent):
    assert "timed out" in (await alone(silent).start()).context


async def test_other_agent_is_told_too(alone, closed):
    for _ in range(2):
        assert "No server answers" in (await alone(closed).edit("src/cart.py")).body["systemMessage"]


async def test_no_server_at_all_is_said(alone, tmp_path):
    bob = alone("", COMMONPLACE_DATA=str(tmp_path / "nothing"))
    assert "none is configured" in (await bob.start()).context


@pytest.mark.parametrize("kind", ["stop", "before_compact", "session_end", "after_edit", "prompt"])
async def test_every_event_lets_the_agent_go_on(alone, closed, kind):
    bob = alone(closed)
    done = await bob.hook(bob.sends(kind, *(["src/cart.py"] if kind == "after_edit" else [])))
    assert (done.code, done.denial) == (0, "")


async def test_broken_configuration_lets_the_agent_go_on(alone, closed, home):
    home.mkdir()
    (home / "config.toml").write_text("[hooks\n")
    assert await alone(closed).edit("src/cart.py") == NOTHING
    assert "TOMLDecodeError" in (home / "hooks.log").read_text()


async def test_home_that_is_no_folder_lets_the_agent_go_on(alone, closed, home):
    home.write_text("")
    assert "cannot use" in (await alone(closed).edit("src/cart.py")).context


async def test_log_stays_bounded(alone, closed, home):
    home.mkdir()
    (home / "hooks.log").write_bytes(b"x" * 300_000)
    await alone(closed).edit("src/cart.py")
    assert (home / "hooks.log.1").stat().st_size > 300_000
    assert not (home / "hooks.log").exists()


async def test_key_is_asked_for_once_and_its_own_name_is_used(alone, tmp_path):
    flags = ["--data", str(tmp_path / "keyed")]
    with product.running(*flags, "--auth", "on") as server:
        bob = alone(server.url, COMMONPLACE_HOOKS_SECONDS=str(PATIENCE_SECONDS))
        first, second = await bob.start(), await bob.edit("src/cart.py")
        assert "COMMONPLACE_KEY" in first.context
        assert second == NOTHING
        operator = json.loads((tmp_path / "keyed" / "server.json").read_bytes())["token"]
        made = server.call(
            "memory_admin", operator, action="create_key", name="ann", agent="ann", projects=["shop"],
            session_id=server.call("memory_start_session", operator, project="shop")["session_id"],
        )  # fmt: skip
        ann = alone(server.url, COMMONPLACE_KEY=made["key"], COMMONPLACE_HOOKS_SECONDS=str(PATIENCE_SECONDS))
        assert "You are the agent ann in the project shop" in (await ann.start()).context


async def test_key_that_the_server_does_not_know_is_named(alone, tmp_path):
    with product.running("--data", str(tmp_path / "data"), "--auth", "on") as server:
        warned = (
            await alone(
                server.url, COMMONPLACE_KEY="smk_gone", COMMONPLACE_HOOKS_SECONDS=str(PATIENCE_SECONDS)
            ).start()
        ).context
    assert "rejects the key" in warned


async def test_setting_that_cannot_be_read_is_as_usual_and_stands_in_the_log(alone, closed, home):
    bob = alone(closed, COMMONPLACE_HOOKS_MINUTES="abc", COMMONPLACE_HOOKS_LOCK="sometimes")
    assert "No server answers" in (await bob.edit("src/cart.py")).context
    log_text = (home / "hooks.log").read_text()
    assert (
        "hooks.minutes is invalid: 'abc'" in log_text,
        "hooks.lock is invalid: 'sometimes'" in log_text,
    ) == (
        True,
        True,
    )


def test_name_that_nobody_answers_for_is_given_up_in_time(monkeypatch):
    hanging = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: hanging.wait(PATIENCE_SECONDS))
    with pytest.raises(remote.ServerUnreachable, match="not resolved in time"):
        remote.call_operation(remote.RemoteServer("http://nowhere.invalid"), "memory_health", {}, 0.05)
    hanging.set()
