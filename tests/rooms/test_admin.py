"""Keys, the audit trail and health."""

import asyncio
import re

import pytest

from commonplace import __version__, access, errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.rooms.admin import store
from commonplace.server import delete_old_rows

OWNER = access.Caller("owner", frozenset({"*"}), "key_root", agent="root")
SHOP_OWNER = access.Caller("owner", frozenset({"shop"}), "key_shop")
SHOP_ADMIN = access.Caller("admin", frozenset({"shop"}), "key_admin")


@pytest.fixture
def keyed_team(team, database, clock):
    """The team with keys turned on."""
    team.calls = Calls(database, CATALOGUE, Settings(auth="on"), clock)
    return team


async def _load_caller(team, key: str) -> access.Caller | None:
    return await team.database.read(lambda tx: store.find_caller_by_secret(tx, key, team.clock()))


async def test_create_key_shows_the_key_once_and_stores_its_digest(keyed_team):
    made = await keyed_team.anyone(OWNER).admin(
        action="create_key",
        name="ci",
        projects=["The Shop", "bank"],
        agent="builder",
        agent_type="ci",
        expires_in_days=30,
    )
    key = made.pop("key")
    assert re.fullmatch(r"smk_[A-Za-z0-9_-]{43}", key)
    assert re.fullmatch(r"key_[0-9a-f]{8}", made["id"])
    assert made == {
        "status": "created",
        "id": made["id"],
        "name": "ci",
        "role": "agent",
        "projects": ["bank", "the_shop"],
        "agent": "builder",
        "agent_type": "ci",
        "expires_at": "2027-02-14T08:00:00Z",
    }
    rows = await keyed_team.database.read(lambda tx: tx.all("select hash from api_key"))
    assert [row["hash"] for row in rows] == [store.hash_secret(key)]
    listed = await keyed_team.anyone(OWNER).admin(action="list_keys")
    audit = await keyed_team.anyone(OWNER).admin(action="audit_log")
    for secret in (key, store.hash_secret(key)):
        assert secret not in str(listed)
        assert secret not in str(audit)


async def test_created_key_is_the_caller_that_was_asked_for(keyed_team):
    made = await keyed_team.anyone(OWNER).admin(
        action="create_key", name="ci", role="readonly", projects=["shop"], agent="builder", agent_type="ci"
    )
    assert await _load_caller(keyed_team, made["key"]) == access.Caller(
        "readonly", frozenset({"shop"}), made["id"], "builder", "ci"
    )


@pytest.mark.parametrize(
    ("role", "projects"), [("readonly", []), ("agent", []), ("sync", []), ("admin", ["*"]), ("owner", ["*"])]
)
async def test_create_key_without_projects_sees_all_only_as_admin_or_owner(keyed_team, role, projects):
    made = await keyed_team.anyone(OWNER).admin(action="create_key", name="x", role=role)
    assert made.get("projects", []) == projects
    assert ("warning" in made) == (not projects)


async def test_create_key_never_grants_more_than_its_creator_has(keyed_team):
    maker = keyed_team.anyone(SHOP_OWNER)
    for projects in (["*"], ["bank"], ["shop", "bank"], ["shared"]):
        with pytest.raises(errors.Forbidden):
            await maker.admin(action="create_key", name="more", projects=projects)
    assert (await maker.admin(action="create_key", name="same", role="admin"))["projects"] == ["shop"]


async def test_create_key_with_a_live_name_is_refused_until_it_is_free(keyed_team):
    owner = keyed_team.anyone(OWNER)
    await owner.admin(action="create_key", name="ci", expires_in_days=1)
    with pytest.raises(errors.Duplicate):
        await owner.admin(action="create_key", name="ci")
    keyed_team.clock.advance(days=1)
    await owner.admin(action="create_key", name="ci")
    await owner.admin(action="revoke_key", name=(await owner.admin(action="list_keys"))["keys"][0]["id"])
    assert (await owner.admin(action="create_key", name="ci"))["status"] == "created"


async def test_create_key_concurrently_creates_one_key_per_name(keyed_team):
    owner = keyed_team.anyone(OWNER)
    outcomes = await asyncio.gather(
        *(owner.admin(action="create_key", name="ci") for _ in range(8)), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes if isinstance(outcome, Exception)] == [errors.Duplicate] * 7
    assert (await owner.admin(action="list_keys"))["total"] == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": "king"},
        {"expires_in_days": 0},
        {"name": ""},
        {"projects": ["!"]},
        {"agent": "a b"},
        {"secret": "x"},
    ],
)
async def test_create_key_refuses_invalid_arguments(keyed_team, wrong):
    with pytest.raises(errors.Invalid):
        await keyed_team.anyone(OWNER).admin(**{"action": "create_key", "name": "ci"} | wrong)


