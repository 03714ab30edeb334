"""Workspaces: registered by their triple, read by all who may, written by their own."""

import asyncio

import pytest

from commonplace import access, errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.room import list_operations
from team import Team

EVERYWHERE = frozenset({access.ALL_PROJECTS})
SHOP = frozenset({"shop"})
LAPTOP = {"machine": "laptop", "tool": "claude-code", "project": "shop"}
LAPTOP_ID = "laptop-claude-code-shop"


def agent_caller(name: str | None = "ann", projects=SHOP, key: str = "key_ann", **more) -> access.Caller:
    return access.Caller("agent", projects, key, name, **more)


def sync_caller(projects=SHOP, key: str = "key_sync", **more) -> access.Caller:
    return access.Caller("sync", projects, key, **more)


@pytest.fixture
async def guarded(database, clock):
    """The product with keys on."""
    calls = Calls(database, CATALOGUE, Settings(auth="on"), clock)
    await calls.bus.open()
    yield Team(calls, clock)
    await calls.bus.close()


async def refusal_of(code: str, running) -> errors.Refusal:
    with pytest.raises(errors.Refusal) as refusal:
        await running
    assert refusal.value.code == code
    return refusal.value


async def test_register_binds_an_agent_and_gives_a_sync_key_its_token_once(guarded):
    ann, sync = guarded.anyone(agent_caller()), guarded.anyone(sync_caller())
    assert await ann.register_workspace(**LAPTOP) == {
        "workspace_id": LAPTOP_ID,
        "created": True,
        "bound": True,
    }
    given = await sync.register_workspace(**LAPTOP)
    assert given == {
        "workspace_id": LAPTOP_ID,
        "created": False,
        "bound": False,
        "write_token": given["write_token"],
    }
    assert given["write_token"].startswith("cwt_")
    assert "write_token" not in await sync.register_workspace(**LAPTOP)


async def test_register_while_keys_are_off_answers_both_roles(team):
    registered = await team.anyone().register_workspace(**LAPTOP)
    assert (registered["bound"], registered["write_token"][:4]) == (True, "cwt_")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("my.laptop", "claude", "shop"), ("my laptop", "claude", "shop")),
        (("a-b", "c", "shop"), ("a", "b-c", "shop")),
        (("laptop", "claude", "the shop"), ("laptop", "claude-the", "shop")),
        (("Laptop", "claude", "shop"), ("laptop", "claude", "shop")),
        (("!", "claude", "shop"), ("?", "claude", "shop")),
        (("Büro", "claude", "shop"), ("Bu\u0308ro", "claude", "shop")),
    ],
)
async def test_register_tells_triples_of_the_same_label_apart(team, first, second):
    anyone = team.anyone()
    names = ("machine", "tool", "project")
    ids = [
        (await anyone.register_workspace(**dict(zip(names, triple, strict=True))))["workspace_id"]
        for triple in (first, second, second, first)
    ]
    assert ids == [ids[0], f"{ids[0]}-2", f"{ids[0]}-2", ids[0]]


async def test_register_makes_slugs_of_any_name(team):
    registered = await team.anyone().register_workspace(
        machine="Ann's MacBook (2)", tool="Claude Code", project="My Shop!"
    )
    assert registered["workspace_id"] == "ann-s-macbook-2-claude-code-my-shop"
    listed = await team.anyone().list_workspaces()
    assert listed["workspaces"][0]["project"] == "my_shop"


async def test_names_have_letters_of_any_script(team):
    anyone = team.anyone()
    made = await anyone.register_workspace(machine="ноутбук", tool="codex", project="Möller & 日本")
    place = {"workspace_id": "ноутбук-codex-möller-日本"}
    assert made["workspace_id"] == place["workspace_id"]
    assert (await anyone.list_workspaces(project="MO\u0308LLER/日本"))["total"] == 1
    assert (await anyone.list_workspaces(project="Müller 日本"))["total"] == 0
    await anyone.write_knowledge(path="a.md", content="fish")
    assert (await anyone.read_knowledge(path="a.md", **place))["content"] == "fish"
    assert len((await anyone.search_knowledge(query="fish", **place))["matches"]) == 1


async def test_register_twice_at_once_makes_one_workspace(team):
    anyone = team.anyone()
    replies = await asyncio.gather(*(anyone.register_workspace(**LAPTOP) for _ in range(5)))
    assert {each["workspace_id"] for each in replies} == {LAPTOP_ID}
    assert [each["created"] for each in replies].count(True) == 1


