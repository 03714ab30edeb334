"""`connect` and `install` connect to the server before they write anything."""

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
    assert user.reads(".cursor/mcp.json")["mcpServers"]["commonplace"]["url"] == server.url + view.rstrip("/")
    config = tomllib.loads(Path(user.home, ".commonplace/config.toml").read_text())
    assert config["url"] == server.url


def test_install_says_at_once_which_key_uploads_need(user: User, keyed: tuple[product.Product, str]):
    server, key = keyed
    install = ("install", "--agent", "claude", "--yes", "--url", server.url, "--key", key)
    assert "--role sync" in user.tries(*install)[2]
    created = server.call("memory_admin", key, action="create_key", name="desk", role="sync", projects=["*"])
    assert user.tries(*install, "--sync-token", created["key"])[0::2] == (0, "")
    assert user.tries(*install)[0::2] == (0, "")
