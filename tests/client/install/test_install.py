"""`commonplace install` and `uninstall`: settings get what they need and come back to the byte."""

import json
import os
import stat
import subprocess
import sys
import tomllib
from collections.abc import Callable

import pytest
from agent_samples import load_samples
from agent_samples.server import BEARER, BYTE_ORDER_MARK, MCP
from user import User

from commonplace.client import hook
from commonplace.client.agents import AGENTS
from patience import PATIENCE_SECONDS

SERVER = ("--url", "http://127.0.0.1:9123", "--key", "cp_test_key", "--force")

EDITIONS: dict[str, Callable[[bytes], bytes]] = {
    "as it is": lambda content: content,
    "CRLF": lambda content: content.replace(b"\n", b"\r\n"),
    "with a byte order mark": lambda content: BYTE_ORDER_MARK + content.removeprefix(BYTE_ORDER_MARK),
    "without an end of line": lambda content: content.rstrip(b"\n"),
    "empty": lambda _: b"",
    "blank": lambda _: b" \n\n",
}


def _commands(value: object) -> list[str]:
    if isinstance(value, dict):
        own = [value[name] for name in ("command", "bash") if isinstance(value.get(name), str)]
        return own + [each for inner in value.values() for each in _commands(inner)]
    return [each for inner in value for each in _commands(inner)] if isinstance(value, list) else []


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("agent", AGENTS)
def test_uninstall_gives_back_the_settings_of_every_agent(user: User, agent: str, edition: str):
    user.has({name: EDITIONS[edition](content) for name, content in load_samples()[agent].SETTINGS.items()})
    before = user.snapshot()
    user.runs("install", "--agent", agent, "--yes", *SERVER)
    installed = user.snapshot()
    assert installed != before
    assert user.runs("install", "--agent", agent, "--yes", *SERVER) == "Nothing to change.\n"
    assert user.snapshot() == installed
    user.runs("uninstall", "--yes")
    assert user.snapshot() == before


def test_uninstall_leaves_nothing_where_there_was_nothing(user: User):
    before = user.snapshot()
    user.runs("install", "--agent", *AGENTS, "--yes", *SERVER)
    assert len(user.snapshot()) > len(before) + 10
    user.runs("uninstall", "--yes")
    assert user.snapshot() == before
    left = (
        {path.name for path in (user.home / ".commonplace").iterdir()}
        if (user.home / ".commonplace").exists()
        else set()
    )
    assert left <= {"backups"}


@pytest.mark.parametrize("agent", [name for name in AGENTS if load_samples()[name].HOOKS])
def test_install_runs_our_program_at_the_events_of_the_agent(user: User, agent: str):
    user.runs("install", "--agent", agent, "--yes", *SERVER)
    path, events = load_samples()[agent].HOOKS
    hooks = user.reads(path)["hooks"]
    assert set(hooks) == events
    commands = {
        command.replace(f" {name}; fi", "; fi")
        for name, event in hooks.items()
        for command in _commands(event)
    }
    launcher = f"{sys.executable} -ISE {hook.__file__} {agent}"
    assert commands == {f"if [ -f {hook.__file__} ]; then exec {launcher}; fi"}


def test_install_adds_a_status_line_only_when_asked_and_only_where_there_is_none(user: User):
    user.runs("install", "--agent", "claude", "--yes", *SERVER)
    before = user.reads(".claude/settings.json")
    assert "statusLine" not in before
    user.runs("install", "--agent", "claude", "--yes", "--status-line", *SERVER)
    line = user.reads(".claude/settings.json")["statusLine"]
    assert (line["type"], line["command"].endswith(" statusline")) == ("command", True)
    user.runs("uninstall", "--agent", "claude", "--yes")
    settings = user.home / ".claude/settings.json"
    assert not settings.exists()
    own = b'{"statusLine": {"type": "command", "command": "mine"}}'
    settings.parent.mkdir(exist_ok=True)
    settings.write_bytes(own)
    user.runs("install", "--agent", "claude", "--yes", "--status-line", *SERVER)
    assert user.reads(".claude/settings.json")["statusLine"]["command"] == "mine"


