"""`commonplace connect`: the server in the settings of an agent, as that agent reads it."""

import json
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from agent_samples import load_samples
from agent_samples.server import BEARER, MCP
from user import User

from commonplace.client.agents import AGENTS, load_settings
from commonplace.client.link import remote
from commonplace.client.link.remote import RemoteServer

SERVER = ("--url", "http://127.0.0.1:9123", "--key", "cp_test_key", "--force")


def _entry(path: Path, at: tuple[str, ...]) -> Any:
    content = path.read_text()
    setting = tomllib.loads(content) if path.suffix == ".toml" else json.loads(content)
    for key in (*at, "commonplace"):
        setting = setting[key]
    return setting


@pytest.mark.parametrize("agent", AGENTS)
def test_connect_writes_what_the_agent_reads(user: User, agent: str):
    user.runs("connect", agent, *SERVER)
    path, at, entry = load_samples()[agent].CONNECTION
    assert _entry(user.home / path, at) == entry
    assert stat.S_IMODE((user.home / path).stat().st_mode) == 0o600


@pytest.mark.parametrize("agent", [name for name in AGENTS if load_settings(name).has_project_scope])
def test_connect_puts_no_key_into_a_project(user: User, agent: str):
    (user.project / "deep" / "inside").mkdir(parents=True)
    user.enters(user.project / "deep" / "inside")
    out = user.runs("connect", agent, "--project-scope", *SERVER)
    path, at, entry = load_samples()[agent].PROJECT_CONNECTION
    assert _entry(user.project / path, at) == entry
    assert b"cp_test_key" not in (user.project / path).read_bytes()
    assert "COMMONPLACE_KEY" in out


def test_connect_lets_vscode_ask_for_the_key_of_a_project(user: User):
    user.runs("connect", "vscode", "--project-scope", *SERVER)
    asked = json.loads((user.project / ".vscode/mcp.json").read_bytes())["inputs"]
    assert [(each["type"], each["id"], each["password"]) for each in asked] == [
        ("promptString", "commonplace-key", True)
    ]


def test_connect_refuses_windsurf_for_a_project(user: User):
    code, _, _ = user.tries("connect", "windsurf", "--project-scope", *SERVER)
    assert code == 2


@pytest.mark.parametrize("agent", AGENTS)
def test_connect_without_a_key_sends_none(user: User, agent: str):
    user.runs("connect", "--force", agent, "--url", "http://127.0.0.1:9123")
    path, at, entry = load_samples()[agent].CONNECTION
    bare = {name: value for name, value in entry.items() if name not in {"headers", "http_headers"}}
    assert _entry(user.home / path, at) == bare


@pytest.mark.parametrize("agent", AGENTS)
def test_connect_twice_and_uninstall_give_back_the_settings(user: User, agent: str):
    user.has(load_samples()[agent].SETTINGS)
    before = user.snapshot()
    user.runs("connect", agent, *SERVER)
    connected = user.snapshot()
    assert "already connected" in user.runs("connect", agent, *SERVER)
    assert user.snapshot() == connected
    user.runs("uninstall", "--yes")
    assert user.snapshot() == before


@pytest.mark.parametrize("agent", AGENTS)
def test_connect_print_shows_the_entry_and_writes_nothing(user: User, agent: str):
    before = user.snapshot()
    code, out, error = user.tries("connect", agent, "--print", *SERVER)
    path, at, entry = load_samples()[agent].CONNECTION
    shown = tomllib.loads(out) if path.endswith(".toml") else json.loads(out)
    for key in (*at, "commonplace"):
        shown = shown[key]
    assert (code, shown) == (0, entry)
    assert str(user.home / path) in error
    assert user.snapshot() == before
    assert not (user.home / ".commonplace").exists()


def test_connect_dry_run_shows_the_diff(user: User):
    user.has(load_samples()["cursor"].SETTINGS)
    before = user.snapshot()
    shown = user.runs("connect", "cursor", "--dry-run", *SERVER)
    assert (
        f'+{{"mcpServers": {{"linear": {{"url": "https://mcp.example.com/sse"}}, "commonplace": {{"url": "{MCP}"'
        in shown
    )
    assert "cp_test_key" not in shown
    assert user.snapshot() == before


def test_connect_all_writes_to_the_agents_that_are_there(user: User):
    user.has(load_samples()["gemini"].SETTINGS | load_samples()["cursor"].SETTINGS)
    user.runs("connect", "all", *SERVER)
    assert b"9123" in (user.home / ".gemini/settings.json").read_bytes()
    assert b"9123" in (user.home / ".cursor/mcp.json").read_bytes()
    assert not (user.home / ".claude.json").exists()