async def test_keys_change_while_auth_is_off_only_by_the_operator(team):
    operator = team.anyone(access.OPERATOR)
    made = await operator.admin(action="create_key", name="first", role="owner")
    live = await _load_caller(team, made["key"])
    for caller in (access.LOCAL, live):
        for act in ({"action": "create_key", "name": "mine"}, {"action": "revoke_key", "name": "first"}):
            with pytest.raises(errors.Forbidden):
                await team.anyone(caller).admin(**act)
    assert (await operator.admin(action="revoke_key", name="first"))["status"] == "revoked"


@pytest.mark.parametrize("role", ["readonly", "agent", "admin", "sync"])
async def test_keys_belong_to_owners(keyed_team, role):
    caller = access.Caller(role, frozenset({"*"}), "key_x")
    for act in (
        {"action": "create_key", "name": "x"},
        {"action": "revoke_key", "name": "x"},
        {"action": "list_keys"},
    ):
        with pytest.raises(errors.Forbidden):
            await keyed_team.anyone(caller).admin(**act)


async def test_revoke_key_by_name_id_or_id_prefix_stops_it(keyed_team):
    owner = keyed_team.anyone(OWNER)
    for name, spelled in (
        ("a", lambda made: made["name"]),
        ("b", lambda made: made["id"]),
        ("c", lambda made: made["id"][:8]),
    ):
        made = await owner.admin(action="create_key", name=name)
        revoked = await owner.admin(action="revoke_key", name=spelled(made))
        assert revoked == {"status": "revoked", "id": made["id"], "name": name}
        assert await _load_caller(keyed_team, made["key"]) is None


async def test_revoke_key_that_is_not_live_or_not_visible_is_not_found(keyed_team):
    owner = keyed_team.anyone(OWNER)
    await owner.admin(action="create_key", name="wide", projects=["*"])
    await owner.admin(action="create_key", name="once")
    await owner.admin(action="revoke_key", name="once")
    for caller, name in ((OWNER, "once"), (OWNER, "nobody"), (SHOP_OWNER, "wide")):
        with pytest.raises(errors.NotFound):
            await keyed_team.anyone(caller).admin(action="revoke_key", name=name)


async def test_revoke_key_with_a_secret_stores_it_nowhere(keyed_team):
    owner = keyed_team.anyone(OWNER)
    key = (await owner.admin(action="create_key", name="ci"))["key"]
    with pytest.raises(errors.NotFound) as refused:
        await owner.admin(action="revoke_key", name=key)
    assert key not in str(refused.value.to_dict())
    assert key not in str(await owner.admin(action="audit_log"))


async def test_revoke_key_by_an_ambiguous_prefix_is_refused_with_the_candidates(keyed_team):
    for n in ("1", "2"):
        await keyed_team.database.write(
            lambda tx, n=n: store.insert_key(
                tx,
                f"key_abcd000{n}",
                f"secret {n}",
                name=f"n{n}",
                role="agent",
                projects=[],
                agent=None,
                agent_type=None,
                created_by="test",
                now=1,
                expires_at=None,
            )
        )
    with pytest.raises(errors.Conflict) as refused:
        await keyed_team.anyone(OWNER).admin(action="revoke_key", name="key_abcd")
    assert refused.value.details == {"candidates": ["key_abcd0001", "key_abcd0002"]}


async def test_revoke_key_keeps_the_last_owner_except_for_the_operator(keyed_team):
    owner = keyed_team.anyone(OWNER)
    await owner.admin(action="create_key", name="one", role="owner")
    await owner.admin(action="create_key", name="brief", role="owner", expires_in_days=1)
    keyed_team.clock.advance(days=1)
    with pytest.raises(errors.Conflict):
        await owner.admin(action="revoke_key", name="one")
    await owner.admin(action="create_key", name="two", role="owner")
    assert (await owner.admin(action="revoke_key", name="one"))["status"] == "revoked"
    operator = keyed_team.anyone(access.OPERATOR)
    assert (await operator.admin(action="revoke_key", name="two"))["status"] == "revoked"


