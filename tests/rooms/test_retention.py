"""What is old is deleted in short batches beside other work, and the command tells what goes and what went."""

import asyncio
from dataclasses import replace

import pytest

from commonplace import errors, retention
from commonplace.access import Caller
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings, read_settings
from commonplace.retention import RetentionRun, Sweep
from commonplace.server import delete_old_rows

OLD_ROWS = 2_300


async def write_old_audit_rows(team, rows=OLD_ROWS, project="shop"):
    at = team.clock() - 100 * 86_400 * 1_000_000

    async def insert(tx):
        await tx.many(
            "insert into audit (project, at, id, operation, outcome, agent, key_id, role, detail)"
            " values ($1, $2, $3, 'x', 'ok', 'alice', '', 'agent', '')",
            [(project, at + n, f"{n:012x}") for n in range(rows)],
        )

    await team.database.write(insert)


async def count_rows(team, table="audit", project="shop"):
    row = await team.database.read(
        lambda tx: tx.one(f"select count(*) as n from {table} where project = $1", project)
    )
    return row["n"]


async def test_rows_go_in_batches_and_other_writes_go_on_between_them(team):
    alice = await team.agent("alice")
    await write_old_audit_rows(team)
    sweep = asyncio.create_task(delete_old_rows(team.calls))
    beats = 0
    while not sweep.done():
        await alice.heartbeat(current_task=f"task {beats}")
        beats += 1
    await sweep
    progress = team.calls.retention
    assert progress.rows["audit"] == OLD_ROWS
    assert progress.batches >= OLD_ROWS // retention.BATCH_ROWS
    assert beats >= 3
    assert await count_rows(team) == beats + 1


async def test_a_sweep_that_is_cut_off_goes_on_where_it_stopped(team):
    await team.agent("alice")
    await write_old_audit_rows(team)
    run = RetentionRun(team.calls, seconds=0)
    await run.sweep_all()
    assert (run.is_finished, run.swept) == (False, {})
    rule = next(rule for rule in CATALOGUE.retention if rule.kind == "audit")
    batch = Sweep("shop", team.clock() - 90 * 86_400 * 1_000_000, team.clock(), Settings())
    gone = await team.database.write(lambda tx: rule.sweep(tx, batch))
    assert 0 < gone < OLD_ROWS
    run = RetentionRun(team.calls)
    await run.sweep_all()
    assert (run.is_finished, run.swept["audit"]) == (True, OLD_ROWS - gone)


async def test_every_rule_runs_on_every_store_and_counts_what_it_would_do(team):
    alice, _bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py"], minutes=1)
    await alice.send_message(to_instance="bob", message="hello")
    await alice.update_work(title="t", status="in_progress", files_touched=["a.py"], signals=["ready"])
    team.clock.advance(days=400)
    owner = team.anyone()
    planned = await owner.call("memory_run_retention", dry_run=True)
    rows = {kind["kind"]: kind["rows"] for kind in planned["kinds"] if kind["rows"]}
    assert rows.keys() >= {"audit", "events", "sessions", "lapsed_leases", "work", "signals", "touched_files"}
    assert await count_rows(team, "session") == 2
    done = await owner.call("memory_run_retention")
    swept = {kind["kind"]: kind["rows"] for kind in done["kinds"] if kind["rows"]}
    assert done["finished"]
    assert {kind: rows[kind] for kind in ("sessions", "work", "signals")} == {
        kind: swept[kind] for kind in ("sessions", "work", "signals")
    }
    assert [await count_rows(team, table) for table in ("session", "work", "signal", "lease")] == [0] * 4
    again = await owner.call("memory_run_retention", dry_run=True)
    assert [kind["kind"] for kind in again["kinds"] if kind["rows"]] == []


async def test_ages_are_settings(team):
    await team.agent("alice")
    await write_old_audit_rows(team, rows=10)
    team.calls.settings = replace(team.calls.settings, audit_days=101)
    await delete_old_rows(team.calls)
    assert await count_rows(team) == 11
    team.calls.settings = read_settings({}, {"COMMONPLACE_AUDIT_DAYS": "99"})
    await delete_old_rows(team.calls)
    assert await count_rows(team) == 1


def test_an_age_is_at_least_a_day():
    with pytest.raises(errors.Invalid, match="audit_days"):
        read_settings({}, {"COMMONPLACE_AUDIT_DAYS": "0"})


async def test_only_an_owner_may_sweep(team):
    with pytest.raises(errors.Forbidden):
        await team.anyone(Caller("admin", frozenset({"*"}), "k")).call("memory_run_retention")


async def test_rows_of_a_name_that_is_no_project_are_swept_too(team):
    await write_old_audit_rows(team, rows=10, project="No Such Project")
    await delete_old_rows(team.calls)
    assert await count_rows(team, project="No Such Project") == 0


def test_kinds_have_different_names():
    kinds = [rule.kind for rule in CATALOGUE.retention]
    assert len(set(kinds)) == len(kinds)
