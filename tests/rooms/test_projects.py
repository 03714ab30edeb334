"""Projects, their rosters, and what is seen of them."""

from collections import Counter

import pytest

from commonplace import access, errors, events
from commonplace.rooms.knowledge import store as documents
from commonplace.rooms.knowledge.index_entries import count_document_words
from commonplace.search import index
from commonplace.server import delete_old_rows
from commonplace.store.schema import project_tables

ADMIN = access.Caller("admin", frozenset({"shop"}), "key_admin")
AGENT = access.Caller("agent", frozenset({"shop"}), "key_agent")
NOBODY = access.Caller("readonly", frozenset(), "key_none")


async def test_create_project_returns_its_normalised_name(team):
    created = await team.anyone().project(
        action="create", name="The Shop!", display_name="The Shop", ignore_case=True
    )
    assert created == {
        "name": "the_shop",
        "display_name": "The Shop",
        "registered": True,
        "created": "2027-01-15T08:00:00Z",
        "ignore_case": True,
        "status": "created",
    }


async def test_create_project_twice_is_refused(team):
    await team.anyone().project(action="create", name="shop")
    with pytest.raises(errors.Duplicate):
        await team.anyone().project(action="create", name="Shop")


async def test_create_project_registers_a_project_that_a_session_created(team):
    ann = await team.agent("ann")
    before = await ann.project(action="get")
    after = await ann.project(action="create", name="shop")
    assert (before["registered"], after["registered"], after["display_name"]) == (False, True, "shop")


async def test_shared_space_is_neither_created_nor_deleted(team):
    for act in ({"action": "create"}, {"action": "delete", "confirm": "shared"}):
        with pytest.raises(errors.Invalid):
            await team.anyone().project(name="shared", **act)


async def test_get_project_shows_the_roster(team):
    anyone = team.anyone()
    await anyone.project(action="create", name="shop")
    await anyone.project(
        action="add_agent",
        name="shop",
        agent="bob",
        tier="admin",
        role_description="reviews",
        path_patterns=["/home/*/shop"],
    )
    assert await anyone.project(action="get", name="shop") == {
        "name": "shop",
        "display_name": "shop",
        "registered": True,
        "created": "2027-01-15T08:00:00Z",
        "agent_count": 1,
        "agents": [
            {
                "agent": "bob",
                "tier": "admin",
                "role_description": "reviews",
                "path_patterns": ["/home/*/shop"],
            }
        ],
    }


async def test_get_unknown_project_is_refused_and_creates_nothing(team):
    with pytest.raises(errors.NotFound):
        await team.anyone().project(action="get", name="nowhere")
    assert await team.anyone().project(action="list") == {"projects": [], "total": 0}


async def test_add_agent_admits_a_pending_agent(team):
    await team.anyone().project(action="create", name="shop")
    await team.agent("eve")
    waiting = await team.anyone().project(action="get", name="shop")
    added = await team.anyone().project(action="add_agent", name="shop", agent="eve")
    assert [member["tier"] for member in waiting["agents"]] == ["pending"]
    assert added == {"status": "added", "project": "shop", "agent": "eve", "tier": "named"}


async def test_add_and_update_agent_leave_untouched_what_is_omitted(team):
    anyone = team.anyone()
    await anyone.project(action="create", name="shop")
    await anyone.project(
        action="add_agent",
        name="shop",
        agent="bob",
        tier="admin",
        role_description="reviews",
        path_patterns=["a/**"],
    )
    again = await anyone.project(action="add_agent", name="shop", agent="bob", path_patterns=[])
    changed = await anyone.project(action="update_agent", name="shop", agent="bob", role_description="writes")
    lowered = await anyone.project(action="update_agent", name="shop", agent="bob", tier="worker")
    (bob,) = (await anyone.project(action="get", name="shop"))["agents"]
    assert again == {"status": "added", "project": "shop", "agent": "bob", "tier": "admin"}
    assert (changed["tier"], changed["status"], lowered["tier"]) == ("admin", "updated", "worker")
    assert (bob["role_description"], bob["tier"], "path_patterns" in bob) == ("writes", "worker", False)


async def test_add_agent_to_an_unknown_project_is_refused(team):
    with pytest.raises(errors.NotFound):
        await team.anyone().project(action="add_agent", name="nowhere", agent="bob")


async def test_roster_actions_default_to_the_sessions_project(team):
    ann = await team.agent("ann")
    assert (await ann.project(action="add_agent", agent="bob"))["project"] == "shop"


async def test_remove_agent_removes_it_from_the_roster(team):
    ann = await team.agent("ann")
    await ann.project(action="add_agent", agent="bob")
    removed = await ann.project(action="remove_agent", agent="bob")
    left = await ann.project(action="get")
    assert removed == {"status": "removed", "project": "shop", "agent": "bob"}
    assert [member["agent"] for member in left["agents"]] == ["ann"]