async def test_revoke_key_concurrently_of_two_owners_leaves_one(keyed_team):
    owner = keyed_team.anyone(OWNER)
    for name in ("one", "two"):
        await owner.admin(action="create_key", name=name, role="owner")
    outcomes = await asyncio.gather(
        *(owner.admin(action="revoke_key", name=name) for name in ("one", "two")), return_exceptions=True
    )
    assert sum(isinstance(outcome, errors.Conflict) for outcome in outcomes) == 1


async def test_list_keys_is_newest_first_and_pages(keyed_team):
    owner = keyed_team.anyone(OWNER)
    for name in ("a", "b", "c"):
        await owner.admin(action="create_key", name=name)
        keyed_team.clock.advance(seconds=1)
    await owner.admin(action="revoke_key", name="b")
    page = await owner.admin(action="list_keys", limit=2)
    assert [(key["name"], key.get("revoked_at")) for key in page["keys"]] == [
        ("c", None),
        ("b", "2027-01-15T08:00:03Z"),
    ]
    assert (page["total"], page["next_offset"]) == (3, 2)
    rest = await owner.admin(action="list_keys", offset=2)
    assert rest["keys"] == [
        {
            "id": rest["keys"][0]["id"],
            "name": "a",
            "role": "agent",
            "created": "2027-01-15T08:00:00Z",
            "created_by": "root",
        }
    ]


async def test_list_keys_hides_keys_with_more_projects_than_the_caller(keyed_team):
    owner = keyed_team.anyone(OWNER)
    for name, projects in (("wide", ["*"]), ("narrow", ["shop"]), ("other", ["bank"])):
        await owner.admin(action="create_key", name=name, projects=projects)
    listed = await keyed_team.anyone(SHOP_OWNER).admin(action="list_keys")
    assert ([key["name"] for key in listed["keys"]], listed["total"]) == (["narrow"], 1)


async def test_audit_log_has_writes_and_refusals_newest_first(keyed_team):
    owner = keyed_team.anyone(OWNER)
    made = await owner.admin(action="create_key", name="ci")
    keyed_team.clock.advance(seconds=1)
    with pytest.raises(errors.Duplicate):
        await owner.admin(action="create_key", name="ci")
    log = await owner.admin(action="audit_log")
    assert log == {
        "count": 2,
        "events": [
            {
                "at": "2027-01-15T08:00:01.000000Z",
                "operation": "memory_admin",
                "outcome": "duplicate",
                "role": "owner",
                "agent": "root",
                "key": "key_root",
                "detail": log["events"][0]["detail"],
            },
            {
                "at": "2027-01-15T08:00:00.000000Z",
                "operation": "memory_admin",
                "outcome": "ok",
                "role": "owner",
                "project": "shared",
                "agent": "root",
                "key": "key_root",
                "detail": f"create_key {made['id']} ci (agent)",
            },
        ],
    }


async def test_audit_log_filters_by_kind_of_event_and_agent(keyed_team):
    owner = keyed_team.anyone(OWNER)
    await owner.admin(action="create_key", name="ci")
    await owner.guidelines(action="set", name="tests", rule="Run them.")
    with pytest.raises(errors.NotFound):
        await owner.guidelines(action="delete", name="nothing")
    ann = await keyed_team.agent("ann", caller=access.LOCAL)
    await ann.guidelines(action="set", name="kind", rule="Be kind.")

    async def count_rows(**filters):
        return (await owner.admin(action="audit_log", **filters))["count"]

    assert await count_rows(event_type="memory_guidelines") == 3
    assert await count_rows(event_type="not_found") == 1
    assert await count_rows(event_type="create_key") == 1
    assert await count_rows(event_type="memory_guidelines", agent="ann") == 1
    assert await count_rows(event_type="nothing like it") == 0


async def test_audit_log_pages_by_cursor_through_everything_once(keyed_team, monkeypatch):
    monkeypatch.setattr(store, "AUDIT_WINDOW_ROWS", 4)
    owner = keyed_team.anyone(OWNER)
    for n in range(11):
        await owner.guidelines(action="set", name=f"rule {n}", rule="r")
        keyed_team.clock.advance(seconds=n % 2)
    seen, cursor = [], {}
    for _ in range(20):
        page = await owner.admin(action="audit_log", limit=3, event_type="memory_guidelines", **cursor)
        seen += [event["detail"] for event in page.get("events", [])]
        if "next_cursor" not in page:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert sorted(seen) == sorted(f"set global: rule {n}" for n in range(11))
    with pytest.raises(errors.Invalid):
        await owner.admin(action="audit_log", cursor="' or 1=1")


