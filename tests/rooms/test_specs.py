"""Specs: one owner by identity, versions that only rise, and every one of them readable."""

import asyncio

import pytest

from commonplace import access, errors, events
from commonplace.clock import iso
from stream_server import serve_streams
from team import refuse_writes


async def _alice_and_bob(team):
    return await team.agent("alice"), await team.agent("bob")


async def _make_admin(team, name: str, project: str = "shop"):
    await team.database.write(
        lambda tx: tx.run("update agent set tier = 'admin' where project = $1 and name = $2", project, name)
    )


async def test_define_spec_creates_then_raises_the_patch(team):
    alice = await team.agent("alice")
    created = await alice.define_spec(name="cart-api", content="GET /cart")
    assert created == {
        "status": "created",
        "id": created["id"],
        "spec_name": "cart-api",
        "version": "1.0.0",
        "owner": "alice",
    }
    assert await alice.define_spec(name="cart-api", content="GET /cart, PUT /cart") == {
        "status": "updated",
        "id": created["id"],
        "spec_name": "cart-api",
        "version": "1.0.1",
        "owner": "alice",
        "previous_version": "1.0.0",
        "changes": '+1 -1 lines: removed "GET /cart", added "GET /cart, PUT /cart"',
        "message": "Published as 1.0.1; `notified` were told. If it breaks what its readers wrote, publish it again"
        " with version='2.0.0', which is announced to the whole project as breaking.",
    }
    stored = await team.database.read(lambda tx: events.list_events_after(tx, "shop", 0))
    assert [(event.uri, event.body["version"]) for event in stored if event.kind == "SpecChanged"] == [
        ("spec://shop/cart-api", "1.0.0"),
        ("spec://shop/cart-api", "1.0.1"),
    ]


async def test_define_spec_versions_rise_by_semantic_precedence(team):
    alice = await team.agent("alice")
    rising = (
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-rc.9",
        "1.0.0-rc.10",
        "1.0.0",
        "1.9.0",
        "1.10.0",
        "2.0.0-rc.1+b1",
    )
    for version in rising:
        assert (await alice.define_spec(name="api", content=version, version=version))["version"] == version
    for lower in ("1.10.0", "2.0.0-rc.1", "2.0.0-rc.1+b2", "2.0.0-beta", "1.99.99"):
        with pytest.raises(errors.Conflict) as refused:
            await alice.define_spec(name="api", content="x", version=lower)
        assert refused.value.details == {"current": "2.0.0-rc.1+b1"}
    assert (await alice.define_spec(name="api", content="released"))["version"] == "2.0.0"


@pytest.mark.parametrize("version", ["1.0", "v1.0.0", "01.0.0", "1.0.0-01", "latest", "1.0.0\n", "1.0.0.0"])
async def test_define_spec_refuses_what_is_no_version(team, version):
    alice = await team.agent("alice")
    with pytest.raises(errors.Invalid):
        await alice.define_spec(name="api", content="x", version=version)


async def test_define_spec_at_once_gives_every_version_once(team):
    alice = await team.agent("alice")
    made = await asyncio.gather(*(alice.define_spec(name="api", content=f"{n}") for n in range(10)))
    assert sorted(item["version"] for item in made) == [f"1.0.{n}" for n in range(10)]
    for item in made:
        spec = await alice.get_spec(name="api", version=item["version"])
        assert spec["version"] == item["version"]


async def test_define_spec_is_refused_to_who_does_not_own_it(team):
    alice, bob = await _alice_and_bob(team)
    await alice.define_spec(name="api", content="hers")
    for claim in ({}, {"owner": "bob"}, {"owner": "alice"}):
        with pytest.raises(errors.Forbidden):
            await bob.define_spec(name="api", content="his", **claim)
    spec = await bob.get_spec(name="api")
    assert (spec["content"], spec["owner"], spec["version"]) == ("hers", "alice", "1.0.0")