def test_connect_takes_server_and_key_from_the_environment(user: User):
    user.set("COMMONPLACE_URL", "http://127.0.0.1:9123/")
    user.set("COMMONPLACE_KEY", "cp_test_key")
    user.runs("connect", "--force", "claude")
    path, at, entry = load_samples()["claude"].CONNECTION
    assert _entry(user.home / path, at) == entry


def test_connect_without_any_server_assumes_where_serve_listens(user: User):
    user.runs("connect", "--force", "cursor")
    assert user.reads(".cursor/mcp.json")["mcpServers"]["commonplace"] == {"url": "http://127.0.0.1:8080/mcp"}
    assert not (user.home / ".commonplace/config.toml").exists()


def test_connect_finds_the_server_that_runs_on_this_machine(user: User):
    user.has({"state/server.json": b'{"url": "http://127.0.0.1:9200", "pid": 1, "token": "cp_owner_token"}'})
    user.set("COMMONPLACE_DATA", str(user.home / "state"))
    user.runs("connect", "--force", "cursor")
    assert user.reads(".cursor/mcp.json")["mcpServers"]["commonplace"] == {"url": "http://127.0.0.1:9200/mcp"}


def test_connect_writes_into_the_second_form_of_opencode(user: User):
    user.has({".config/opencode/opencode.json": b'{"mcp": {"servers": {"a": {"type": "local"}}}}'})
    user.runs("connect", "opencode", *SERVER)
    entry = user.reads(".config/opencode/opencode.json")["mcp"]["servers"]["commonplace"]
    assert entry == {"type": "remote", "url": MCP, "headers": BEARER}


def test_connect_leaves_the_hooks_of_an_install(user: User):
    user.runs("install", "--agent", "claude", "--yes", *SERVER)
    before = (user.home / ".claude/settings.json").read_bytes()
    user.runs("connect", "--force", "claude", "--url", "http://127.0.0.1:9999")
    assert (user.home / ".claude/settings.json").read_bytes() == before
    assert user.reads(".claude.json")["mcpServers"]["commonplace"]["url"] == "http://127.0.0.1:9999/mcp"


def test_connect_refuses_settings_of_another_shape(user: User):
    user.has({".cursor/mcp.json": b'{\n"mcpServers": ["a"]}'})
    code, _, error = user.tries("connect", "cursor", *SERVER)
    assert code == 6
    assert f"{user.home}/.cursor/mcp.json, line 2" in error
    assert "connect AGENT --print" in error
    assert (user.home / ".cursor/mcp.json").read_bytes() == b'{\n"mcpServers": ["a"]}'


@pytest.mark.parametrize(
    "given",
    [
        ("--url", "127.0.0.1:8080"),
        ("--url", "ftp://x"),
        ("--url", "http://"),
        ("--url", "http://x y"),
        ("--url", "http://x:port"),
        ("--key", "a\nb"),
        ("--key", "kéy"),
    ],
)
def test_connect_refuses_addresses_and_keys_that_can_not_be(user: User, given: tuple[str, str]):
    code, out, _ = user.tries("connect", "claude", "--print", *given)
    assert (code, out) == (2, "")
    user.set(f"COMMONPLACE_{given[0][2:].upper()}", given[1])
    assert user.tries("connect", "claude", "--print")[0] == 2


@pytest.mark.parametrize("count", ["-1", "11", "1000000"])
def test_install_refuses_a_number_of_learnings_that_no_hook_adds(user: User, count: str):
    assert user.tries("install", "--agent", "claude", "--yes", *SERVER, "--learnings", count)[0] == 2
    assert not (user.home / ".claude.json").exists()


def _configured(user: User) -> dict[str, Any]:
    return tomllib.loads((user.home / ".commonplace/config.toml").read_text())


def test_connect_to_another_server_takes_no_key_of_the_one_before_along(user: User):
    user.runs("install", "--agent", "claude", "--yes", *SERVER, "--sync-token", "cp_sync")
    before = _configured(user)
    user.runs("connect", "--force", "claude", "--url", "http://other:1")
    path, at, _ = load_samples()["claude"].CONNECTION
    assert _entry(user.home / path, at) == {"type": "http", "url": "http://other:1/mcp"}
    assert _configured(user) == {"url": "http://other:1", "key": "", "sync_token": ""}
    user.runs("connect", "claude", *SERVER)
    assert _configured(user) == before | {"sync_token": ""}
    user.runs("uninstall", "--yes")
    assert not (user.home / ".commonplace/config.toml").exists()