async def test_register_rotate_gives_another_token_and_ends_the_old(guarded):
    sync = guarded.anyone(sync_caller())
    old = (await sync.register_workspace(**LAPTOP))["write_token"]
    other = (await sync.register_workspace(**LAPTOP, rotate=True))["write_token"]
    assert old != other
    upload = {"workspace_id": LAPTOP_ID, "path": "a.md", "content": "x"}
    await refusal_of("forbidden", sync.upload_knowledge(**upload, write_token=old))
    assert (await sync.upload_knowledge(**upload, write_token=other))["status"] == "created"


async def test_register_rotate_gives_an_agent_key_the_token_of_its_own_workspace(guarded):
    ann = guarded.anyone(agent_caller())
    given = await ann.register_workspace(**LAPTOP, rotate=True)
    assert given == {
        "workspace_id": LAPTOP_ID,
        "created": True,
        "bound": False,
        "write_token": given["write_token"],
    }
    uploaded = await ann.upload_session(
        workspace_id=LAPTOP_ID, write_token=given["write_token"], session_id="s1", content="{}\n"
    )
    assert uploaded["status"] == "stored"
    again = await ann.register_workspace(**LAPTOP, rotate=True)
    assert again["write_token"] != given["write_token"]


@pytest.mark.parametrize("role", ["agent", "admin", "owner"])
async def test_register_rotate_never_takes_the_token_of_another_key(guarded, role):
    bob = guarded.anyone(access.Caller(role, SHOP, "key_bob", "bob"))
    for owner in (agent_caller(), sync_caller()):
        token = (await guarded.anyone(owner).register_workspace(**LAPTOP, rotate=True))["write_token"]
        refusal = await refusal_of("forbidden", bob.register_workspace(**LAPTOP, rotate=True))
        assert f"revoke-writer {LAPTOP_ID}" in refusal.hint
        upload = {"workspace_id": LAPTOP_ID, "path": "a.md", "content": owner.key, "write_token": token}
        assert (await guarded.anyone(owner).upload_knowledge(**upload))["status"] in {"created", "updated"}


async def test_register_rotate_gives_an_agent_key_a_token_that_was_revoked(guarded):
    admin = guarded.anyone(access.Caller("admin", SHOP, "key_admin"))
    await guarded.anyone(sync_caller()).register_workspace(**LAPTOP)
    await admin.admin(action="revoke_writer", name=LAPTOP_ID)
    given = await guarded.anyone(agent_caller()).register_workspace(**LAPTOP, rotate=True)
    assert given["write_token"].startswith("cwt_")


async def test_register_rotate_gives_the_token_of_a_revoked_key_to_the_next(guarded):
    owner = guarded.anyone(access.OPERATOR)
    created = await owner.admin(action="create_key", name="old", projects=["shop"])
    old = agent_caller(key=created["id"])
    await guarded.anyone(old).register_workspace(**LAPTOP, rotate=True)
    ann = guarded.anyone(agent_caller())
    await refusal_of("forbidden", ann.register_workspace(**LAPTOP, rotate=True))
    await owner.admin(action="revoke_key", name="old")
    assert (await ann.register_workspace(**LAPTOP, rotate=True))["write_token"].startswith("cwt_")


async def test_register_rotate_of_a_key_that_is_limited_to_other_machines_is_refused(guarded):
    limited = agent_caller(machines=frozenset({"desk"}))
    await refusal_of("forbidden", guarded.anyone(limited).register_workspace(**LAPTOP, rotate=True))


async def test_register_of_a_readonly_key_or_in_a_foreign_project_is_refused(guarded):
    reader = access.Caller("readonly", SHOP, "key_r")
    await refusal_of("forbidden", guarded.anyone(reader).register_workspace(**LAPTOP))
    await refusal_of(
        "forbidden", guarded.anyone(agent_caller()).register_workspace(machine="m", tool="t", project="bank")
    )


async def test_a_token_is_stored_as_its_digest_only(guarded):
    token = (await guarded.anyone(sync_caller()).register_workspace(**LAPTOP))["write_token"]
    rows = await guarded.database.read(
        lambda tx: tx.all("select * from workspace_token where project = $1", "shop")
    )
    assert token not in str([dict(row) for row in rows])
    assert len(rows[0]["hash"]) == 64


