"""`commonplace sync` against a real server: what agents wrote arrives, once, whole, without its secrets."""

import json
import os
import signal
import subprocess
import time
from unittest.mock import patch

from hooked import both_stores
from machine import archived, claude, config

import product
from commonplace import zstd
from commonplace.client.link import hook_command
from commonplace.client.link import transcript as transcript_file
from patience import PATIENCE_SECONDS, wait_until

ODD = (
    b'{"type": "user", "broken": \n',
    b"\n",
    b'{"type": "user", "text": "\xff\xfe\x00 no text"}\n',
    b"not JSON at all \x00\x01\r\n",
    {"type": "unknown-of-tomorrow", "umlaut": "äöü 😀", "long": "x" * 70_000},
)
TOKEN = "ghp_" + "a1B2" * 9


@both_stores
def test_sync_brings_every_agents_transcripts_to_the_server_bit_by_bit_and_only_once(server, machine):
    shop = machine.repository("shop")
    config(machine, '[[sync.globs]]\ntool = "aider"\nglob = "~/logs/**/*.jsonl"\nproject = "shop"\n')
    whole = claude(machine, "5f1c9a52-0000-4000-8000-000000000001", *ODD)
    child = machine.write(
        f".claude/projects/-home-ann-shop/{whole.stem}/subagents/agent-ab12.jsonl",
        {"type": "user", "cwd": str(shop), "isSidechain": True},
        *ODD,
    )
    meta = {
        "timestamp": "2026-08-01T10:00:00Z",
        "type": "session_meta",
        "payload": {"id": "c1", "cwd": str(shop)},
    }
    plain = machine.write(".codex/sessions/2026/08/01/rollout-2026-08-01T10-00-00-c1.jsonl", meta, *ODD)
    machine.write(
        ".codex/sessions/2026/08/01/rollout-2026-08-01T10-00-00-c1.jsonl.zst", raw=zstd.compress(b"old\n")
    )
    unpacked = json.dumps(meta).encode() + b"\n" + b"".join(line for line in ODD if isinstance(line, bytes))
    machine.write(
        ".codex/archived_sessions/rollout-2026-07-01T10-00-00-c2.jsonl.zst", raw=zstd.compress(unpacked)
    )
    chat = machine.write(
        ".gemini/tmp/hash/chats/session-2026-08-01T10-00-abcdef12.jsonl",
        {"sessionId": "g1", "kind": "main"},
        *ODD,
    )
    document = machine.write(
        ".gemini/tmp/hash/chats/session-2026-03-01T10-00-abcdef13.json", raw=b'{\n "sessionId": "g2"\n}'
    )
    (machine.home / ".gemini/tmp/hash/.project_root").write_text(str(shop))
    copilot_start = {"type": "session.start", "data": {"sessionId": "k1", "context": {"cwd": str(shop)}}}
    copilot = machine.write(".copilot/session-state/k1/events.jsonl", copilot_start, *ODD)
    other = machine.write("logs/a/b.jsonl", {"role": "user", "content": "hello"})

    first = machine.sync()

    assert (first.code, first.err) == (0, "")
    assert first.out.startswith("8 transcripts sent")
    expected = {
        ("lap-claude-code-shop", whole.stem): whole.read_bytes(),
        ("lap-claude-code-shop", f"{whole.stem}.agent-ab12"): child.read_bytes(),
        ("lap-codex-shop", "c1"): plain.read_bytes(),
        ("lap-codex-shop", "c2"): unpacked,
        ("lap-gemini-cli-shop", chat.stem): chat.read_bytes(),
        ("lap-gemini-cli-shop", document.stem): document.read_bytes(),
        ("lap-copilot-cli-shop", "k1"): copilot.read_bytes(),
        ("lap-aider-shop", "a.b.jsonl"): other.read_bytes(),
    }
    assert {key: archived(server, *key) for key in expected} == expected

    machine.append(plain, {"type": "event_msg", "payload": {"type": "token_count"}})
    again = machine.sync("run")
    assert again.out.startswith("1 transcript sent (0.0 MB)")
    assert archived(server, "lap-codex-shop", "c1") == plain.read_bytes()
    assert machine.sync("run").out.startswith("0 transcripts sent")


