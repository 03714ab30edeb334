"""What the sync client is made of, without a server: where agents keep transcripts, projects, the spool, masked lines."""

import fcntl
import hashlib
import io
import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine import Machine

from commonplace import access, zstd
from commonplace.client.agents import load_transcripts
from commonplace.client.agents.claude.transcripts import project_slug
from commonplace.client.link import (
    agent_transcripts,
    hook_command,
    manifest,
    remote,
    spool,
    spooled_texts,
)
from commonplace.client.link import transcript as transcript_file
from commonplace.client.link.masked_lines import LineMasker
from commonplace.client.link.progress import ByteProgress
from commonplace.client.link.transcript import Transcript
from commonplace.client.project import project_of_folder
from patience import PATIENCE_SECONDS

claude, codex, gemini, copilot = map(load_transcripts, ("claude", "codex", "gemini", "copilot"))
TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine whose environment is this process's."""
    (tmp_path / "home").mkdir()
    made = Machine(tmp_path)
    for name in (
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "COPILOT_HOME",
        "COMMONPLACE_PROJECT",
        "CLAUDE_CODE_PROJECT_DIR_NAME",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("COMMONPLACE_HOME", str(made.state))
    return made


def test_claude_transcripts_are_found_with_sub_agents_named_after_their_session(machine, monkeypatch):
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(machine.home / "elsewhere"))
    machine.write("elsewhere/projects/-x/s1.jsonl", {"type": "summary"}, {"cwd": "/x", "type": "user"})
    machine.write("elsewhere/projects/-x/s1/subagents/agent-1.jsonl", {"cwd": "/x"})
    machine.write("elsewhere/projects/-x/s1/subagents/workflows/r1/agent-2.jsonl", {"cwd": "/x"})
    machine.write("elsewhere/projects/-x/agent-3.jsonl", {"sessionId": "s0"})
    machine.write("elsewhere/projects/-x/s1/tool-results/big.txt", raw=b"text")
    session_ids = {transcript.session_id for transcript in claude.list_transcripts()}
    assert session_ids == {"s1", "s1.agent-1", "s1.workflows.r1.agent-2", "s0.agent-3"}


def test_claude_folder_comes_from_the_lines_or_from_neighbours(machine):
    silent = machine.write(".claude/projects/-home-ann-my-shop/s1.jsonl", {"type": "summary"}, b"broken\n")
    assert claude.find_work_folder(silent, ()) == ""
    assert claude.name_project(silent) == "home-ann-my-shop"
    machine.write(".claude/projects/-home-ann-my-shop/s2.jsonl", {"cwd": "/home/ann/my-shop"})
    assert claude.find_work_folder(silent, ()) == "/home/ann/my-shop"


def test_claude_memory_folder_of_a_long_path_is_found_by_its_beginning(machine):
    long = Path("/" + "deep/" * 60)
    named = machine.home / ".claude/projects" / f"{project_slug(long)}-1a2b3c"
    named.mkdir(parents=True)
    assert claude.memory_folder(long) == named / "memory"
    assert claude.memory_folder(Path("/home/ann/a_b.c")).parent.name == "-home-ann-a-b-c"


def test_codex_rollouts_are_found_once_the_plain_one_first_and_with_their_names(machine):
    day = ".codex/sessions/2026/08/01/rollout-2026-08-01T10-00-00-"
    meta = {"type": "session_meta", "payload": {"cwd": "/x"}}
    plain = machine.write(f"{day}u1.jsonl", meta)
    machine.write(f"{day}u1.jsonl.zst", raw=b"")
    packed = machine.write(f"{day}u2.jsonl.zst", raw=zstd.compress(json.dumps(meta).encode() + b"\n"))
    forked = machine.write(f"{day}u1_u3.jsonl", meta)
    old = machine.write(".codex/archived_sessions/rollout-2026-07-01T10-00-00-u4.jsonl", meta)
    machine.write(
        ".codex/session_index.jsonl",
        {"id": "u1", "thread_name": "before"},
        b"broken\n",
        {"id": "u1", "thread_name": "cart"},
    )
    assert list(codex.list_transcripts()) == [
        Transcript("codex", "u1", plain, name="cart"),
        Transcript("codex", "u1_u3", forked, name="cart"),
        Transcript("codex", "u2", packed),
        Transcript("codex", "u4", old),
    ]
    assert codex.find_work_folder(packed, ()) == "/x"


def test_copilot_session_is_named_by_its_folder_and_by_who_named_it(machine):
    start = {"type": "session.start", "data": {"sessionId": "k1", "context": {"cwd": "/home/ann/shop"}}}
    path = machine.write(".copilot/session-state/k1/events.jsonl", start)
    named = machine.write(".copilot/session-state/k2/events.jsonl", start)
    path.with_name("workspace.yaml").write_text("id: k1\nname: round the cart\nuser_named: false\n")
    named.with_name("workspace.yaml").write_text("id: k2\nname: Cart totals\nuser_named: true\n")
    assert list(copilot.list_transcripts()) == [
        Transcript("copilot-cli", "k1", path),
        Transcript("copilot-cli", "k2", named, name="Cart totals"),
    ]
    assert copilot.find_work_folder(path, []) == "/home/ann/shop"
    assert copilot.find_work_folder(path.with_name("none"), []) == ""


