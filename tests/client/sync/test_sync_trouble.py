"""`commonplace sync` when something is wrong: it is named, and everything else still arrives."""

import json
import os
from pathlib import Path
from unittest.mock import patch

import pytest
from machine import Machine, archived, claude, config

import product
from commonplace import zstd
from commonplace.client.link import hook_command

DAY = ".codex/sessions/2026/08/01/rollout-2026-08-01T10-00-00-"


def handed_over(machine: Machine, tool: str, **event: str) -> None:
    with patch.dict(os.environ, machine.environment(), clear=True):
        assert hook_command.spool_event(event, tool)


def test_sync_names_a_packed_transcript_that_is_damaged_and_sends_all_others(server, machine):
    machine.repository("shop")
    config(machine, '[sync]\nexclude = ["~/private"]\n')
    packed = zstd.compress(json.dumps({"payload": {"cwd": str(machine.home / "shop")}}).encode() * 9)
    cut = machine.write(f"{DAY}u1.jsonl.zst", raw=packed[:-3])
    noise = machine.write(f"{DAY}u2.jsonl.zst", raw=b"no such format")
    chat = machine.write(".gemini/tmp/hash/chats/session-1.jsonl", {"sessionId": "g1"})

    planned, told = machine.sync("--dry-run"), machine.sync("run")

    assert (planned.code, planned.out.startswith("Would send 3 transcripts")) == (0, True)
    assert (told.code, told.out.startswith("1 transcript sent")) == (1, True)
    assert [line.split(":")[0].strip() for line in told.err.splitlines()] == [str(cut), str(noise)]
    assert archived(server, "lap-gemini-cli-gemini-hash", "session-1") == chat.read_bytes()


def test_sync_spools_when_the_server_of_this_machine_was_stopped_and_sends_when_it_is_back(
    address, tmp_path, machine
):
    machine.repository("shop")
    config(machine, "")
    flags = product.store_flags(address, tmp_path / "server")
    with product.running(*flags) as server:
        machine.url = server.url
        claude(machine, "before", {"n": 1})
        assert machine.sync().code == 0
    machine.url = ""
    path = claude(machine, "stopped", {"n": 1})
    assert machine.sync("--dry-run").out.startswith("Would send 1 transcript")
    assert machine.sync().code == 8
    text = path.read_bytes()
    path.unlink()
    with product.running(*flags) as server:
        machine.url = server.url
        assert machine.sync("--spool").out.startswith("1 transcript sent")
        assert archived(server, "lap-claude-code-shop", "stopped") == text


def test_sync_keeps_what_hooks_name_by_its_session_where_the_agent_has_no_folder_of_its_own(server, machine):
    machine.repository("shop")
    config(machine, '[[sync.globs]]\ntool = "windsurf"\nglob = "~/listed/*.jsonl"\nproject = "shop"\n')
    cwd = str(machine.home / "shop")
    texts = {}
    for session in ("conv-a", "conv-b"):
        path = machine.write(f".windsurf/{session}/transcript.jsonl", {"of": session})
        handed_over(machine, "windsurf", transcript_path=str(path), session_id=session, cwd=cwd)
        texts[session] = path.read_bytes()
    nameless = machine.write("elsewhere/talk.jsonl.zst", raw=zstd.compress(b'{"n": 1}\n'))
    handed_over(machine, "windsurf", agent_transcript_path=str(nameless), session_id="conv-a", cwd=cwd)
    texts["talk"] = b'{"n": 1}\n'
    listed = machine.write("listed/mine.jsonl", {"n": 2})
    handed_over(machine, "windsurf", transcript_path=str(listed), session_id="conv-c", cwd=cwd)
    texts["mine.jsonl"] = listed.read_bytes()
    machine.url = "http://127.0.0.1:9"
    assert machine.sync("--spool").code == 8

    machine.url = server.url
    assert machine.sync("--spool").code == 0
    assert {each: archived(server, "lap-windsurf-shop", each) for each in texts} == texts
    (workspace,) = server.call("list_workspaces")["workspaces"]
    assert workspace["session_count"] == 4


def test_sync_leaves_out_the_tools_that_are_not_named_also_when_hooks_hand_them_over(server, machine):
    shop = machine.repository("shop")
    config(machine, '[sync]\ntools = ["codex"]\n')
    handed_over(machine, "claude-code", transcript_path=str(claude(machine, "c1")))
    kept = machine.write(f"{DAY}u1.jsonl", {"type": "session_meta", "payload": {"cwd": str(shop)}})
    handed_over(machine, "codex", transcript_path=str(kept))
    assert machine.sync("--spool").out.startswith("1 transcript sent")
    assert [each["workspace_id"] for each in server.call("list_workspaces")["workspaces"]] == [
        "lap-codex-shop"
    ]
    assert list((machine.state / "spool").glob("*.json")) == []