def test_sync_masks_secrets_by_default_counts_them_and_keeps_lines_valid_json(server, machine):
    machine.repository("shop")
    config(machine, "")
    secrets = {
        "type": "user",
        "toolUseResult": f'export T={TOKEN}\nDB="postgresql://ann:hunter22@db/shop"\n{{"password": "correcthorse"}}',
        "headers": {"Authorization": "Bearer abcdef0123456789"},
    }
    path = claude(machine, "masked-1", secrets, {"type": "assistant", "text": "plain"})

    done = machine.sync()

    assert "1 authorization, 1 github token, 1 password, 1 password in an address" in done.out
    got = archived(server, "lap-claude-code-shop", "masked-1")
    assert [json.loads(line)["type"] for line in got.splitlines()] == ["user", "user", "assistant"]
    told = json.loads(got.splitlines()[1])
    assert told == {
        "type": "user",
        "toolUseResult": 'export T=[masked: github token]\nDB="postgresql://[masked: password in an address]@db/shop"\n'
        '{"password": "[masked: password]"}',
        "headers": {"Authorization": "Bearer [masked: authorization]"},
    }
    open_text = claude(machine, "raw-1", secrets)
    assert machine.sync("--raw").code == 0
    stored = archived(server, "lap-claude-code-shop", "raw-1")
    assert (len(stored), TOKEN.encode() in stored) == (open_text.stat().st_size, False)
    assert path.read_bytes().count(TOKEN.encode()) == 1


def test_sync_goes_on_after_its_state_was_lost_and_keeps_a_rewritten_file_as_another_archive(server, machine):
    machine.repository("shop")
    config(machine, "")
    path = claude(machine, "lost-1", *[{"n": n, "secret": TOKEN} for n in range(50)])
    machine.sync()
    before = archived(server, "lap-claude-code-shop", "lost-1")

    (machine.state / "state.db").unlink()
    machine.append(path, {"n": "more"})
    assert machine.sync().code == 0
    assert archived(server, "lap-claude-code-shop", "lost-1") == before + b'{"n": "more"}\n'

    server.call("register_workspace", machine="lap", tool="claude-code", project="shop", rotate=True)
    path.write_bytes(b'{"another": "beginning"}\n')
    os.utime(path, (1_770_000_000, 1_770_000_000))
    assert machine.sync().code == 0
    assert archived(server, "lap-claude-code-shop", "lost-1.r2") == path.read_bytes()
    assert archived(server, "lap-claude-code-shop", "lost-1") == before + b'{"n": "more"}\n'


@both_stores
def test_sync_resumes_after_it_was_killed_in_the_middle(server, machine):
    machine.repository("shop")
    config(machine, "")
    path = claude(machine, "killed-1", *[{"n": n, "text": f"{n} is " * 9_000} for n in range(400)])
    running = machine.start("run")
    place = "/archives/lap-claude-code-shop/killed-1"
    wait_until(lambda: server.request("HEAD", place)[0] == 200 or running.poll() is not None)
    running.kill()

    assert running.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    assert machine.sync().code == 0
    assert archived(server, "lap-claude-code-shop", "killed-1") == path.read_bytes()


def test_sync_spools_while_the_server_is_away_and_sends_even_what_the_agent_deleted_since(
    address, tmp_path, machine
):
    machine.repository("shop")
    config(machine, "")
    flags = product.store_flags(address, tmp_path / "server")
    path = claude(machine, "away-1", {"n": 1})
    machine.url = "http://127.0.0.1:9"
    assert machine.sync().code == 8
    with patch.dict(os.environ, machine.environment(), clear=True):
        hook_command.spool_event({"transcript_path": str(path)})
        hook_command.spool_event({"transcript_path": str(path.with_name("never-written.jsonl"))})
    assert machine.sync().code == 8
    text = path.read_bytes()
    path.unlink()
    with product.running(*flags) as server:
        machine.url = server.url
        sent = machine.sync("run", "--spool")
        assert (sent.code, sent.out.partition(" sent")[0]) == (1, "1 transcript")
        assert sent.err.strip().endswith("never-written.jsonl: deleted before it was sent.")
        assert archived(server, "lap-claude-code-shop", "away-1") == text
        assert list((machine.state / "spool").rglob("*.*")) == []


def test_sync_leaves_out_what_the_configuration_says_and_takes_what_a_codex_turn_names(server, machine):
    shop, private = machine.repository("shop"), machine.repository("private")
    config(machine, '[sync]\nexclude = ["~/private"]\n')
    day = ".codex/sessions/2026/08/01/rollout-2026-08-01T10-00-00-"
    kept = machine.write(f"{day}u1.jsonl", {"type": "session_meta", "payload": {"cwd": str(shop)}})
    machine.write(f"{day}u2.jsonl", {"type": "session_meta", "payload": {"cwd": str(private / "deep")}})
    for thread in ("u1", "u2"):
        turn = json.dumps({"type": "agent-turn-complete", "thread-id": thread})
        with patch.dict(os.environ, machine.environment(), clear=True):
            assert hook_command.spool_event(json.loads(turn), "codex")
    assert machine.sync("--spool").out.startswith("1 transcript sent")
    assert machine.sync("--dry-run").out.startswith("Would send 0 transcripts")
    assert archived(server, "lap-codex-shop", "u1") == kept.read_bytes()
    assert server.call("list_workspaces")["total"] == 1