@pytest.mark.parametrize("action", ["remove_agent", "update_agent"])
async def test_roster_action_on_an_unknown_agent_suggests_close_names(team, action):
    ann = await team.agent("ann")
    await ann.project(action="add_agent", agent="robert")
    with pytest.raises(errors.NotFound) as refused:
        await ann.project(action=action, agent="roberta")
    assert "robert" in refused.value.hint


@pytest.mark.parametrize(
    "wrong", [{"tier": "king"}, {"agent": "a b"}, {"path_patterns": [""]}, {"projects": "x"}]
)
async def test_add_agent_refuses_invalid_arguments(team, wrong):
    ann = await team.agent("ann")
    with pytest.raises(errors.Invalid):
        await ann.project(**{"action": "add_agent", "agent": "bob"} | wrong)


async def test_list_projects_pages(team):
    for name in ("c", "a", "b"):
        await team.anyone().project(action="create", name=name)
    first = await team.anyone().project(action="list", limit=2)
    second = await team.anyone().project(action="list", limit=2, offset=first["next_offset"])
    assert (first["total"], [project["name"] for project in first["projects"]]) == (3, ["a", "b"])
    assert [project["name"] for project in second["projects"]] == ["c"]
    assert "next_offset" not in second


@pytest.mark.parametrize("confirm", [{}, {"confirm": "!"}, {"confirm": "yes"}, {"confirm": "bank"}])
async def test_delete_project_requires_confirmation_with_its_name(team, confirm):
    ann = await team.agent("ann")
    with pytest.raises(errors.Invalid) as refused:
        await ann.project(action="delete", name="shop", **confirm)
    assert "confirm='shop'" in refused.value.hint
    assert (await ann.project(action="get"))["name"] == "shop"


async def _count_rows(tx, project: str) -> dict[str, int]:
    counted = {}
    for table in await project_tables(tx):
        row = await tx.one(f"select count(*) as n from {table} where project = $1", project)
        counted[table] = row["n"]
    return counted


async def _insert_document(tx, project: str) -> None:
    entry = await documents.insert_document(
        tx,
        project,
        type="learning",
        title="t",
        content="some words",
        author="ann",
        now=1,
        tags=("a",),
        files=("f.py",),
        digest=documents.compute_digest("t", "some words"),
        words=count_document_words("t", "some words", Counter({"word": 1}), ["a"], ["f.py"]),
    )
    await index.put_new_entries(tx, [entry])


async def test_delete_project_removes_every_row_but_its_audit_and_leaves_others_alone(team):
    for project in ("shop", "bank"):
        ann = await team.agent("ann", project)
        await ann.lock_files(files=["a.py"])
        await ann.update_work(title="work", status="in_progress", files_touched=["a.py"], signals=["done"])
        await ann.guidelines(action="set", name="tests", rule="Run them.", scope=project)
        await team.database.write(lambda tx, project=project: _insert_document(tx, project))
    before = await team.database.read(lambda tx: _count_rows(tx, "shop"))
    others = await team.database.read(lambda tx: _count_rows(tx, "bank"))
    deleted = await team.anyone().project(action="delete", name="shop", confirm="shop")
    after = await team.database.read(lambda tx: _count_rows(tx, "shop"))
    kept = {"audit", "counter"}
    assert deleted["removed"] == {table: n for table, n in before.items() if n and table not in kept}
    assert {
        "session",
        "lease",
        "work",
        "touched",
        "signal",
        "guideline",
        "agent",
        "document",
        "entry",
        "event",
    } <= set(deleted["removed"])
    assert {table: n for table, n in after.items() if n and table not in kept} == {"event": 1}
    assert after["audit"] == before["audit"] + 1
    assert await team.database.read(lambda tx: _count_rows(tx, "bank")) == others
    with pytest.raises(errors.NotFound):
        await team.anyone().project(action="get", name="shop")


async def test_delete_project_ends_its_sessions(team):
    ann = await team.agent("ann")
    await ann.project(action="delete", name="shop", confirm="Shop")
    with pytest.raises(errors.SessionNotFound):
        await ann.project(action="get")


async def test_delete_project_never_lets_tokens_or_event_numbers_fall_back(team):
    ann = await team.agent("ann")
    before = (await ann.lock_files(files=["a.py"]))["locked"][0]["token"]
    await ann.project(action="delete", name="shop", confirm="shop")
    again = await team.agent("ann")
    assert (await again.lock_files(files=["a.py"]))["locked"][0]["token"] > before