async def test_audit_log_reads_one_window_and_continues_after_it(keyed_team, monkeypatch):
    monkeypatch.setattr(store, "AUDIT_WINDOW_ROWS", 4)
    owner = keyed_team.anyone(OWNER)
    await owner.admin(action="create_key", name="ci")
    for n in range(6):
        keyed_team.clock.advance(seconds=1)
        await owner.guidelines(action="set", name=f"rule {n}", rule="r")
    thin = await owner.admin(action="audit_log", event_type="create_key")
    behind = await owner.admin(action="audit_log", event_type="create_key", cursor=thin["next_cursor"])
    assert (thin["count"], behind["count"]) == (0, 1)


async def test_audit_log_shows_an_admin_only_its_projects(keyed_team):
    for project in ("shop", "bank"):
        await keyed_team.agent("ann", project, access.LOCAL)
    with pytest.raises(errors.Forbidden):
        await keyed_team.anyone(SHOP_ADMIN).guidelines(action="set", name="x", rule="r", scope="bank")
    log = await keyed_team.anyone(SHOP_ADMIN).admin(action="audit_log")
    assert {event["project"] for event in log["events"]} == {"shop"}
    everything = await keyed_team.anyone(OWNER).admin(action="audit_log")
    assert {event.get("project", "") for event in everything["events"]} == {"", "shop", "bank"}
    with pytest.raises(errors.Forbidden):
        await keyed_team.anyone(access.Caller("agent", frozenset({"shop"}), "k")).admin(action="audit_log")


async def test_audit_rows_are_deleted_after_retention(keyed_team):
    owner = keyed_team.anyone(OWNER)
    await owner.admin(action="create_key", name="old")
    keyed_team.clock.advance(days=60)
    await owner.admin(action="create_key", name="young")
    keyed_team.clock.advance(days=31)
    await delete_old_rows(keyed_team.calls)
    log = await owner.admin(action="audit_log")
    assert [event["detail"].split()[2] for event in log["events"]] == ["young"]


async def test_auth_status_shows_role_projects_and_key(keyed_team):
    bound = access.Caller("agent", frozenset({"shop"}), "key_ann", agent="ann")
    assert await keyed_team.anyone(bound).admin(action="auth_status") == {
        "auth": "on",
        "role": "agent",
        "projects": ["shop"],
        "key": "key_ann",
        "agent": "ann",
    }


async def test_auth_status_while_keys_are_off(team):
    assert await team.anyone().admin(action="auth_status") == {
        "auth": "off",
        "role": "owner",
        "projects": ["*"],
    }


async def test_admin_actions_of_a_session_are_its_agents(keyed_team):
    ann = await keyed_team.agent("ann", caller=access.LOCAL)
    await ann.admin(action="create_key", name="ci")
    assert (await ann.admin(action="list_keys"))["keys"][0]["created_by"] == "ann"


async def test_admin_actions_with_anothers_session_are_refused(keyed_team):
    ann = await keyed_team.agent("ann", caller=access.LOCAL)
    with pytest.raises(errors.SessionNotFound):
        await keyed_team.anyone(OWNER).admin(action="list_keys", session_id=ann.session_id)


async def test_an_expired_key_has_no_caller(keyed_team):
    made = await keyed_team.anyone(OWNER).admin(action="create_key", name="ci", expires_in_days=1)
    keyed_team.clock.advance(days=1, seconds=-1)
    assert await _load_caller(keyed_team, made["key"]) is not None
    keyed_team.clock.advance(seconds=1)
    assert await _load_caller(keyed_team, made["key"]) is None


@pytest.mark.parametrize("secret", ["", "smk_", "\ud800", "x" * 100_000, "' or 1=1 --"])
async def test_an_unknown_key_has_no_caller(team, secret):
    assert await _load_caller(team, secret) is None


async def test_health_counts_live_sessions_and_locks(team, clock):
    old = await team.agent("old")
    await old.lock_files(files=["old.py"])
    clock.advance(days=2)
    ann = await team.agent("ann")
    await ann.lock_files(files=["a.py", "b.py"])
    shown = await team.anyone(access.Caller("readonly", frozenset(), "key_r")).health()
    assert shown.pop("uptime_seconds") >= 0
    assert shown["store"].pop("latency_ms") >= 0
    assert shown == {
        "status": "ok",
        "version": __version__,
        "store": {"kind": team.database.kind, "ok": True},
        "search": {"ok": True, "pending": 0},
        "active_sessions": 1,
        "active_locks": 2,
    }