async def test_define_spec_names_another_owner_only_for_an_admin(team):
    alice, bob = await _alice_and_bob(team)
    with pytest.raises(errors.Forbidden):
        await alice.define_spec(name="api", content="x", owner="bob")
    await alice.define_spec(name="api", content="x")
    with pytest.raises(errors.Forbidden):
        await alice.define_spec(name="api", content="y", owner="bob")
    boss = await team.agent("boss")
    await _make_admin(team, "boss")
    moved = await boss.define_spec(name="api", content="z", owner="bob")
    assert (moved["owner"], moved["version"]) == ("bob", "1.0.1")
    with pytest.raises(errors.Forbidden):
        await alice.define_spec(name="api", content="mine again")
    assert (await bob.define_spec(name="api", content="his now"))["owner"] == "bob"
    assert (await boss.define_spec(name="api", content="mended"))["owner"] == "bob"


@pytest.mark.parametrize(("role", "allowed"), [("agent", False), ("admin", True), ("owner", True)])
async def test_define_spec_of_another_believes_the_role_of_the_key(team, role, allowed):
    alice = await team.agent("alice")
    await alice.define_spec(name="api", content="hers")
    await team.agent("boss")
    await _make_admin(team, "boss")
    keyed = await team.agent("boss", caller=access.Caller(role, frozenset({"shop"}), key="key_1"))
    if allowed:
        assert (await keyed.define_spec(name="api", content="mended"))["owner"] == "alice"
    else:
        with pytest.raises(errors.Forbidden):
            await keyed.define_spec(name="api", content="mended")


async def test_define_spec_refuses_a_readonly_key(team):
    reader = await team.agent("reader", caller=access.Caller("readonly", frozenset({"shop"}), key="key_1"))
    with pytest.raises(errors.Forbidden):
        await reader.define_spec(name="api", content="x")


async def test_define_spec_stores_a_valid_json_schema(team):
    alice = await team.agent("alice")
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["id"]}
    await alice.define_spec(name="cart", content="v1", json_schema=schema, tags=["cart"], spec_type="schema")
    await alice.define_spec(name="cart", content="v2")
    spec = await alice.get_spec(name="cart")
    assert (spec["json_schema"], spec["tags"], spec["spec_type"]) == (schema, ["cart"], "schema")


async def test_define_spec_refuses_more_than_fifty_kilobytes(team):
    alice = await team.agent("alice")
    for content in ("x" * (50 * 1024 + 1), "€" * 20_000):
        with pytest.raises(errors.TooLarge):
            await alice.define_spec(name="big", content=content)
    assert (await alice.define_spec(name="big", content="x" * 50 * 1024))["status"] == "created"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"properties": 3},
        {"required": "id"},
        {"pattern": "("},
        {"$schema": 5},
        {"$ref": "#/$defs/missing"},
        {"description": "x" * 60_000},
    ],
)
async def test_define_spec_refuses_what_is_no_json_schema(team, schema):
    alice = await team.agent("alice")
    with pytest.raises((errors.Invalid, errors.TooLarge)):
        await alice.define_spec(name="cart", content="x", json_schema=schema)
    with pytest.raises(errors.NotFound):
        await alice.get_spec(name="cart")


async def test_define_spec_never_fetches_what_a_schema_points_at(team):
    alice = await team.agent("alice")
    fetched = asyncio.Event()

    async def answer(*_: asyncio.StreamReader | asyncio.StreamWriter) -> None:
        fetched.set()

    async with serve_streams(answer) as server:
        elsewhere = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/schema"
        with pytest.raises(errors.Invalid):
            await alice.define_spec(name="a", content="x", json_schema={"$schema": elsewhere})
        for n, schema in enumerate(({"$ref": elsewhere}, {"$id": elsewhere, "$ref": "other"})):
            assert (await alice.define_spec(name=f"b{n}", content="x", json_schema=schema))[
                "status"
            ] == "created"
    assert not fetched.is_set()