def test_install_with_learnings_hears_prompts_until_told_otherwise(user: User):
    config = user.home / ".commonplace/config.toml"
    user.runs("install", "--agent", "claude", "codex", "cursor", "--yes", *SERVER)
    plain = user.snapshot()
    user.runs("install", "--agent", "claude", "codex", "cursor", "--yes", "--learnings", "3", *SERVER)
    assert tomllib.loads(config.read_text())["hooks"] == {"learnings": 3}
    assert "UserPromptSubmit" in user.reads(".claude/settings.json")["hooks"]
    assert "UserPromptSubmit" in user.reads(".codex/hooks.json")["hooks"]
    assert "beforeSubmitPrompt" in user.reads(".cursor/hooks.json")["hooks"]
    assert user.runs("install", "--force", "--agent", "claude", "--yes") == "Nothing to change.\n"
    user.runs("install", "--agent", "claude", "codex", "cursor", "--yes", "--learnings", "0", *SERVER)
    assert user.snapshot() == plain
    user.runs("uninstall", "--yes")
    assert not config.exists()


def test_install_leaves_a_key_in_the_environment_where_the_user_keeps_it(user: User):
    user.has({".commonplace/config.toml": b'key = "env:MY_KEY"\n'})
    user.set("MY_KEY", "cp_test_key")
    user.set("COMMONPLACE_KEY", "cp_test_key")
    user.runs("install", "--force", "--agent", "claude", "--yes", "--url", "http://127.0.0.1:9123")
    assert not (user.home / ".commonplace/key").exists()
    assert user.reads(".claude.json")["mcpServers"]["commonplace"]["headers"] == BEARER


def test_install_times_hooks_in_the_unit_of_the_agent(user: User):
    user.runs("install", "--agent", "claude", "codex", "gemini", "cursor", "--yes", *SERVER)
    claude, codex = user.reads(".claude/settings.json")["hooks"], user.reads(".codex/hooks.json")["hooks"]
    assert claude["SessionStart"][0]["hooks"][0]["timeout"] == 10
    assert codex["SessionEnd"][0]["hooks"][0]["timeout"] == 3
    assert user.reads(".gemini/settings.json")["hooks"]["SessionStart"][0]["hooks"][0]["timeout"] == 10_000
    assert user.reads(".cursor/hooks.json")["version"] == 1


def test_install_tells_that_codex_wants_its_hooks_trusted(user: User):
    assert "trust" in user.runs("install", "--agent", "codex", "--yes", *SERVER)


def test_install_without_names_sets_up_the_agents_that_are_there(user: User):
    user.has({".gemini/settings.json": b"{}"})
    (user.programs / "codex").write_text("#!/bin/sh\n")
    (user.programs / "codex").chmod(0o755)
    user.runs("install", "--yes", *SERVER)
    assert (user.home / ".codex/hooks.json").exists()
    assert user.reads(".gemini/settings.json")["mcpServers"]["commonplace"]["httpUrl"] == MCP
    assert not (user.home / ".claude.json").exists()


def test_install_refuses_when_no_agent_is_there(user: User):
    code, _, error = user.tries("install", "--yes", *SERVER)
    assert code == 5
    assert "claude" in error


def test_install_asks_and_does_nothing_without_an_answer(user: User):
    user.has(load_samples()["claude"].SETTINGS)
    before = user.snapshot()
    code, out, error = user.tries("install", *SERVER)
    assert code == 2
    assert "--yes" in error
    assert "+++" in out
    assert user.snapshot() == before


def test_install_dry_run_shows_a_diff_without_the_key_and_writes_nothing(user: User):
    user.has(load_samples()["claude"].SETTINGS | load_samples()["codex"].SETTINGS)
    before = user.snapshot()
    shown = user.runs("install", "--dry-run", *SERVER)
    assert f"--- {user.home}/.claude/settings.json" in shown
    assert f'+      "url": "{MCP}",' in shown
    assert "cp_test_key" not in shown
    assert user.snapshot() == before
    assert not (user.home / ".commonplace").exists()