def test_gemini_folder_is_known_by_its_hash_among_folders_seen_before(machine):
    digest = hashlib.sha256(b"/home/ann/shop").hexdigest()
    path = machine.write(f".gemini/tmp/{digest}/chats/session-1.jsonl", {"sessionId": "x"})
    child = machine.write(f".gemini/tmp/{digest}/chats/session-1/sub.jsonl", {"sessionId": "y"})
    old = machine.write(f".gemini/tmp/{digest}/chats/session-0.json", raw=b"{}")
    assert gemini.find_work_folder(child, ["/other", "/home/ann/shop"]) == "/home/ann/shop"
    assert gemini.name_project(path) == f"gemini-{digest[:8]}"
    assert sorted(gemini.list_transcripts(), key=lambda each: each.session_id) == [
        Transcript("gemini-cli", "session-0", old, whole=True),
        Transcript("gemini-cli", "session-1", path),
        Transcript("gemini-cli", "session-1.sub", child),
    ]


def test_tool_of_a_path_is_the_agent_whose_folder_it_lies_in(machine):
    assert agent_transcripts.tool_of_path(machine.home / ".claude/projects/-x/s.jsonl") == "claude-code"
    assert agent_transcripts.tool_of_path(Path("/mnt/ann/.codex/sessions/x.jsonl")) == "codex"
    assert agent_transcripts.tool_of_path(Path("/somewhere/else.jsonl")) == ""


@given(st.text(min_size=1, max_size=300))
def test_archive_id_is_one_that_servers_take(session):
    made = Transcript("x", session, Path("x")).archive_id
    assert made[0].isascii()
    assert made[0].isalnum()
    assert len(made) <= 190
    assert set(made) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@+~-")


