"""opencode's sessions, which it keeps in a database, become files that only grow, and arrive at the server."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_samples.opencode_sessions import CHILD, SESSION, STORED_AT, SessionDatabase, text_part
from machine import Machine, archived, claude, config

import product
from commonplace.client.agents import load_transcripts
from commonplace.client.link import spool
from commonplace.client.link.transcript import Transcript

opencode = load_transcripts("opencode")


@pytest.fixture
def database(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Iterator[SessionDatabase]:
    for name in ("XDG_DATA_HOME", "COMMONPLACE_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(machine.home))
    monkeypatch.setenv("COMMONPLACE_HOME", str(machine.state))
    made = SessionDatabase(machine.home / ".local/share/opencode/opencode.db")
    yield made
    made.close()


def export_of(machine: Machine, session: str = SESSION) -> Path:
    return machine.state / "transcripts/opencode" / f"{session}.jsonl"


def exported(machine: Machine) -> list[dict]:
    """The records of the session, after a listing."""
    list(opencode.list_transcripts())
    return [json.loads(line) for line in export_of(machine).read_bytes().splitlines()]


def ids(records: list[dict]) -> list[str]:
    return [record["id"] for record in records]


@pytest.mark.usefixtures("database")
def test_every_session_is_exported_once_with_each_record_on_its_line(machine):
    assert list(opencode.list_transcripts()) == [
        Transcript("opencode", CHILD, export_of(machine, CHILD)),
        Transcript("opencode", SESSION, export_of(machine)),
    ]
    records = exported(machine)
    assert len(set(ids(records))) == len(records) == 19
    assert records[0] == {
        "opencode": "session", "id": SESSION, "parentID": None, "directory": "/home/ann/shop",
        "title": "Cart total rounding", "version": "1.18.33", "agent": "build", "created": 1_764_851_268_189,
    }  # fmt: skip
    assert [record["opencode"] for record in records[1:4]] == ["message", "part", "message"]
    assert opencode.find_work_folder(export_of(machine, CHILD), ()) == "/home/ann/shop"
    assert export_of(machine).stat().st_mtime_ns == STORED_AT * 1_000_000
    assert export_of(machine).stat().st_mode & 0o077 == 0


def test_listing_again_changes_nothing_and_new_messages_are_appended(machine, database):
    before = exported(machine)
    stamp = export_of(machine).stat()
    assert exported(machine) == before
    assert export_of(machine).stat() == stamp
    message = database.add_message(1, "user", text_part("And the tax?"))
    records = exported(machine)
    assert (records[: len(before)], ids(records[len(before) :])) == (
        before,
        [message, "prt_2e000000000000000000010000"],
    )


def test_message_is_exported_when_it_is_completed(machine, database):
    before = exported(machine)
    part = {"type": "tool", "tool": "bash", "callID": "c", "state": {"status": "running", "input": {}}}
    message = database.add_message(1, "assistant", part, completed=False)
    database.changed_at = int(time.time() * 1000)
    database.write("message", message, {"role": "assistant", "time": {"created": 1}})
    assert exported(machine) == before
    database.write("message", message, {"role": "assistant", "time": {"completed": 2}})
    assert len(exported(machine)) == len(before) + 2


def test_message_that_was_never_completed_is_exported_after_a_while(machine, database):
    before = exported(machine)
    database.add_message(1, "assistant", text_part("I was ki"), completed=False)
    assert len(exported(machine)) == len(before) + 2


def test_record_that_changes_is_appended_again(machine, database):
    before = exported(machine)
    message = database.add_message(1, "user", text_part("And the tax?"))
    exported(machine)
    database.write("part", "prt_2e000000000000000000010000", text_part("And the taxes?"), message)
    records = exported(machine)
    assert [record["part"]["text"] for record in records[len(before) :] if "part" in record] == [
        "And the tax?",
        "And the taxes?",
    ]


@pytest.mark.usefixtures("database")
def test_export_that_was_interrupted_is_continued(machine):
    whole = exported(machine)
    path = export_of(machine)
    for cut in (1, 100, len(path.read_bytes()) - 10):
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size - cut)
        os.utime(path, (1, 1))
        assert exported(machine) == whole


def test_export_of_a_deleted_session_stays_for_a_month(machine, database):
    exported(machine)
    database.delete_session(SESSION)
    database.delete_session(CHILD)
    os.utime(export_of(machine, CHILD), (1, 1))
    now = time.time()
    os.utime(export_of(machine), (now, now))
    assert [transcript.session_id for transcript in opencode.list_transcripts()] == [SESSION]


def test_sync_sends_what_is_new_and_only_once(server: product.Product, machine, database):
    config(machine, "")
    database.move_to(machine.repository("shop"))
    first = machine.sync()
    assert (first.code, first.err, first.out.startswith("2 transcripts sent")) == (0, "", True)
    workspace = "lap-opencode-shop"
    assert archived(server, workspace, CHILD) == export_of(machine, CHILD).read_bytes()
    assert machine.sync().out.startswith("0 transcripts sent")
    database.add_message(1, "user", text_part("And the tax?"))
    assert machine.sync().out.startswith("1 transcript sent")
    assert archived(server, workspace, SESSION) == export_of(machine).read_bytes()
    assert b"And the tax?" in export_of(machine).read_bytes()


def test_hook_names_the_session_and_sync_finds_it(server: product.Product, machine, database):
    config(machine, "")
    database.move_to(machine.repository("shop"))
    spool.add_job(spool.TRANSCRIPT, {"tool": "opencode", "session_id": CHILD, "cwd": "/home/ann/shop"})
    assert machine.sync("run", "--spool").out.startswith("1 transcript sent")
    assert archived(server, "lap-opencode-shop", CHILD) == export_of(machine, CHILD).read_bytes()


@pytest.mark.usefixtures("server")
def test_database_that_cannot_be_read_is_reported_and_others_are_sent(machine):
    machine.repository("shop")
    config(machine, "")
    claude(machine, "5f1c9a52-0000-4000-8000-000000000001")
    machine.write(".local/share/opencode/opencode.db", raw=b"not a database" * 100)
    outcome = machine.sync()
    assert outcome.out.startswith("1 transcript sent")
    assert "opencode.db cannot be read" in outcome.err