def test_uninstall_dry_run_writes_nothing_and_hides_the_key(user: User):
    user.runs("install", "--agent", "claude", "codex", "--yes", *SERVER)
    before = user.snapshot()
    shown = user.runs("uninstall", "--dry-run")
    assert "-" in shown
    assert "cp_test_key" not in shown
    assert user.snapshot() == before


def test_uninstall_takes_only_ours_when_the_user_changed_the_rest(user: User):
    user.has(
        load_samples()["claude"].SETTINGS
        | load_samples()["codex"].SETTINGS
        | load_samples()["cursor"].SETTINGS
    )
    user.runs("install", "--yes", *SERVER)
    path = user.home / ".claude/settings.json"
    settings = json.loads(path.read_bytes())
    settings["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "mine"}]})
    settings["model"] = "sonnet"
    path.write_text(json.dumps(settings))
    config = user.home / ".codex/config.toml"
    config.write_bytes(b'approval = "never"\n' + config.read_bytes() + b'\n[mcp_servers.mine]\nurl = "u"\n')
    user.runs("uninstall", "--yes")

    expected = json.loads(load_samples()["claude"].SETTINGS[".claude/settings.json"])
    expected["hooks"]["Stop"] = [{"hooks": [{"type": "command", "command": "mine"}]}]
    assert json.loads(path.read_bytes()) == expected | {"model": "sonnet"}
    left = tomllib.loads(config.read_text())
    assert set(left["mcp_servers"]) == {"docs", "mine"}
    assert left["approval"] == "never"
    assert (user.home / ".cursor/hooks.json").read_bytes() == load_samples()["cursor"].SETTINGS[
        ".cursor/hooks.json"
    ]


def test_uninstall_keeps_a_file_of_ours_that_the_user_filled(user: User):
    user.runs("install", "--agent", "cursor", "--yes", *SERVER)
    path = user.home / ".cursor/hooks.json"
    hooks = json.loads(path.read_bytes())
    hooks["hooks"]["stop"].append({"command": "mine"})
    path.write_text(json.dumps(hooks, indent=4))
    user.runs("uninstall", "--yes")
    assert user.reads(".cursor/hooks.json") == {"version": 1, "hooks": {"stop": [{"command": "mine"}]}}


def test_uninstall_of_one_agent_leaves_the_others(user: User):
    user.has(load_samples()["claude"].SETTINGS | load_samples()["gemini"].SETTINGS)
    user.runs("install", "--yes", *SERVER)
    user.runs("uninstall", "--agent", "claude", "--yes")
    assert {
        name: (user.home / name).read_bytes() for name in load_samples()["claude"].SETTINGS
    } == load_samples()["claude"].SETTINGS
    assert b"commonplace" in (user.home / ".gemini/settings.json").read_bytes()
    assert (user.home / ".commonplace/config.toml").exists()
    user.runs("uninstall", "--agent", "gemini", "--yes")
    assert (user.home / ".gemini/settings.json").read_bytes() == load_samples()["gemini"].SETTINGS[
        ".gemini/settings.json"
    ]
    assert not (user.home / ".commonplace/config.toml").exists()


def test_uninstall_gives_back_an_entry_that_was_there_before(user: User):
    theirs = {
        ".claude.json": b'{"mcpServers": {"commonplace": {"url"  : "http://elsewhere/mcp"}}}',
        ".codex/config.toml": b'[mcp_servers.commonplace] # mine\nurl  = "http://elsewhere/mcp"\n\n[a]\nb = 1\n',
    }
    user.has(theirs)
    before = user.snapshot()
    user.runs("install", "--agent", "claude", "codex", "--yes", *SERVER)
    assert user.reads(".claude.json")["mcpServers"]["commonplace"]["url"] == MCP
    user.runs("uninstall", "--yes")
    assert user.snapshot() == before


def test_install_again_with_another_server_replaces_ours(user: User):
    user.has(load_samples()["claude"].SETTINGS | load_samples()["codex"].SETTINGS)
    before = user.snapshot()
    user.runs("install", "--yes", *SERVER)
    user.runs("install", "--force", "--yes", "--url", "https://memory.example.com/", "--key", "cp_other")
    entry = {
        "type": "http",
        "url": "https://memory.example.com/mcp",
        "headers": {"Authorization": "Bearer cp_other"},
    }
    assert user.reads(".claude.json")["mcpServers"]["commonplace"] == entry
    assert (user.home / ".commonplace/key").read_text() == "cp_other\n"
    config = tomllib.loads((user.home / ".codex/config.toml").read_text())
    assert config["mcp_servers"]["commonplace"]["url"] == "https://memory.example.com/mcp"
    user.runs("uninstall", "--yes")
    assert user.snapshot() == before


def test_install_refuses_a_file_that_it_can_not_read_and_changes_none(user: User):
    user.has(
        load_samples()["codex"].SETTINGS
        | {".claude/settings.json": b'{\n  "model": "opus",\n  "hooks": {oops}\n}'}
    )
    before = user.snapshot()
    code, _, error = user.tries("install", "--yes", *SERVER)
    assert code == 2
    assert f"{user.home}/.claude/settings.json" in error
    assert "line 3" in error
    assert user.snapshot() == before


def test_install_keeps_copies_of_what_it_changes(user: User):
    user.has(load_samples()["claude"].SETTINGS)
    user.runs("install", "--yes", *SERVER)
    kept = [path for path in (user.home / ".commonplace/backups").rglob("*") if path.is_file()]
    assert {path.read_bytes() for path in kept} == set(load_samples()["claude"].SETTINGS.values())
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}