@pytest.mark.parametrize(
    "broken",
    [
        "{broken",
        '{"workspace_id": "w", "machine": "lap"}',
        '{"workspace_id": "w", "machine": "m", "tool": "t", "project": "p", "tracked": [{"local": "a", "upload": "b", "x": 1}]}',
        '{"workspace_id": "w", "machine": "m", "tool": "t", "project": "p", "tracked_dirs": [{"local": 5}]}',
    ],
)
def test_sync_names_a_broken_manifest_and_goes_on(machine, broken):
    """A file that can not be read ends neither a plan nor a run."""
    config(machine, "")
    (machine.state / "manifests").mkdir()
    (machine.state / "manifests/w.json").write_text(broken)
    machine.url = "http://127.0.0.1:9"
    planned = machine.sync("--dry-run")
    assert (planned.code, planned.out.startswith("Would send 0 transcripts")) == (1, True)
    assert planned.err.strip().startswith(str(machine.state / "manifests/w.json"))
    told = machine.sync()
    assert (told.code, told.err.strip().startswith(str(machine.state / "manifests/w.json"))) == (1, True)


def test_sync_names_tool_and_session_of_a_job_whose_transcript_is_nowhere(machine):
    config(machine, "")
    machine.url = "http://127.0.0.1:9"
    handed_over(machine, "codex", **{"thread-id": "u9", "cwd": str(machine.home)})
    told = machine.sync("--spool")
    assert (told.code, told.err.strip()) == (1, "codex, session u9: no transcript found.")


@pytest.mark.parametrize(
    "text",
    [
        "sync = 3",
        '[sync]\nexclude = "~/x"',
        "[sync]\ntools = 5",
        "[sync]\ntools = [5]",
        "[sync]\nglobs = [5]",
        '[[sync.globs]]\ntool = "aider"',
        '[[sync.globs]]\ntool = "aider"\nglob = ["x"]',
    ],
)
def test_sync_refuses_settings_that_it_can_not_follow(machine, text):
    config(machine, text)
    machine.url = "http://127.0.0.1:9"
    assert machine.sync().code == 2
    assert machine.sync("--dry-run").code == 2
    tested = machine.sync("test")
    assert [line.split()[:2] for line in tested.out.splitlines() if line.startswith("no")] == [
        ["no", "settings"],
        ["no", "address"],
    ]
    assert tested.code == 2


def _key(server: product.Product, owner: str, **given: object) -> str:
    key: str = server.call("memory_admin", owner, action="create_key", **given)["key"]
    return key


def test_sync_test_and_run_tell_which_tokens_may_not_write_and_send_what_they_may(address, tmp_path, machine):
    machine.repository("shop")
    config(machine, "")
    claude(machine, "c1")
    kept = machine.write(f"{DAY}u1.jsonl", {"payload": {"cwd": str(machine.repository("open"))}})
    flags = [*product.store_flags(address, tmp_path / "server"), "--auth", "on"]
    with product.running(*flags) as server:
        machine.url = server.url
        folder = address if isinstance(address, Path) else tmp_path / "server"
        owner = json.loads((folder / "server.json").read_text())["token"]
        refused = [
            _key(server, owner, name="unscoped", role="sync"),
            _key(server, owner, name="other", role="sync", projects=["*"], machines=["desk"]),
            _key(server, owner, name="reader", role="readonly", projects=["*"]),
        ]
        for token in refused:
            tested, told = machine.sync("test", SYNC_TOKEN=token), machine.sync("run", SYNC_TOKEN=token)
            assert [line.split()[:4] for line in tested.out.splitlines() if line.startswith("no")] == [
                ["no", "permissions", "shop", "of"],
                ["no", "permissions", "open", "of"],
            ]
            assert (tested.code, told.code, told.out.startswith("0 transcripts sent")) == (4, 4, True)
        partly = _key(server, owner, name="partly", role="sync", projects=["open"])
        told = machine.sync("run", SYNC_TOKEN=partly)
        assert (told.code, told.out.startswith("1 transcript sent")) == (4, True)
        assert "ask an owner" in told.err
        assert archived(server, "lap-codex-open", "u1", partly) == kept.read_bytes()
        fine = _key(server, owner, name="laptop", role="sync", projects=["*"])
        assert machine.sync("test", SYNC_TOKEN=fine).code == 0
        assert machine.sync("run", SYNC_TOKEN=fine).code == 0
