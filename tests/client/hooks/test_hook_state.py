"""What hooks leave on the machine: little, private, and safe when several run at once."""

import asyncio
import json
import os
import stat
import uuid

from commonplace.client.companion.hook_state import HookState
from commonplace.client.link import spool


async def test_state_is_its_owners_alone(agent, home):
    alice = agent()
    await alice.start()
    await alice.edit("src/cart.py")
    kept = home / "hooks" / alice.session
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in kept.iterdir()} == {
        "session.json": 0o600,
        "leases.jsonl": 0o600,
        "head.jsonl": 0o600,
        "role": 0o600,
    }


async def test_edits_at_once_are_all_remembered(team, agent):
    alice = agent()
    await alice.start()
    files = [f"src/{number}.py" for number in range(5)]
    done = await asyncio.gather(*(alice.edit(file) for file in files))
    assert {each.stdout for each in done} == {""}
    assert (await team.anyone().health())["active_locks"] == 5


def test_leases_and_notices_of_many_writers_are_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path))
    session = str(uuid.uuid4())
    for number in range(20):
        HookState(session).record_leases({f"{number}.py": number})
        HookState(session).put_notices([f"news {number}"])
    with (HookState(session).folder / "leases.jsonl").open("ab") as file:
        file.write(b'{"file": "cut of')
    assert {file: lease.token for file, lease in HookState(session).load_leases().items()} == {
        f"{number}.py": number for number in range(20)
    }
    assert HookState(session).take_notices() == [f"news {number}" for number in range(20)]
    assert HookState(session).take_notices() == []


def test_session_id_cannot_leave_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path))
    for session in ("../../etc/x", "..", ".", "a/b", "C:\\x", "é" * 300, "x" * 5_000):
        assert HookState(session).folder.parent == tmp_path / "hooks"
        assert len(HookState(session).folder.name) <= 100
        assert HookState(HookState(session).folder.name).folder == HookState(session).folder


async def test_stop_hands_the_transcript_to_the_uploader(agent, home, tmp_path, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_HOME", str(home))
    alice = agent(COMMONPLACE_URL="http://127.0.0.1:9", COMMONPLACE_HOOKS_TRANSCRIPTS="on")
    alice.transcript = str(tmp_path / "t.jsonl")
    with spool.hold_sync_lock() as mine:  # so that the uploader leaves it where it is
        assert mine
        await alice.hook(alice.sends("stop"))
        jobs = [(job.kind, job.payload) for job in spool.list_jobs()]
    job_fields = {"tool": "claude", "session_id": alice.session, "cwd": str(alice.cwd)}
    assert jobs == [("transcript", job_fields | {"transcript_path": alice.transcript})]


async def test_stop_of_opencode_names_the_session_whose_transcript_is_found_by_it(agent, home, monkeypatch):
    monkeypatch.setenv("COMMONPLACE_HOME", str(home))
    alice = agent("opencode", COMMONPLACE_URL="http://127.0.0.1:9", COMMONPLACE_HOOKS_TRANSCRIPTS="on")
    with spool.hold_sync_lock():
        await alice.hook(alice.sends("stop"))
        await alice.hook(alice.sends("stop") | {"agent_id": "ses_child"})
        jobs = [job.payload for job in spool.list_jobs()]
    job_fields = {"tool": "opencode", "cwd": str(alice.cwd)}
    assert jobs == [job_fields | {"session_id": session} for session in (alice.session, "ses_child")]


async def test_first_edits_at_once_share_one_session(team, agent):
    alice, bob = agent(), agent()
    files = [f"src/{number}.py" for number in range(4)]
    await asyncio.gather(*(alice.edit(file) for file in files))
    assert (await team.anyone().health())["active_locks"] == 4
    await alice.end()
    assert (await team.anyone().health())["active_locks"] == 0
    assert (await bob.edit(*files[:1])).denial == ""


async def test_resumed_session_knows_the_processes_above_it(near, home):
    alice = near()
    await alice.start()
    session_path = home / "hooks" / alice.session / "session.json"
    session_fields = json.loads(session_path.read_bytes())
    session_path.write_text(json.dumps(session_fields | {"ancestors": [999_999]}))
    await alice.start(source="resume")
    assert json.loads(session_path.read_bytes()) == session_fields


def test_mark_that_a_dead_process_left_is_claimed(monkeypatch, tmp_path):
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path))
    state = HookState("s")
    assert [state.claim_mark("starting", 60), state.claim_mark("starting", 60)] == [True, False]
    os.utime(state.folder / "starting", (0, 0))
    assert state.claim_mark("starting", 60)