def test_sync_waits_for_a_line_without_its_end_and_for_a_file_that_is_being_written(
    server, machine, monkeypatch
):
    monkeypatch.setattr(transcript_file, "_MOVING_SECONDS", 60.0)
    machine.repository("shop")
    config(machine, "")
    path = claude(machine, "open-1", b'{"unfinished": ')
    touch_before_now(path, 180)
    ended = path.read_bytes().rpartition(b"\n")[0] + b"\n"
    moving = claude(machine, "open-2")
    touch_before_now(moving, 0)

    assert machine.sync().out.startswith("1 transcript sent")
    assert archived(server, "lap-claude-code-shop", "open-1") == ended
    machine.append(path, b"1}\n")
    touch_before_now(path, 120)
    assert machine.sync().code == 0
    assert archived(server, "lap-claude-code-shop", "open-1") == ended + b'{"unfinished": 1}\n'


def touch_before_now(path, seconds):
    os.utime(path, (time.time() - seconds, time.time() - seconds))


def test_sync_keeps_tracked_files_of_both_sides_when_they_were_changed_on_both(server, machine):
    config(machine, "")
    shop = machine.repository("shop")
    slug = str(shop.resolve()).replace("/", "-").replace("_", "-")
    notes = machine.write(f".claude/projects/{slug}/memory/MEMORY.md", raw=b"# Ours\n")
    made = machine.sync("init-manifest", "--tool", "claude-code", "--project", "shop", "--cwd", str(shop))
    assert (made.code, made.err) == (0, "")
    manifest = json.loads((machine.state / "manifests/lap-claude-code-shop.json").read_text())
    assert manifest == {
        "workspace_id": "lap-claude-code-shop",
        "machine": "lap",
        "tool": "claude-code",
        "project": "shop",
        "tracked": [],
        "tracked_dirs": [{"local": str(notes.parent), "upload_prefix": "memory", "glob": "**/*.md"}],
    }
    assert machine.sync().out.endswith("1 file.\n")
    assert machine.sync().out.endswith("0 files.\n")
    own = {"workspace_id": "lap-claude-code-shop", "path": "memory/MEMORY.md"}
    assert server.call("read_knowledge", **own)["content"] == "# Ours\n"

    notes.write_text("# Ours, later\n")
    assert machine.sync().code == 0
    assert server.call("read_knowledge", **own)["version"] == 2
    server.call("register_workspace", machine="lap", tool="claude-code", project="shop", rotate=True)
    server.call("write_knowledge", **own, content="# Theirs\n")
    notes.write_text(f"# Ours at last, with {TOKEN}\n")
    told = machine.sync()

    assert told.code == 6
    beside = told.err.strip().rpartition(" ")[2]
    assert server.call("read_knowledge", **own)["content"] == "# Theirs\n"
    kept = server.call("read_knowledge", workspace_id="lap-claude-code-shop", path=beside)
    assert kept["content"] == "# Ours at last, with [masked: github token]\n"
    assert machine.sync().code == 0


def test_sync_hook_returns_at_once_and_the_transcript_arrives(address, tmp_path, machine):
    machine.repository("shop")
    config(machine, "")
    flags = [*product.store_flags(address, tmp_path / "server"), "--auth", "on"]
    with product.running(*flags, SYNC_TOKEN="s" * 40) as server:
        machine.url = server.url
        path = claude(machine, "hooked-1", {"n": 1})
        assert machine.sync("run", SYNC_TOKEN="wrong").code == 3
        event = {"session_id": "hooked-1", "transcript_path": str(path), "hook_event_name": "Stop"}
        running = machine.start("hook", stdin=subprocess.PIPE, SYNC_TOKEN="s" * 40)
        running.communicate(json.dumps(event).encode(), timeout=PATIENCE_SECONDS)
        assert running.returncode == 0
        place, key = "/archives/lap-claude-code-shop/hooked-1", {"Authorization": f"Bearer {'s' * 40}"}
        wait_until(lambda: server.request("HEAD", place, None, key)[0] == 200)
        assert archived(server, "lap-claude-code-shop", "hooked-1", "s" * 40) == path.read_bytes()

        told = machine.sync("test", SYNC_TOKEN="s" * 40)
        assert (told.code, {line[:2] for line in told.out.splitlines()}) == (0, {"ok"})
        assert machine.sync("test", SYNC_TOKEN="wrong").code == 3
        assert (machine.state / "state.db").stat().st_mode & 0o777 == 0o600
