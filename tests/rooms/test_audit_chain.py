"""The audit log is chained: what is changed, removed, moved or added later is found and named."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from commonplace import errors, server
from commonplace.access import LOCAL, SHARED, Caller
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.clock import HOUR, iso_exact
from commonplace.rooms.admin import audit_chain, audit_sealing
from commonplace.rooms.admin.audit_chain import RowKey
from commonplace.rooms.admin.audit_sealing import AuditSealer
from commonplace.rooms.admin.audit_verification import PageVerifier
from commonplace.store.database import Tx
from team import Team

ROWS = 12
ADMIN = Caller("admin", frozenset({"shop"}), "key_admin")


class Undo(Exception):
    """Roll back what a test changed."""


async def write_rows(team: Team, count: int = ROWS, project: str = "shop") -> None:
    alice = await team.agent("alice", project=project)
    for n in range(count):
        team.clock.advance(seconds=1)
        await alice.heartbeat(current_task=f"task {n}")


async def seal(team: Team) -> None:
    team.clock.advance(seconds=20)
    await AuditSealer(team.calls).seal_new_rows()


async def verify(team: Team, project: str = "shop", **known: Any) -> dict[str, Any]:
    return await team.anyone().call("memory_verify_audit", name=project, **known)


async def list_keys(team: Team, project: str = "shop") -> list[RowKey]:
    return await team.database.read(lambda tx: audit_chain.list_row_keys(tx, project, (0, ""), 1000))


async def change(team: Team, sql: str, *values: Any) -> None:
    await team.database.write(lambda tx: tx.run(sql, *values))


async def test_new_rows_are_sealed_and_verified(team):
    await write_rows(team)
    assert (await verify(team))["unsealed"] == ROWS + 1
    await seal(team)
    assert await verify(team) == {
        "project": "shop",
        "seals": 1,
        "rows": ROWS + 1,
        "problems": [],
        "redacted": [],
    }
    await write_rows(team)
    await seal(team)
    report = await verify(team)
    assert (report["seals"], report["rows"], report["problems"]) == (2, 2 * (ROWS + 1), [])


async def test_a_row_that_commits_late_is_sealed_later(team):
    await write_rows(team)
    await seal(team)
    await insert_row(team, (await list_keys(team))[3][0] + 1)
    await seal(team)
    report = await verify(team)
    assert (report["rows"], report["problems"]) == (ROWS + 2, [])


async def insert_row(team: Team, at: int, row_id: str = "f" * 12) -> None:
    await change(
        team,
        "insert into audit (project, at, id, operation, outcome, agent, key_id, role, detail)"
        " values ('shop', $1, $2, 'memory_store', 'ok', 'mallory', '', 'owner', '')",
        at,
        row_id,
    )


@pytest.mark.parametrize("seals_before", [False, True])
async def test_rows_of_a_time_in_which_the_clock_was_set_back_are_sealed(team, seals_before):
    await write_rows(team)
    if seals_before:
        await seal(team)
    team.clock.advance(minutes=-60)
    await write_rows(team, 2)
    team.clock.advance(minutes=60)
    await write_rows(team, 2)
    await seal(team)
    team.clock.advance(minutes=30)
    report = await verify(team)
    assert (report["rows"], report["problems"]) == (ROWS + 1 + 2 * 3, [])


async def test_every_act_on_a_row_is_found_and_the_row_is_named(team):
    await write_rows(team)
    await seal(team)
    team.clock.advance(minutes=30)
    (at, row_id), *_, (last_at, last_id) = await list_keys(team)
    changes = {
        "changed": (
            "update audit set detail = 'x' where project = 'shop' and at = $1 and id = $2",
            at,
            row_id,
        ),
        "removed": ("delete from audit where project = 'shop' and at = $1 and id = $2", last_at, last_id),
    }
    for word, (sql, *key) in changes.items():
        await change(team, sql, *key)
        assert (
            f"The row {iso_exact(key[0])} {key[1]} of seal 1 was {word}." in (await verify(team))["problems"]
        )
    await insert_row(team, at + 1)
    problems = (await verify(team))["problems"]
    assert f"The row {iso_exact(at + 1)} {'f' * 12} was added later: no seal lists it." in problems
    assert len(problems) == 3


async def test_rows_of_a_replica_that_was_killed_while_its_clock_was_behind_are_sealed_by_another(team):
    alice = await team.agent("alice")
    await write_rows(team)
    await seal(team)
    behind = Calls(team.database, CATALOGUE, team.calls.settings, lambda: team.clock() - HOUR)
    await AuditSealer(behind).seal_new_rows()
    for n in range(3):
        await behind.run("memory_heartbeat", {"session_id": alice.session_id, "current_task": f"{n}"}, LOCAL)
    with pytest.raises(errors.UnknownArgument):
        await behind.run("memory_query", {"project": "shop", "question": "?"}, LOCAL)
    sealer = AuditSealer(team.calls)
    for _ in range(12):
        team.clock.advance(seconds=20)
        await sealer.seal_new_rows()
    verified = await verify(team)
    assert (verified["problems"], "unsealed" in verified) == ([], False)
    assert await team.database.read(audit_chain.list_late_notes) == {}


def pick_mutation(keys: list[RowKey], dice: random.Random) -> tuple[str, list[Any]]:
    """One random act of somebody who can write to the store: on a row, or on a seal."""
    (at, row_id), (other_at, _) = dice.sample(keys, 2)
    column = dice.choice(["operation", "outcome", "agent", "key_id", "role", "detail"])
    row = "project = 'shop' and at = $1 and id = $2"
    seal_of = dice.randint(1, 3)
    field = dice.choice(["entries", "previous", "hash", "kind"])
    return dice.choice(
        [
            (f"update audit set {column} = {column} || 'x' where {row}", [at, row_id]),
            (f"delete from audit where {row}", [at, row_id]),
            (f"update audit set at = $3 where {row}", [at, row_id, other_at]),
            (f"update audit set at = at + 1 where {row}", [at, row_id]),
            (f"update audit set id = 'aaaaaaaaaaaa' where {row}", [at, row_id]),
            (f"update audit set project = 'other' where {row}", [at, row_id]),
            (f"update audit_seal set {field} = {field} || '0' where project = 'shop' and n = $1", [seal_of]),
            ("update audit_seal set n = n + 10 where project = 'shop' and n = $1", [seal_of]),
            ("update audit_seal set last_at = last_at + 1 where project = 'shop' and n = $1", [seal_of]),
            ("delete from audit_seal where project = 'shop' and n = $1", [dice.randint(1, 2)]),
            (
                "insert into audit select project, at, 'aaaaaaaaaaaa', operation, outcome, agent, key_id, role,"  # noqa: ISC004
                f" detail from audit where {row}",
                [at, row_id],
            ),
        ]
    )  # fmt: skip


async def test_random_mutations_are_all_found(team, pytestconfig, request):
    for _ in range(3):
        await write_rows(team)
        await seal(team)
    team.clock.advance(minutes=30)
    keys, dice = await list_keys(team), random.Random(15)
    assert (await verify(team))["problems"] == []
    for _ in range(1000 if pytestconfig.getoption("--long") else 60):
        sql, values = pick_mutation(keys, dice)
        if "set project" in sql and "citus" in request.node.name:
            continue  # Citus itself refuses to move a row to another project
        assert await find_problems_after(team, sql, values), (sql, values)


async def find_problems_after(team: Team, sql: str, values: list[Any]) -> list[str]:
    """What is found after this change, which is then undone."""
    found: list[str] = []

    async def act(tx: Tx) -> None:
        await tx.run(sql, *values)
        try:
            found.extend((await PageVerifier(tx, "shop", team.clock()).verify_page(0)).problems)
        except ValueError:  # a seal that cannot even be read
            found.append("unreadable")
        raise Undo

    with pytest.raises(Undo):
        await team.database.write(act)
    return found


async def test_replaced_chain_is_found_by_a_head_that_was_kept(team):
    await write_rows(team)
    await seal(team)
    chains = (await team.anyone().call("memory_list_audit_chains"))["chains"]
    head = next(chain for chain in chains if chain["project"] == "shop")
    known = {"known_seal": head["seal"], "known_hash": head["hash"]}
    assert (await verify(team, **known))["problems"] == []
    await change(team, "delete from audit_seal where project = 'shop'")
    assert "missing" in (await verify(team, **known))["problems"][0]
    await change(team, "update audit set agent = 'mallory' where project = 'shop'")
    await seal(team)
    assert (await verify(team))["problems"] == []
    assert "the chain was replaced" in (await verify(team, **known))["problems"][0]


async def test_redacted_row_is_reported_as_redacted(team):
    await write_rows(team)
    await seal(team)
    key = (await list_keys(team))[2]
    redact = audit_sealing.redact_audit_rows
    await team.database.write(lambda tx: redact(tx, "shop", {key: "[redacted]"}, team.clock()))
    report = await verify(team)
    assert (report["problems"], report["redacted"]) == ([], [f"{iso_exact(key[0])} {key[1]}"])
    await change(team, "update audit set detail = 'x' where project = 'shop' and id = $1", key[1])
    assert len((await verify(team))["problems"]) == 1


async def test_redaction_before_the_row_is_sealed_is_no_damage(team):
    await write_rows(team)
    key = (await list_keys(team))[2]
    due = await team.database.read(lambda tx: audit_sealing.list_due_seals(tx, "shop", team.clock()))
    await team.database.write(
        lambda tx: audit_sealing.redact_audit_rows(tx, "shop", {key: "[redacted]"}, team.clock())
    )
    assert not await team.database.write(lambda tx: audit_sealing.append_seals(tx, due))
    await seal(team)
    assert (await verify(team))["problems"] == []


async def test_redacting_an_unknown_row_is_refused(team):
    with pytest.raises(errors.NotFound):
        await team.database.write(
            lambda tx: audit_sealing.redact_audit_rows(tx, "shop", {(1, "none"): "x"}, team.clock())
        )


async def test_retention_leaves_a_chain_that_can_be_verified(team):
    await write_rows(team)
    await seal(team)
    head = (await team.anyone().call("memory_list_audit_chains"))["chains"][0]
    team.clock.advance(days=team.calls.settings.audit_days - 1)
    await write_rows(team)
    await seal(team)
    team.clock.advance(days=2)
    await server.delete_old_rows(team.calls)
    report = await verify(team)
    assert (report["rows"], report["problems"], len(await list_keys(team))) == (ROWS + 1, [], ROWS + 1)
    assert (await verify(team, known_seal=head["seal"], known_hash=head["hash"]))["problems"] == []
    team.clock.advance(days=100)
    await server.delete_old_rows(team.calls)
    assert ((await verify(team))["problems"], await list_keys(team)) == ([], [])
    await write_rows(team)
    await seal(team)
    assert (await verify(team))["problems"] == []


async def test_removed_beginning_is_found_without_a_checkpoint(team):
    for _ in range(2):
        await write_rows(team)
        await seal(team)
    await change(team, "delete from audit_seal where project = 'shop' and n = 1")
    assert (await verify(team))["problems"][0] == "Seals 1 to 1 are missing."


async def test_two_replicas_seal_each_row_once(team):
    await write_rows(team)
    now = team.clock()
    first = await team.database.read(lambda tx: audit_sealing.list_due_seals(tx, "shop", now))
    second = await team.database.read(lambda tx: audit_sealing.list_due_seals(tx, "shop", now))
    stored = [await team.database.write(store_seals(seals)) for seals in (first, second)]
    assert stored == [True, False]
    assert (await verify(team))["problems"] == []


def store_seals(seals: list[audit_chain.AuditSeal]) -> Callable[[Tx], Any]:
    return lambda tx: audit_sealing.append_seals(tx, seals)


async def test_long_log_is_sealed_and_verified_in_pages(team, monkeypatch):
    monkeypatch.setattr(audit_chain, "MAX_ROWS_OF_SEAL", 1)
    monkeypatch.setattr(audit_sealing, "_MAX_ROWS_AT_ONCE", 7)
    await write_rows(team, 40)
    await seal(team)
    page, rows = await verify(team), 0
    while page.get("next_after"):
        rows += page["rows"]
        page = await verify(team, after=page["next_after"])
        assert page["problems"] == []
    assert rows + page["rows"] == 41


async def test_only_who_sees_a_project_may_verify_it(team):
    await write_rows(team)
    await write_rows(team, project="other")
    await seal(team)
    admin = team.anyone(ADMIN)
    assert [chain["project"] for chain in (await admin.call("memory_list_audit_chains"))["chains"]] == [
        "shop"
    ]
    with pytest.raises(errors.Forbidden):
        await admin.call("memory_verify_audit", name="other")
    assert (await admin.call("memory_verify_audit", name=SHARED))["problems"] == []