async def test_define_spec_refuses_to_halve_a_state_unless_forced(team):
    alice = await team.agent("alice")
    await alice.define_spec(name="state:alice", content="x" * 100)
    assert (await alice.define_spec(name="state:alice", content="x" * 50))["version"] == "1.0.1"
    with pytest.raises(errors.Conflict) as refused:
        await alice.define_spec(name="state:alice", content="x" * 24)
    assert refused.value.details == {"current_length": 50}
    assert (await alice.define_spec(name="state:alice", content="x", force=True))["version"] == "1.0.2"
    await alice.define_spec(name="other", content="x" * 100)
    assert (await alice.define_spec(name="other", content="x"))["version"] == "1.0.1"


async def test_get_spec_reads_any_version(team, clock):
    alice = await team.agent("alice")
    first = await alice.define_spec(name="Cart API", content="v1", tags=["a"], spec_type="api")
    written = clock.now
    clock.advance(days=3)
    await alice.define_spec(name="Cart API", content="v2", version="2.0.0")
    assert await alice.get_spec(name="Cart API", version="1.0.0") == {
        "id": first["id"],
        "spec_name": "Cart API",
        "project": "shop",
        "version": "1.0.0",
        "latest_version": "2.0.0",
        "owner": "alice",
        "spec_type": "api",
        "content": "v1",
        "author": "alice",
        "tags": ["a"],
        "created": iso(written),
        "age": "3d",
    }
    assert (await alice.get_spec(name="Cart API"))["content"] == "v2"
    with pytest.raises(errors.NotFound) as refused:
        await alice.get_spec(name="Cart API", version="3.0.0")
    assert refused.value.details == {"latest": "2.0.0"}


async def test_get_spec_looks_in_the_own_project_then_in_the_shared_one(team):
    alice = await team.agent("alice")
    await alice.define_spec(name="style", content="shared", project="shared")
    await alice.define_spec(name="api", content="shared", project="shared")
    await alice.define_spec(name="api", content="own")
    assert (await alice.get_spec(name="style"))["project"] == "shared"
    assert (await alice.get_spec(name="api"))["content"] == "own"
    assert (await alice.get_spec(name="api", project="shared"))["content"] == "shared"
    with pytest.raises(errors.NotFound):
        await alice.get_spec(name="style", project="shop")


async def test_get_spec_refuses_a_project_outside_the_key(team):
    reader = await team.agent("reader", caller=access.Caller("readonly", frozenset({"shop"}), key="key_1"))
    with pytest.raises(errors.Forbidden):
        await reader.get_spec(name="api", project="web")


async def test_list_specs_names_them_with_their_versions(team, clock):
    alice = await team.agent("alice")
    await alice.define_spec(name="b", content="1", spec_type="api")
    await alice.define_spec(name="b", content="2")
    await alice.define_spec(name="a", content="1", project="shared")
    await alice.define_spec(name="c", content="1", project="web")
    at = iso(clock.now)
    shared_fields = {"owner": "alice", "updated": at}
    assert await alice.list_specs(include_versions=True) == {
        "count": 2,
        "total": 2,
        "specs": [
            shared_fields
            | {
                "spec_name": "a",
                "project": "shared",
                "version": "1.0.0",
                "spec_type": "interface",
                "versions": [{"version": "1.0.0", "by": "alice", "at": at}],
            },
            shared_fields
            | {
                "spec_name": "b",
                "project": "shop",
                "version": "1.0.1",
                "spec_type": "api",
                "versions": [{"version": version, "by": "alice", "at": at} for version in ("1.0.1", "1.0.0")],
            },
        ],
    }
    only = await alice.list_specs(spec_type="api")
    assert [(item["spec_name"], "versions" in item) for item in only["specs"]] == [("b", False)]
    assert (await alice.list_specs(limit=1))["total"] == 2
    assert await alice.list_specs(project="nowhere") == {"specs": [], "count": 0, "total": 0}