async def test_revoke_writer_ends_a_token_until_another_is_asked_for(guarded):
    sync, admin = guarded.anyone(sync_caller()), guarded.anyone(access.Caller("admin", SHOP, "key_admin"))
    token = (await sync.register_workspace(**LAPTOP))["write_token"]
    revoke = {"action": "revoke_writer", "name": LAPTOP_ID}
    assert await admin.admin(**revoke) == {"status": "revoked", "workspace_id": LAPTOP_ID}
    assert (await admin.admin(**revoke))["status"] == "none"
    upload = {"workspace_id": LAPTOP_ID, "path": "a.md", "content": "x", "write_token": token}
    await refusal_of("forbidden", sync.upload_knowledge(**upload))
    assert "write_token" not in await sync.register_workspace(**LAPTOP)
    await refusal_of("forbidden", guarded.anyone(agent_caller()).admin(**revoke))
    stranger = guarded.anyone(access.Caller("admin", frozenset({"bank"}), "key_other"))
    await refusal_of("not_found", stranger.admin(**revoke))


async def test_revoke_writer_ends_the_binding_of_an_agent(guarded):
    ann, admin = guarded.anyone(agent_caller()), guarded.anyone(access.Caller("admin", SHOP, "key_admin"))
    await ann.register_workspace(**LAPTOP)
    revoke = {"action": "revoke_writer", "name": LAPTOP_ID, "agent": "ann"}
    assert [(await admin.admin(**revoke))["status"] for _ in range(2)] == ["revoked", "none"]
    await refusal_of("forbidden", ann.write_overview(content="x", workspace_id=LAPTOP_ID))
    await refusal_of("not_found", ann.write_overview(content="x"))


async def test_a_token_and_a_binding_survive_a_restart(guarded, clock):
    sync, ann = guarded.anyone(sync_caller()), guarded.anyone(agent_caller())
    token = (await sync.register_workspace(**LAPTOP))["write_token"]
    await ann.register_workspace(**LAPTOP)
    again = Team(Calls(guarded.database, CATALOGUE, Settings(auth="on"), clock), clock)
    upload = {"workspace_id": LAPTOP_ID, "path": "a.md", "content": "x", "write_token": token}
    assert (await again.anyone(sync_caller()).upload_knowledge(**upload))["status"] == "created"
    assert (await again.anyone(agent_caller()).write_overview(content="# Here"))["version"] == 1


async def test_a_token_of_another_workspace_writes_nothing(guarded):
    sync = guarded.anyone(sync_caller())
    token = (await sync.register_workspace(**LAPTOP))["write_token"]
    other = (await sync.register_workspace(machine="desk", tool="codex", project="shop"))["workspace_id"]
    await refusal_of(
        "forbidden", sync.upload_knowledge(workspace_id=other, write_token=token, path="a.md", content="x")
    )
    assert await sync.list_knowledge(workspace_id=other) == {"files": [], "total": 0}


async def test_an_agent_writes_to_its_own_workspace_only(guarded):
    ann, bob = guarded.anyone(agent_caller()), guarded.anyone(agent_caller("bob", key="key_bob"))
    await ann.register_workspace(**LAPTOP)
    theirs = {"workspace_id": LAPTOP_ID}
    await refusal_of("forbidden", bob.write_overview(content="mine now", **theirs))
    await refusal_of("forbidden", bob.write_knowledge(path="a.md", content="mine now", **theirs))
    await ann.write_knowledge(path="a.md", content="hers")
    await refusal_of("forbidden", bob.delete_knowledge(path="a.md", **theirs))
    await refusal_of("forbidden", bob.restore_version(path="a.md", version=1, **theirs))
    assert (await bob.read_knowledge(path="a.md", **theirs))["content"] == "hers"


async def test_an_agent_without_a_workspace_is_told_to_register(guarded):
    await refusal_of("not_found", guarded.anyone(agent_caller()).write_overview(content="x"))


async def test_an_agent_writes_to_what_it_registered_last_unless_it_names_another(guarded, clock):
    ann = guarded.anyone(agent_caller(projects=EVERYWHERE))
    await ann.register_workspace(**LAPTOP)
    clock.advance(seconds=1)
    await ann.register_workspace(machine="desk", tool="codex", project="blog")
    written = [
        await ann.write_overview(content="a"),
        await ann.write_overview(content="b", workspace_id=LAPTOP_ID),
    ]
    assert [each["workspace_id"] for each in written] == ["desk-codex-blog", LAPTOP_ID]
    assert (await ann.get_overview())["your_workspace"] == "desk-codex-blog"