def test_install_keeps_modes_and_links(user: User):
    user.has(
        {
            "dotfiles/settings.json": load_samples()["claude"].SETTINGS[".claude/settings.json"],
            ".claude.json": b"{}",
        }
    )
    (user.home / ".claude").mkdir()
    (user.home / ".claude/settings.json").symlink_to(user.home / "dotfiles/settings.json")
    (user.home / ".claude.json").chmod(0o640)
    before = user.snapshot()
    user.runs("install", "--yes", *SERVER)
    assert (user.home / ".claude/settings.json").is_symlink()
    assert b"hook.py claude" in (user.home / "dotfiles/settings.json").read_bytes()
    assert stat.S_IMODE((user.home / ".claude.json").stat().st_mode) == 0o640
    user.runs("uninstall", "--yes")
    assert user.snapshot() == before
    assert (user.home / ".claude/settings.json").is_symlink()


def test_install_keeps_the_key_to_its_owner(user: User):
    user.runs("install", "--agent", *AGENTS, "--yes", *SERVER)
    holding = [
        path for path in user.home.rglob("*") if path.is_file() and b"cp_test_key" in path.read_bytes()
    ]
    assert len(holding) >= 8
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in holding} == {0}


def test_install_remembers_the_server_and_where_the_key_is(user: User):
    user.runs("install", "--agent", "claude", "--yes", *SERVER)
    config = tomllib.loads((user.home / ".commonplace/config.toml").read_text())
    assert config == {"url": "http://127.0.0.1:9123", "key": f"file:{user.home}/.commonplace/key"}
    assert user.runs("install", "--force", "--agent", "claude", "--yes") == "Nothing to change.\n"


def test_install_leaves_other_settings_of_ours(user: User):
    mine = b'# who\nmachine = "laptop"\n\n[hooks]\nlock = "check"\n'
    user.has({".commonplace/config.toml": mine})
    user.runs("install", "--agent", "claude", "--yes", *SERVER)
    config = tomllib.loads((user.home / ".commonplace/config.toml").read_text())
    assert config["machine"] == "laptop"
    assert config["url"] == "http://127.0.0.1:9123"
    user.runs("uninstall", "--yes")
    assert (user.home / ".commonplace/config.toml").read_bytes() == mine