def test_project_is_the_main_worktrees_name_unless_something_says_more(machine, monkeypatch):
    shop = machine.home / "shop"
    git = ["git", "-C", str(shop), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", str(shop)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(machine.home / "linked")], check=True)
    (shop / "deep/er").mkdir(parents=True)
    places = (shop, shop / "deep/er", machine.home / "linked", machine.home)
    assert [project_of_folder(place) for place in places] == ["shop", "shop", "shop", "home"]
    (shop / ".commonplace.toml").write_text('project = "store"')
    assert project_of_folder(machine.home / "linked") == "shop"
    configuration = remote.configuration_path()
    configuration.parent.mkdir(parents=True, exist_ok=True)
    configuration.write_text('trusted_projects = ["store"]')
    assert project_of_folder(machine.home / "linked") == "store"
    (shop / ".commonplace.toml").write_text("broken = [")
    assert project_of_folder(shop) == "shop"
    monkeypatch.setenv("COMMONPLACE_PROJECT", "given")
    assert project_of_folder(shop) == "given"


@pytest.mark.parametrize(
    "name",
    ["---", "a" * 150, "проект" * 20, "日本プロジェクト", "x" * 55 + "_" * 20 + "y" * 20, "İ" * 40, "_"],
)
def test_project_of_a_folder_with_any_name_is_one_that_servers_take(machine, name):
    long, other = project_of_folder(machine.home / name), project_of_folder(machine.home / f"{name}!")
    assert access.normalize_project_name(long)
    assert (len(long) <= 64, long == project_of_folder(Path("/elsewhere") / name)) == (True, True)
    assert long != other


def test_project_of_the_root_has_a_name():
    assert project_of_folder("/") == "root"


def test_spool_gives_equal_jobs_once_and_puts_broken_ones_aside(machine):
    for _ in range(3):
        spool.add_job("transcript", {"transcript_path": "/a"})
    spool.add_job("transcript", {"transcript_path": "/b"})
    (spool.spool_folder() / "0.json").write_text("{broken")
    assert spool.spool_folder() == machine.state / "spool"
    first, second = spool.list_jobs()
    assert (first.payload, len(first.files)) == ({"transcript_path": "/a"}, 3)
    spool.finish_job(first)
    assert spool.list_jobs() == [second]
    assert (spool.spool_folder() / "0.broken").exists()
    assert {path.stat().st_mode & 0o777 for path in spool.spool_folder().glob("*.json")} == {0o600}


def test_hook_spools_every_transcript_that_an_event_names_and_bears_anything_else(machine):
    assert hook_command.spool_event(
        {"transcript_path": "/a", "agent_transcript_path": "/b", "cwd": "/x"}, "codex"
    )
    assert [job.payload for job in spool.list_jobs()] == [
        {"transcript_path": "/a", "tool": "codex", "cwd": "/x"},
        {"transcript_path": "/b", "tool": "codex", "cwd": "/x"},
    ]
    assert hook_command.spool_event({"type": "agent-turn-complete", "thread-id": "u1"}, "codex")
    assert spool.list_jobs()[-1].payload == {"session_id": "u1", "tool": "codex"}
    for nonsense in ("[1, 2]", "{broken", '{"transcript_path": null}', '{"transcript_path": 7}'):
        running = machine.start("hook", stdin=subprocess.PIPE)
        running.communicate(nonsense.encode(), timeout=PATIENCE_SECONDS)
        assert running.returncode == 0
    assert len(spool.list_jobs()) == 3


def test_sync_refuses_to_run_twice_at_once(machine):
    machine.state.mkdir()
    machine.url = "http://127.0.0.1:9"
    with (machine.state / "sync.lock").open("a+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert machine.sync().code == 6
    assert machine.sync().code == 0


def test_sync_says_when_no_server_is_known_and_plans_without_one(machine):
    assert machine.sync().code == 8
    machine.write(".claude/projects/-x/s1.jsonl", {"cwd": "/x"})
    machine.url = "http://127.0.0.1:9"
    planned = machine.sync("--dry-run")
    assert (planned.code, planned.out.splitlines()[0]) == (
        0,
        "Would send 1 transcript (about 0.0 MB), 0 files.",
    )
    assert spool.list_jobs() == []


def test_manifest_keeps_what_somebody_added_and_expands_its_paths(machine, monkeypatch):
    monkeypatch.setenv("NOTES", str(machine.home / "notes"))
    file = machine.write("notes/a/b.md", raw=b"x")
    made = manifest.Manifest("w", "m", "t", "p", [], [manifest.TrackedFolder("$NOTES", "n")])
    path = manifest.write_manifest(made)
    edited = json.loads(path.read_text())
    edited["tracked"].append({"local": "~/notes/a/b.md", "upload": "one.md"})
    path.write_text(json.dumps(edited))
    manifest.write_manifest(made)
    (found,) = (manifest.read_manifest(each) for each in manifest.list_manifests())
    assert list(found.list_files()) == [(file, "one.md"), (file, "n/a/b.md")]


def test_kept_transcript_grows_with_its_file_and_outlives_it(machine):
    path = machine.write("a.jsonl", b"one\n")
    for _ in range(2):
        spooled_texts.spool_transcripts([Transcript("x", "a", path)])
    (job,) = spool.list_jobs()
    machine.append(path, b"two\n")
    path.unlink()
    held = Path(job.payload["kept"])
    assert held.read_bytes() == b"one\ntwo\n"
    spool.finish_job(job)
    assert not held.exists()


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    for watched in (True, False):
        shown = io.StringIO()
        shown.isatty = lambda watched=watched: watched
        monkeypatch.setattr("sys.stderr", shown)
        bar = ByteProgress(2_000_000)
        bar.add_bytes(1_000_000)
        bar.close()
        assert ("1.0 of 2.0 MB" in shown.getvalue(), bool(shown.getvalue())) == (watched, watched)


@given(st.binary(max_size=400))
def test_masked_line_keeps_every_byte_that_is_no_secret(line):
    masking = LineMasker()
    assert masking.mask_line(line) == line or masking.counts


@given(st.recursive(st.text() | st.integers() | st.just(f"\n{TOKEN}\t"), st.lists, max_leaves=8))
def test_masked_line_of_json_stays_json_without_the_secret(value):
    line = json.dumps({"v": value, "npm\npm_": "\npm_" + "a" * 36}).encode() + b"\n"
    safe = LineMasker().mask_line(line)
    assert TOKEN.encode() not in safe
    assert set(json.loads(safe)) == {"v", "npm\npm_"}


def test_pieces_give_whole_lines_and_a_long_one_in_parts_that_join_again(machine):
    long = b"x" * (2 * transcript_file.MAX_PIECE_BYTES + 5) + b"\n"
    path = machine.write("t.jsonl", b"a\n", long, b"unfinished")
    pieces = list(transcript_file.read_lines_from(path, 2, unfinished=False))
    assert [len(piece) for piece in pieces] == [
        transcript_file.MAX_PIECE_BYTES,
        transcript_file.MAX_PIECE_BYTES,
        6,
    ]
    assert b"".join(pieces) == long
    assert b"".join(transcript_file.read_lines_from(path, 0, unfinished=True)) == path.read_bytes()
    packed = machine.write("t.jsonl.zst", raw=zstd.compress(path.read_bytes()))
    assert b"".join(transcript_file.read_lines_from(packed, 2, unfinished=True)) == path.read_bytes()[2:]
    assert transcript_file.digest_before(packed, 5000) == transcript_file.digest_before(path, 5000)
    os.truncate(packed, packed.stat().st_size - 2)
    with pytest.raises(transcript_file.UnreadableTranscript):
        list(transcript_file.read_lines_from(packed, 0, unfinished=True))