def test_connect_keeps_the_key_of_this_machines_own_server_from_others(user: User):
    user.runs("connect", "--force", "claude", "--key", "cp_test_key")
    shown = user.runs("connect", "claude", "--print", "--url", "http://other:1")
    assert "cp_test_key" not in shown
    assert "cp_test_key" in user.runs("connect", "claude", "--print", "--url", "http://127.0.0.1:8080/mcp")


def test_a_server_that_the_environment_names_gets_no_token_of_the_one_that_is_configured(user: User):
    user.runs("install", "--agent", "claude", "--yes", *SERVER, "--sync-token", "cp_sync")
    own = "http://127.0.0.1:9123"
    assert (remote.find_server(), remote.find_server("sync_token")) == (
        RemoteServer(own, "cp_test_key"),
        RemoteServer(own, "cp_sync"),
    )
    user.set("COMMONPLACE_URL", f"{own}/mcp/")
    assert remote.find_server() == RemoteServer(own, "cp_test_key")
    user.set("COMMONPLACE_URL", "http://other:1/mcp")
    assert (remote.find_server(), remote.find_server("sync_token")) == (
        RemoteServer("http://other:1"),
        RemoteServer("http://other:1"),
    )
    user.set("COMMONPLACE_KEY", "cp_other")
    assert remote.find_server() == RemoteServer("http://other:1", "cp_other")


def test_connect_of_a_project_leaves_the_server_of_the_machine(user: User):
    before = user.snapshot()
    user.runs("connect", "cursor", *SERVER)
    user.runs("connect", "claude", "--project-scope", "--force", "--url", "http://b.lan:1", "--key", "cp_b")
    assert tomllib.loads((user.project / ".commonplace.toml").read_text()) == {"url": "http://b.lan:1"}
    assert _configured(user)["url"] == "http://127.0.0.1:9123"
    assert remote.find_server() == RemoteServer("http://127.0.0.1:9123", "cp_test_key")
    assert remote.find_server(folder=user.project) == RemoteServer("http://b.lan:1", "cp_b")
    assert "Nothing would change" in user.runs(
        "connect", "claude", "--project-scope", "--force", "--url", "http://b.lan:1", "--dry-run"
    )
    assert "cp_b" not in user.runs("uninstall", "--dry-run")
    user.runs("uninstall", "--yes")
    assert user.snapshot() == before
    assert list((user.home / ".commonplace").iterdir()) in ([], [user.home / ".commonplace/backups"])


def test_connect_of_a_project_without_keys_is_how_its_server_gets_known(user: User):
    (user.project / ".commonplace.toml").write_text('url = "http://b.lan:1"\n')
    with pytest.raises(remote.ServerUnknown):
        remote.find_server(folder=user.project)
    user.runs("connect", "claude", "--project-scope", "--force", "--url", "http://b.lan:1")
    assert remote.find_server(folder=user.project) == RemoteServer("http://b.lan:1")
    assert remote.find_server("sync_token", user.project) == RemoteServer("http://b.lan:1")


def test_toolsets_are_remembered_until_others_are_chosen(user: User):
    user.runs("connect", "cursor", *SERVER, "--toolsets", "core, knowledge")
    assert user.reads(".cursor/mcp.json")["mcpServers"]["commonplace"]["url"].endswith(
        "/mcp/x/core,knowledge"
    )
    user.runs("install", "--agent", "claude", "cursor", "--yes", "--force")
    for path in (".cursor/mcp.json", ".claude.json"):
        assert user.reads(path)["mcpServers"]["commonplace"]["url"].endswith("/mcp/x/core,knowledge")
    user.runs("connect", "cursor", "--force", "--toolsets", "all")
    user.runs("connect", "cursor", "--force")
    assert user.reads(".cursor/mcp.json")["mcpServers"]["commonplace"]["url"].endswith("9123/mcp/x/all")
    assert user.tries("connect", "cursor", "--force", "--toolsets", " , ")[0] == 2
    user.runs("uninstall", "--yes")
    assert not (user.home / ".commonplace/config.toml").exists()


def test_connect_refuses_what_is_no_file(user: User):
    (user.home / ".claude.json").mkdir()
    code, _, error = user.tries("connect", "claude", *SERVER)
    assert (code, f"{user.home}/.claude.json" in error) == (2, True)