@pytest.mark.parametrize("mine", [b"url='http://a'", b"url = 'http://a' # x\r\n[hooks]\r\nminutes=5"])
def test_uninstall_gives_back_our_own_settings_after_many_changes_of_mind(user: User, mine: bytes):
    user.has({".commonplace/config.toml": mine})
    for url, learnings in (("http://b", "2"), ("http://c", "3"), ("http://b", "0"), ("http://d", "1")):
        user.runs("install", "--force", "--agent", "claude", "--yes", "--url", url, "--learnings", learnings)
    config = tomllib.loads((user.home / ".commonplace/config.toml").read_text())
    assert (config["url"], config["hooks"]["learnings"]) == ("http://d", 1)
    user.runs("uninstall", "--yes")
    assert (user.home / ".commonplace/config.toml").read_bytes() == mine


def test_install_follows_the_folders_that_the_environment_names(user: User):
    user.set("CLAUDE_CONFIG_DIR", str(user.home / "c"))
    user.set("CODEX_HOME", str(user.home / "x"))
    user.set("XDG_CONFIG_HOME", str(user.home / "g"))
    user.set("COMMONPLACE_HOME", str(user.home / "p"))
    user.set("COPILOT_HOME", str(user.home / "k"))
    user.runs("install", "--agent", "claude", "codex", "opencode", "vscode", "copilot", "--yes", *SERVER)
    made = [name for name, content in user.snapshot().items() if content is not None]
    assert sorted(name for name in made if not name.startswith("p/")) == [
        ".local/bin/commonplace",
        "c/.claude.json",
        "c/settings.json",
        "g/Code/User/mcp.json",
        "g/opencode/opencode.json",
        "g/opencode/plugins/commonplace.js",
        "k/hooks/commonplace-copilot.json",
        "k/hooks/commonplace.json",
        "k/mcp-config.json",
        "x/config.toml",
        "x/hooks.json",
    ]
    assert {"p/config.toml", "p/key", "p/installed.json"} <= set(made)


def test_install_hooks_run_from_a_shell(user: User):
    user.runs("install", "--agent", "claude", "--yes", *SERVER)
    command = _commands(user.reads(".claude/settings.json")["hooks"]["Stop"])[0]
    sent = json.dumps({"hook_event_name": "Stop", "session_id": "s", "cwd": str(user.project)})
    environment = os.environ | {"COMMONPLACE_URL": "http://127.0.0.1:9", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        command, shell=True, input=sent.encode(), timeout=PATIENCE_SECONDS, env=environment, check=False
    )
    assert done.returncode == 0


def test_uninstall_without_an_install_says_so(user: User):
    assert user.runs("uninstall", "--yes") == "Nothing to remove.\n"


def test_uninstall_of_files_that_are_gone_forgets_them(user: User):
    user.runs("install", "--agent", "claude", "--yes", *SERVER)
    (user.home / ".claude.json").unlink()
    (user.home / ".claude/settings.json").write_text("{}")
    user.runs("uninstall", "--yes")
    assert user.runs("uninstall", "--yes") == "Nothing to remove.\n"
    assert not (user.home / ".claude").exists()


def test_install_quotes_a_program_with_spaces(user: User, monkeypatch: pytest.MonkeyPatch):
    folder = user.home / "my tools"
    folder.mkdir()
    for name in ("python", "commonplace"):
        (folder / name).write_text("#!/bin/sh\n")
    monkeypatch.setattr("sys.executable", str(folder / "python"))
    user.runs("install", "--agent", "claude", "--yes", *SERVER)
    command = _commands(user.reads(".claude/settings.json")["hooks"]["Stop"])[0]
    assert f"exec '{folder}/python' -ISE {hook.__file__} claude;" in command


def test_install_keeps_the_uploaders_token_in_a_file_of_its_own_and_shows_it_nowhere(user: User):
    shown = user.runs("install", "--agent", "claude", *SERVER, "--sync-token", "cp_sync_token", "--yes")
    kept = user.home / ".commonplace" / "sync_token"
    configured = tomllib.loads((user.home / ".commonplace" / "config.toml").read_text())
    assert (kept.read_text(), stat.S_IMODE(kept.stat().st_mode)) == ("cp_sync_token\n", 0o600)
    assert configured["sync_token"] == f"file:{kept}"
    assert "cp_sync_token" not in shown
    assert "cp_sync_token" not in user.runs("uninstall", "--yes")
    assert not kept.exists()
