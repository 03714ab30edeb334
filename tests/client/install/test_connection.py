"""`connect` and `install` connect to the server before they write anything."""

import os
import secrets
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from user import User

import product


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[product.Product, str]]:
    """A server with keys, and an owner's key."""
    data = tmp_path_factory.mktemp("keyed")
    with product.running("--data", str(data), "--auth", "on") as server:
        token = (data / "server.json").read_text().split('"token": "')[1].split('"')[0]
        created = server.call(
            "memory_admin", token, action="create_key", name="ann", role="owner", projects=["*"]
        )
        yield server, created["key"]


@pytest.mark.parametrize("words", [("connect", "claude"), ("install", "--agent", "claude", "--yes")])
def test_a_server_that_does_not_answer_is_refused_and_nothing_is_written(user: User, words: tuple[str, ...]):
    before = user.snapshot()
    code, _, error = user.tries(*words, "--url", "http://127.0.0.1:9")
    assert (code, "--force" in error) == (8, True)
    assert user.snapshot() == before
    assert not (user.home / ".commonplace").exists()
    assert "http://127.0.0.1:9/mcp" in user.runs(
        "connect", "claude", "--print", "--url", "http://127.0.0.1:9"
    )
    user.runs(*words, "--url", "http://127.0.0.1:9", "--force")
    assert user.reads(".claude.json")["mcpServers"]["commonplace"]["url"] == "http://127.0.0.1:9/mcp"


def test_the_key_and_the_toolsets_are_tried_before_they_are_written(
    user: User, keyed: tuple[product.Product, str]
):
    server, key = keyed
    connect = ("connect", "claude", "--url", server.url)
    assert user.tries(*connect)[0] == 3
    assert user.tries(*connect, "--key", "smk_wrong")[0] == 3
    assert user.tries(*connect, "--key", key, "--toolsets", "bogus")[0] == 2
    assert not (user.home / ".claude.json").exists()
    user.runs(*connect, "--key", key, "--toolsets", "core,work")
    entry = user.reads(".claude.json")["mcpServers"]["commonplace"]
    assert entry["url"] == f"{server.url}/mcp/x/core,work"


@pytest.mark.parametrize("view", ["/mcp", "/mcp/", "/mcp/x/core", "/mcp/x/core/readonly", "/mcp/readonly"])
def test_the_address_may_be_that_of_a_view(user: User, keyed: tuple[product.Product, str], view: str):
    server, key = keyed
    user.runs("connect", "cursor", "--url", f"{server.url}{view}", "--key", key)
    expected = view.rstrip("/")
    assert user.reads(".cursor/mcp.json")["mcpServers"]["commonplace"]["url"] == server.url + expected
    config = tomllib.loads(Path(user.home, ".commonplace/config.toml").read_text())
    assert config["url"] == server.url
    user.runs("connect", "cursor")
    assert user.reads(".cursor/mcp.json")["mcpServers"]["commonplace"]["url"] == server.url + expected


def test_install_needs_one_key_for_tools_hooks_and_uploads(user: User, keyed: tuple[product.Product, str]):
    server, owner = keyed
    key = _create_key(server, owner, "agent")
    user.has(
        {".claude/projects/-shop/s1.jsonl": b'{"type":"user","cwd":"%s"}\n' % str(user.project).encode()}
    )
    transcript = user.home / ".claude/projects/-shop/s1.jsonl"
    os.utime(transcript, (time.time() - 3600, time.time() - 3600))
    install = ("install", "--agent", "claude", "--yes", "--no-schedule", "--url", server.url, "--key", key)
    assert user.tries(*install)[0::2] == (0, "")
    assert user.runs("sync").startswith("1 transcript sent")
    workspaces = server.call("list_workspaces", owner, project="shop")["workspaces"]
    assert [workspace["session_count"] for workspace in workspaces] == [1]


@pytest.mark.parametrize("words", [("connect", "claude"), ("install", "--agent", "claude", "--no-schedule")])
def test_the_machine_of_a_server_with_keys_gets_a_key_where_it_agrees(
    user: User, tmp_path_factory: pytest.TempPathFactory, words: tuple[str, ...]
):
    data = tmp_path_factory.mktemp("own")
    user.set("COMMONPLACE_DATA", str(data))
    with product.running("--data", str(data), "--auth", "on") as server:
        assert user.tries(*words)[0] == 3
        assert user.tries(*words, "--dry-run")[0] == 3
        assert not (user.home / ".claude.json").exists()
        told = user.runs(*words, "--yes")
        assert "Created the key" in told
        header = user.reads(".claude.json")["mcpServers"]["commonplace"]["headers"]["Authorization"]
        key = header.removeprefix("Bearer ")
        assert key not in told
        assert server.call("memory_start_session", key, project="shop")["project"] == "shop"
        again = user.runs(*words, "--yes")
        assert "Created the key" not in again


def test_install_says_at_once_that_a_key_may_not_upload(user: User, keyed: tuple[product.Product, str]):
    server, owner = keyed
    key = _create_key(server, owner, "readonly")
    install = ("install", "--agent", "claude", "--yes", "--url", server.url, "--key", key)
    assert "will not be uploaded" in user.tries(*install)[2]
    sync = _create_key(server, owner, "sync")
    assert user.tries(*install, "--sync-token", sync)[0::2] == (0, "")
    assert user.tries(*install)[0::2] == (0, "")


def _create_key(server: product.Product, owner: str, role: str) -> str:
    created = server.call(
        "memory_admin",
        owner,
        action="create_key",
        name=f"{role}-{secrets.token_hex(4)}",
        role=role,
        projects=["*"],
    )
    return created["key"]