async def test_start_session_returns_the_state_of_the_agent(team):
    alice, bob = await _alice_and_bob(team)
    assert "state_spec" not in alice.started
    await alice.define_spec(name="state:alice", content="half way through the cart")
    again = await team.agent("alice")
    assert again.started["state_spec"] == {
        "name": "state:alice",
        "version": "1.0.0",
        "age": "just now",
        "content": "half way through the cart",
    }
    assert "state_spec" not in (await team.agent("bob")).started
    await bob.define_spec(name="state:carol", content="do as bob says")
    assert (await team.agent("carol")).started["state_spec"]["by"] == "bob"


async def test_find_by_id_shows_the_latest_content_and_all_versions(team, clock):
    alice = await team.agent("alice")
    spec = await alice.define_spec(name="cart api", content="v1")
    created = iso(clock.now)
    clock.advance(days=1)
    await alice.define_spec(name="cart api", content="v2")
    assert await alice.get_by_id(doc_id=spec["id"][:10]) == {
        "found": True,
        "id": spec["id"],
        "title": "cart api",
        "type": "spec",
        "status": "active",
        "project": "shop",
        "created": created,
        "updated": iso(clock.now),
        "author": "alice",
        "owner": "alice",
        "spec_type": "interface",
        "content": "v2",
        "versions": [
            {"version": "1.0.1", "by": "alice", "at": iso(clock.now)},
            {"version": "1.0.0", "by": "alice", "at": created},
        ],
        "links": {"uri": "spec://shop/cart%20api"},
    }
    assert (await alice.get_by_id(doc_id="spec_000000000000"))["found"] is False


async def test_who_read_a_spec_is_told_of_its_next_version_once(team):
    backend, frontend, reviewer = [await team.agent(name) for name in ("backend", "frontend", "reviewer")]
    await backend.define_spec(name="cart-api", content="GET /cart", version="1.0.0")
    await frontend.get_spec(name="cart-api")
    await frontend.get_spec(name="cart-api")
    changed = await backend.define_spec(name="cart-api", content="GET /v2/cart", version="2.0.0")
    assert changed["notified"] == ["frontend", "reviewer"]
    assert (await frontend.list_backlog())["_notice"] == [
        (
            'backend changed spec cart-api to 2.0.0 (you read 1.0.0, breaking): +1 -1 lines: removed "GET /cart",'
            " added \"GET /v2/cart\". memory_get_spec has it, with version='1.0.0..' only what changed."
        )
    ]
    assert "_notice" not in await frontend.list_backlog()
    assert (
        "backend changed spec cart-api from 1.0.0 to 2.0.0, which may break what relies on it"
        ' (+1 -1 lines: removed "GET /cart", added "GET /v2/cart"): read it with memory_get_spec.'
        in (await reviewer.list_backlog())["_notice"]
    )
    assert "_notice" not in await backend.list_backlog()
    await frontend.get_spec(name="cart-api")
    await backend.define_spec(name="cart-api", content="GET /v3/cart", version="3.0.0")
    (notice,) = (await frontend.list_backlog())["_notice"]
    assert "(you read 2.0.0, breaking)" in notice


async def test_get_spec_of_an_unknown_name_says_what_whoever_is_to_write_it_calls(team):
    alice = await team.agent("alice")
    with pytest.raises(errors.NotFound) as refused:
        await alice.get_spec(name="cart-api")
    assert "if it is yours to write: memory_define_spec" in refused.value.hint