async def test_a_session_names_the_agent_that_is_bound(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.register_workspace(**LAPTOP)
    assert (await alice.write_overview(content="# Alice"))["workspace_id"] == LAPTOP_ID
    await refusal_of("not_found", bob.write_overview(content="# Bob"))
    assert (await alice.get_overview())["your_workspace"] == LAPTOP_ID
    assert "your_workspace" not in await bob.get_overview()


async def test_each_session_of_an_agent_writes_to_what_it_registered(team, clock):
    first, second = await team.agent("alice"), await team.agent("alice")
    await first.register_workspace(**LAPTOP)
    clock.advance(seconds=1)
    await second.register_workspace(machine="desk", tool="codex", project="shop")
    assert (await first.write_overview(content="a"))["workspace_id"] == LAPTOP_ID
    written = await second.write_knowledge(path="a.md", content="b")
    assert written["workspace_id"] == "desk-codex-shop"


async def test_workspaces_of_foreign_projects_look_like_none(guarded):
    owner = guarded.anyone(agent_caller(projects=EVERYWHERE))
    await owner.register_workspace(**LAPTOP)
    await owner.register_workspace(machine="vault", tool="codex", project="bank")
    await owner.write_knowledge(path="plan.md", content="the secret plan", workspace_id="vault-codex-bank")
    ann = guarded.anyone(agent_caller())
    theirs = {"workspace_id": "vault-codex-bank"}
    assert [each["workspace_id"] for each in (await ann.get_overview())["workspaces"]] == [LAPTOP_ID]
    assert (await ann.list_workspaces())["total"] == 1
    await refusal_of("forbidden", ann.list_workspaces(project="bank"))
    for running in (
        ann.get_overview(**theirs),
        ann.list_knowledge(**theirs),
        ann.read_knowledge(path="plan.md", **theirs),
        ann.search_knowledge(query="plan", **theirs),
        ann.list_versions(path="plan.md", **theirs),
        ann.write_overview(content="x", **theirs),
    ):
        foreign = await refusal_of("not_found", running)
        never = await refusal_of("not_found", ann.list_knowledge(workspace_id="no-such-one"))
        assert foreign.message == never.message.replace("no-such-one", "vault-codex-bank")
    for mode in ("smart", "literal", "regex"):
        assert await ann.search_knowledge(query="plan", mode=mode) == {"matches": [], "truncated": False}


async def test_workspaces_of_the_shared_project_are_read_by_all_and_written_by_few(guarded):
    owner = guarded.anyone(agent_caller(projects=EVERYWHERE))
    token = (
        await guarded.anyone(sync_caller(EVERYWHERE)).register_workspace(
            machine="hub", tool="codex", project="shared"
        )
    )["write_token"]
    ann, sync = guarded.anyone(agent_caller()), guarded.anyone(sync_caller())
    assert [each["workspace_id"] for each in (await ann.list_workspaces())["workspaces"]] == [
        "hub-codex-shared"
    ]
    upload = {"workspace_id": "hub-codex-shared", "path": "a.md", "content": "x", "write_token": token}
    await refusal_of("forbidden", sync.upload_knowledge(**upload))
    await owner.register_workspace(machine="hub", tool="codex", project="shared")
    assert (await owner.write_overview(content="for all"))["version"] == 1


@pytest.mark.parametrize("role", ["readonly", "agent", "admin", "owner", "sync"])
async def test_every_key_reads_the_workspaces_of_its_projects(guarded, role):
    await guarded.anyone(agent_caller()).register_workspace(**LAPTOP)
    await guarded.anyone(agent_caller()).write_knowledge(path="a.md", content="fish")
    reader = guarded.anyone(access.Caller(role, SHOP, "key_x"))
    assert (await reader.list_workspaces())["total"] == 1
    assert (await reader.read_knowledge(workspace_id=LAPTOP_ID, path="a.md"))["content"] == "fish"
    assert len((await reader.search_knowledge(query="fish", mode="literal"))["matches"]) == 1


def test_what_any_key_may_do_is_to_read_workspaces():

    acts = [act for tool in CATALOGUE.tools.values() for act in list_operations(tool) if act.role == "any"]
    assert {act.name for act in acts} <= {*CATALOGUE.toolsets["workspaces"], "list_sessions"}
    assert not any(act.writes for act in acts)


async def test_a_sync_key_still_reads_nothing_else(guarded):
    await refusal_of("forbidden", guarded.anyone(sync_caller()).search_global(session_id="x", query="fish"))
    await refusal_of("forbidden", guarded.anyone(sync_caller()).start_session(project="shop"))


async def test_a_limited_key_writes_only_where_it_may(guarded):
    free = guarded.anyone(sync_caller())
    tokens = {
        name: (await free.register_workspace(machine=name, tool="codex", project="shop"))["write_token"]
        for name in ("laptop", "desk", "tower")
    }
    limited = guarded.anyone(
        sync_caller(machines=frozenset({"laptop"}), workspaces=frozenset({"desk-codex-shop"}))
    )
    upload = {"path": "a.md", "content": "x"}
    for name in ("laptop", "desk"):
        done = await limited.upload_knowledge(
            workspace_id=f"{name}-codex-shop", write_token=tokens[name], **upload
        )
        assert done["status"] == "created"
    await refusal_of(
        "forbidden",
        limited.upload_knowledge(workspace_id="tower-codex-shop", write_token=tokens["tower"], **upload),
    )
    await refusal_of("forbidden", limited.register_workspace(machine="tower", tool="codex", project="shop"))
    await refusal_of("forbidden", limited.register_workspace(machine="other", tool="codex", project="shop"))
    assert (await limited.list_workspaces())["total"] == 3


async def test_a_limited_agent_is_not_bound_elsewhere(guarded):
    await guarded.anyone(agent_caller()).register_workspace(machine="desk", tool="codex", project="shop")
    same_name = guarded.anyone(agent_caller(key="key_2", machines=frozenset({"laptop"})))
    await refusal_of("forbidden", same_name.write_overview(content="x", workspace_id="desk-codex-shop"))
    assert (await same_name.register_workspace(**LAPTOP))["bound"]


async def test_create_key_limits_it_to_machines_and_workspaces(guarded):
    operator = guarded.anyone(access.OPERATOR)
    made = await operator.admin(
        action="create_key",
        name="m",
        role="sync",
        projects=["shop"],
        machines=["laptop"],
        workspaces=[LAPTOP_ID],
    )
    assert (made["machines"], made["workspaces"]) == (["laptop"], [LAPTOP_ID])
    [listed] = (await operator.admin(action="list_keys"))["keys"]
    assert (listed["machines"], listed["workspaces"]) == (["laptop"], [LAPTOP_ID])


async def test_create_key_gives_no_wider_limits_than_its_maker_has(guarded):
    maker = guarded.anyone(
        access.Caller("owner", EVERYWHERE, "key_owner", machines=frozenset({"laptop", "desk"}))
    )
    for wider in ({}, {"machines": ["tower"]}, {"workspaces": [LAPTOP_ID]}):
        await refusal_of("forbidden", maker.admin(action="create_key", name="x", **wider))
    assert (await maker.admin(action="create_key", name="x", machines=["desk"]))["status"] == "created"


async def test_registering_is_told_and_written_down(team):
    anyone = team.anyone()
    await anyone.register_workspace(**LAPTOP)
    await anyone.register_workspace(**LAPTOP)
    events = await team.database.read(
        lambda tx: tx.all("select kind, uri from event where project = $1 order by n", "shop")
    )
    assert [(each["kind"], each["uri"]) for each in events] == [
        ("WorkspaceRegistered", f"workspace://{LAPTOP_ID}")
    ]
    told = (await anyone.admin(action="audit_log", event_type="register_workspace"))["events"]
    assert {each["detail"].split()[0] for each in told} == {LAPTOP_ID}
    assert "cwt_" not in str(told)


async def test_deleting_the_project_frees_the_workspaces_name(team):
    anyone = team.anyone()
    await anyone.project(action="create", name="shop", session_id=(await team.agent("ann")).session_id)
    await anyone.register_workspace(**LAPTOP)
    alice = await team.agent("alice", project="other")
    await alice.project(action="delete", name="shop", confirm="shop")
    assert (await anyone.list_workspaces())["total"] == 0
    assert await anyone.register_workspace(**LAPTOP) | {"write_token": ""} == {
        "workspace_id": LAPTOP_ID,
        "created": True,
        "bound": True,
        "write_token": "",
    }