async def test_delete_project_resets_the_document_count(team):
    ann = await team.agent("ann")
    for _ in range(2):
        await team.database.write(lambda tx: _insert_document(tx, "shop"))
    await ann.project(action="delete", name="shop", confirm="shop")
    await team.agent("ann")
    await team.database.write(lambda tx: _insert_document(tx, "shop"))
    listed = await team.anyone().list_projects()
    assert [project["document_count"] for project in listed["projects"]] == [1]


async def test_project_actions_of_an_admin_stay_in_its_projects(team):
    await team.agent("ann", "bank")
    admin = team.anyone(ADMIN)
    assert (await admin.project(action="create", name="shop"))["status"] == "created"
    for act in (
        {"action": "create"},
        {"action": "get"},
        {"action": "delete", "confirm": "bank"},
        {"action": "add_agent", "agent": "eve"},
        {"action": "remove_agent", "agent": "ann"},
        {"action": "update_agent", "agent": "ann", "tier": "pending"},
    ):
        with pytest.raises(errors.Forbidden):
            await admin.project(name="bank", **act)
    assert [project["name"] for project in (await admin.project(action="list"))["projects"]] == ["shop"]


async def test_project_changes_need_an_admin(team):
    await team.agent("ann")
    for act in (
        {"action": "create"},
        {"action": "delete", "confirm": "shop"},
        {"action": "add_agent", "agent": "x"},
    ):
        with pytest.raises(errors.Forbidden):
            await team.anyone(AGENT).project(name="shop", **act)


async def test_list_projects_counts_what_is_there(team, clock):
    await team.agent("ann")
    await team.agent("bob")
    await team.agent("zoe", "shared")
    clock.advance(days=2)
    await team.agent("ann")
    await team.database.write(lambda tx: _insert_document(tx, "shop"))
    assert await team.anyone().list_projects() == {
        "total": 1,
        "active_sessions": 1,
        "shared": {"active_sessions": 0, "document_count": 0},
        "projects": [
            {
                "project": "shop",
                "agents": 2,
                "active_sessions": 1,
                "last_activity": "2027-01-17T08:00:00Z",
                "document_count": 1,
            }
        ],
    }


async def test_list_projects_shows_only_the_callers_projects(team):
    for project in ("shop", "bank"):
        await team.agent("ann", project)
    own = await team.anyone(AGENT).list_projects()
    none = await team.anyone(NOBODY).list_projects()
    assert ([project["project"] for project in own["projects"]], own["total"], own["active_sessions"]) == (
        ["shop"],
        1,
        1,
    )
    assert none == {
        "projects": [],
        "total": 0,
        "active_sessions": 0,
        "shared": {"active_sessions": 0, "document_count": 0},
    }


async def test_list_projects_pages_with_the_total_of_all(team):
    for project in ("a", "b", "c"):
        await team.agent("ann", project)
    page = await team.anyone().list_projects(limit=1, offset=1)
    assert [project["project"] for project in page["projects"]] == ["b"]
    assert (page["total"], page["next_offset"], page["active_sessions"]) == (3, 2, 3)


async def test_events_are_deleted_after_retention_and_their_numbers_continue(team, clock):
    alice = await team.agent("alice")
    await alice.lock_files(files=["a.py"])
    clock.advance(days=8)
    await alice.lock_files(files=["b.py"])
    await delete_old_rows(team.calls)
    kept = await team.database.read(lambda tx: events.list_events_after(tx, "shop", 0))
    assert [(event.n, event.kind) for event in kept] == [(3, "FilesLocked")]


async def test_find_operation_describes_what_fits_the_words_and_the_role(team):
    found = (await team.anyone().find_operation(query="add a task to the backlog"))["operations"]
    assert found[0]["name"] == "memory_add_backlog_item"
    assert "title" in found[0]["arguments"]["properties"]
    reader = team.anyone(access.Caller("readonly", frozenset({"shop"})))
    allowed = (await reader.find_operation(query="add a task to the backlog"))["operations"]
    assert "memory_add_backlog_item" not in {operation["name"] for operation in allowed}


async def test_call_operation_has_the_role_and_the_audit_of_what_it_calls(team):
    alice = await team.agent("alice")
    lesson = {"topic": "Idle pool", "content": "Set the limit to 60."}
    made = await alice.call_operation(name="memory_record_learning", arguments=lesson)
    assert made["status"] == "recorded"
    log = await team.anyone(access.OPERATOR).admin(action="audit_log")
    assert "memory_record_learning" in str(log)
    assert "memory_call_operation" not in str(log)
    reader = team.anyone(access.Caller("readonly", frozenset({"shop"})))
    with pytest.raises(errors.Forbidden):
        await reader.call_operation(name="memory_record_learning", arguments=lesson)
    for unknown in ("memory_answer_request", "nothing"):
        with pytest.raises(errors.NotFound):
            await alice.call_operation(name=unknown, arguments={})