async def test_an_agent_that_started_anew_is_told_of_the_next_version_of_what_it_read(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.define_spec(name="pricing", content="GET /price: cents")
    await bob.get_spec(name="pricing")
    await bob.end_session(summary="read it")
    bob = await team.agent("bob")
    told = await alice.define_spec(name="pricing", version="1.1.0", content="GET /price: cents, currency")
    assert told["notified"] == ["bob"]
    (notice,) = (await bob.heartbeat())["_notice"]
    assert "spec pricing to 1.1.0 (you read 1.0.0)" in notice


async def test_minor_version_is_told_to_its_readers_only(team):
    backend, frontend, reviewer = [await team.agent(name) for name in ("backend", "frontend", "reviewer")]
    await backend.define_spec(name="cart-api", content="GET /cart", version="1.0.0")
    await frontend.get_spec(name="cart-api")
    assert len((await reviewer.list_backlog())["_notice"]) == 1
    changed = await backend.define_spec(name="cart-api", content="GET /cart?all", version="1.1.0")
    assert (changed["notified"], "_notice" in await reviewer.list_backlog()) == (["frontend"], False)


async def test_a_reader_in_another_project_is_told_of_a_shared_spec(team):
    backend, carl = await team.agent("backend"), await team.agent("carl", project="bank")
    await backend.define_spec(name="money", content="cents", project="shared")
    await carl.get_spec(name="money")
    await backend.define_spec(name="money", content="whole cents", project="shared")
    assert len((await carl.list_backlog())["_notice"]) == 1


async def test_the_next_boot_pack_names_the_specs_that_changed_since_the_agent_read_them(team):
    backend, frontend = await team.agent("backend"), await team.agent("frontend")
    await backend.define_spec(name="cart-api", content="GET /cart", version="1.0.0")
    await frontend.get_spec(name="cart-api")
    await frontend.end_session(summary="done")
    await backend.define_spec(name="cart-api", content="GET /v2/cart", version="2.0.0")
    again = await team.agent("frontend")
    (update,) = again.started["interface_updates"]
    assert (update["interface"], update["version"], update["you_read"], update["owner"]) == (
        "cart-api",
        "2.0.0",
        "1.0.0",
        "backend",
    )
    await again.get_spec(name="cart-api")
    assert "interface_updates" not in (await team.agent("frontend")).started


async def test_get_spec_answers_although_the_reader_cannot_be_recorded(team):
    alice, bob = await _alice_and_bob(team)
    await alice.define_spec(name="cart-api", content="GET /cart")
    async with refuse_writes(team.database):
        assert (await bob.get_spec(name="cart-api"))["content"] == "GET /cart"
    await bob.get_spec(name="cart-api")
    await alice.define_spec(name="cart-api", content="GET /cart/1")
    assert len((await bob.list_specs())["_notice"]) == 1


async def test_live_sessions_are_told_of_a_new_spec(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.define_spec(name="orders-api", content="GET /orders")
    assert (await bob.heartbeat())["_notice"] == [
        "alice published spec orders-api 1.0.0: read it with memory_get_spec."
    ]
    assert "_notice" not in await alice.heartbeat()


async def test_define_spec_says_that_it_is_breaking_and_who_read_which_version(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    first = await alice.define_spec(name="cart-api", content="GET /cart")
    assert "breaking" not in first
    await bob.get_spec(name="cart-api")
    minor = await alice.define_spec(name="cart-api", content="GET /cart, POST /cart", version="1.1.0")
    assert ("breaking" not in minor, minor["read_before"]) == (True, {"bob": "1.0.0"})
    major = await alice.define_spec(name="cart-api", content="GET /basket", version="2.0.0")
    assert (major["breaking"], major["notified"], major["read_before"]) == (True, ["bob"], {"bob": "1.0.0"})


async def test_start_session_does_not_tell_an_agent_of_its_own_version(team):
    """Not even if a second window of the agent read an earlier version."""
    alice, window = await team.agent("alice"), await team.agent("alice")
    await alice.define_spec(name="cart-api", content="GET /cart")
    await window.get_spec(name="cart-api")
    await alice.define_spec(name="cart-api", content="GET /cart?all", version="2.0.0")
    await alice.get_spec(name="cart-api", version="1.0.0")
    await alice.end_session(summary="done")
    assert "interface_updates" not in (await team.agent("alice")).started


async def test_define_spec_of_another_says_whether_the_owner_is_there_and_what_to_call(team, clock):
    alice, bob = await _alice_and_bob(team)
    await alice.define_spec(name="cart-api", content="GET /cart")
    with pytest.raises(errors.Forbidden, match="alice is live") as refused:
        await bob.define_spec(name="cart-api", content="mine")
    assert "memory_send_message(to_instance='alice', category='contract'" in refused.value.hint
    await alice.end_session(summary="home")
    left_at = iso(clock.now)
    clock.advance(minutes=60)
    with pytest.raises(errors.Forbidden, match=f"alice is offline since {left_at}") as refused:
        await bob.define_spec(name="cart-api", content="mine", owner="bob")
    assert "take it over" not in refused.value.hint


async def test_readers_of_a_spec_are_told_whom_to_ask_for_a_change(team):
    alice, bob = await _alice_and_bob(team)
    await alice.define_spec(name="cart-api", content="GET /cart")
    assert "to_change" not in await alice.get_spec(spec_name="cart-api")
    assert (await bob.get_spec(spec_name="cart-api"))["to_change"].startswith("Only alice or an admin can;")
    assert [spec.get("to_change") for spec in (await bob.list_specs())["specs"]] == ["ask alice"]
    assert [spec.get("to_change") for spec in (await alice.list_specs())["specs"]] == [None]
    shown = [
        (await team.agent(name, task_description="the cart API")).started["specs"][0].get("to_change")
        for name in ("alice", "bob")
    ]
    assert shown == [None, "ask alice"]
    await _make_admin(team, "bob")
    assert "to_change" not in await bob.get_spec(name="cart-api")


async def test_new_spec_of_a_person_without_a_session_cannot_be_taken_over(team, clock):
    bob = await team.agent("bob")
    person = team.anyone(access.OPERATOR)
    await person.define_spec(project="shop", name="cart-api", content="GET /cart")
    clock.advance(days=6)
    with pytest.raises(errors.Forbidden):
        await bob.define_spec(name="cart-api", content="mine", owner="bob")


async def test_spec_of_an_owner_that_was_away_for_a_week_can_be_taken_over(team, clock):
    alice, bob = await _alice_and_bob(team)
    await alice.define_spec(name="cart-api", content="GET /cart")
    await alice.end_session(summary="home")
    clock.advance(days=8)
    bob = await team.agent("bob")
    with pytest.raises(errors.Forbidden) as refused:
        await bob.define_spec(name="cart-api", content="mine")
    assert refused.value.hint.startswith("To take it over, call again with owner='bob'")
    assert (await bob.define_spec(name="cart-api", content="mine", owner="bob"))["owner"] == "bob"
    alice = await team.agent("alice")
    [mail] = (await alice.get_messages())["messages"]
    assert (mail["from"], mail["subject"]) == ("bob", "Spec cart-api has a new owner")
    with pytest.raises(errors.Forbidden):
        await alice.define_spec(name="cart-api", content="back")


async def test_get_spec_tells_its_owner_which_version_each_agent_opened_last(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.define_spec(name="cart", content="GET /cart")
    await bob.get_spec(name="cart")
    await alice.define_spec(name="cart", content="GET /cart and more", version="2.0.0")
    assert (await alice.get_spec(name="cart"))["readers"] == {"bob": "1.0.0"}
    assert "readers" not in await bob.get_spec(name="cart")
    assert (await alice.get_spec(name="cart"))["readers"] == {"bob": "2.0.0"}


async def test_versions_that_are_published_at_once_are_each_compared_with_the_one_before(team):
    alice = await team.agent("alice")
    await alice.define_spec(name="cart", content="a")
    defined = await asyncio.gather(*(alice.define_spec(name="cart", content=text) for text in ("b", "c")))
    first, second = sorted(defined, key=lambda each: each["version"])
    assert (first["previous_version"], second["previous_version"]) == ("1.0.0", first["version"])
    assert 'removed "a"' not in second["changes"]


async def test_list_specs_of_every_project(team):
    alice = await team.agent("alice")
    carl = await team.agent("carl", project="bank")
    await alice.define_spec(name="cart", content="GET /cart")
    await carl.define_spec(name="account", content="GET /account")
    listed = (await alice.list_specs(project="*", include_versions=True))["specs"]
    assert [(spec["project"], spec["spec_name"], len(spec["versions"])) for spec in listed] == [
        ("bank", "account", 1),
        ("shop", "cart", 1),
    ]
