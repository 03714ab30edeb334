"""A new version of a spec names the fields that changed, what may break its readers first."""

import msgspec
import pytest

from commonplace import errors
from team import Team

_OLD_SCHEMA = {
    "type": "object",
    "required": ["total"],
    "properties": {
        "voucher": {"type": "string"},
        "total": {"type": "number"},
        "currency": {"type": "string"},
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
    },
    "$defs": {"item": {"type": "object", "properties": {"sku": {"type": "string", "maxLength": 10}}}},
}
_NEW_SCHEMA = {
    "type": "object",
    "required": ["total", "currency", "paid"],
    "properties": {
        "total": {"type": "string"},
        "currency": {"type": "string"},
        "paid": {"type": "boolean"},
        "vouchers": {
            "type": "array",
            "items": {"type": "object", "properties": {"code": {"type": "string"}}},
        },
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
    },
    "$defs": {
        "item": {
            "type": "object",
            "properties": {"sku": {"type": "string", "maxLength": 20}, "qty": {"type": "integer"}},
        }
    },
}
_SCHEMA_CHANGES = (
    "fields -voucher, total: number -> string, now required: currency, +paid: boolean (required),"
    " items[].sku: maxLength 10 -> 20, +vouchers: array, +items[].qty: integer"
)


async def _publish(team: Team, old: dict, new: dict):
    """Publish both versions; the reader has read the first."""
    backend, frontend = await team.agent("backend"), await team.agent("frontend")
    await backend.define_spec(name="cart-api", **old)
    await frontend.get_spec(name="cart-api")
    return await backend.define_spec(name="cart-api", **new), frontend


async def test_every_reply_names_the_fields_that_changed(team: Team):
    defined, frontend = await _publish(
        team,
        {"content": "The cart.", "json_schema": _OLD_SCHEMA},
        {"content": "The cart.", "json_schema": _NEW_SCHEMA, "version": "2.0.0"},
    )
    assert defined["changes"] == _SCHEMA_CHANGES
    (notice,) = (await frontend.list_backlog())["_notice"]
    assert f"(you read 1.0.0, breaking): {_SCHEMA_CHANGES}. memory_get_spec has it" in notice
    await frontend.end_session(summary="done")
    again = await team.agent("frontend")
    assert again.started["interface_updates"][0]["changes"] == _SCHEMA_CHANGES
    assert (await again.get_spec(name="cart-api"))["changes"] == _SCHEMA_CHANGES


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        (
            '{"id": 1, "user": {"mail": "a"}}',
            '{"id": "1", "user": {"email": "a"}, "at": null}',
            "user.mail -> user.email (renamed?), id: number -> string, +at: null",
        ),
        ('{"user": {"mail": "a"}}', '{"user": {"email": "a"}}', "user.mail -> user.email (renamed?)"),
        ('[{"a": [1]}, {"b": 1}]', '[{"a": [true]}]', "-[].b, [].a[]: number -> boolean"),
        (
            "- total: number\n- code?: string",
            "- total: string\n- code: string",
            "total: number -> string, now required: code",
        ),
        (
            "GET /cart -> {items[], total}",
            "GET /cart -> {items[], sum: int}",
            "-GET /cart total, +GET /cart sum: int",
        ),
        (
            "interface Order {\n  id: string;\n}\ninterface Item {\n  id: string;\n}",
            "interface Order {\n  id: string;\n}\ninterface Item {\n  id: number | null;\n}",
            "Item.id: string -> number|null",
        ),
        (
            "GET /cart {total: int}\nGET /tax {rate: float}",
            "GET /cart {total: int}\nGET /rates {rate: float, day: date}",
            "-GET /tax, +GET /rates",
        ),
    ],
    ids=["example", "renamed", "list", "lines", "objects", "types", "endpoint"],
)
async def test_content_that_names_fields_is_compared_by_them(team: Team, old, new, changes):
    _, frontend = await _publish(team, {"content": old}, {"content": new})
    (notice,) = (await frontend.list_backlog())["_notice"]
    assert f": fields {changes}" in notice
    assert (await frontend.get_spec(name="cart-api"))["changes"].startswith(f"fields {changes}")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("GET /cart/{id}\nNote: string order matters", "GET /cart/{key}\nNote: order matters"),
        ('{"total": 1}', '{"total": 2}'),
        ("Time: see below", "Time: see above"),
    ],
    ids=["paths", "values", "prose"],
)
async def test_content_that_names_the_same_fields_is_compared_by_lines(team: Team, old, new):
    _, frontend = await _publish(team, {"content": old}, {"content": new})
    assert "fields" not in (await frontend.get_spec(name="cart-api"))["changes"]


async def test_a_schema_that_refers_to_itself_everywhere_is_compared_within_bounds(team: Team):
    branches = [{"properties": {"left": {"$ref": "#/$defs/node"}}} for _ in range(20)]
    node = {"allOf": [{"$ref": "#/$defs/node"}] * 20, "oneOf": [*branches, {"$ref": "#/$defs/node"}]}
    old = {"$defs": {"node": node}, "$ref": "#/$defs/node", "properties": {"a": {"type": "string"}}}
    new = old | {"properties": {"a": {"type": "number"}}}
    defined, _ = await _publish(
        team, {"content": "x", "json_schema": old}, {"content": "x", "json_schema": new}
    )
    assert "a: string -> number" in defined["changes"]


async def test_a_schema_of_very_many_references_is_compared_within_bounds(team: Team):
    defs = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(1200)} | {"d1200": {}}
    old, new = (
        {"$defs": defs, "$ref": "#/$defs/d0", "properties": {"a": {"type": kind}}}
        for kind in ("string", "number")
    )
    defined, _ = await _publish(
        team, {"content": "x", "json_schema": old}, {"content": "x", "json_schema": new}
    )
    assert defined["changes"] == "fields a: string -> number"


async def test_many_changed_fields_are_cut_short(team: Team):
    old, new = ({f"{word}_{number}": 1 for number in range(300)} for word in ("old", "new"))
    _, frontend = await _publish(
        team,
        {"content": msgspec.json.encode(old).decode()},
        {"content": msgspec.json.encode(new).decode()},
    )
    (notice,) = (await frontend.list_backlog())["_notice"]
    assert "fields -old_0, -old_1" in notice
    assert " more; " in notice
    assert len(notice) < 500
    assert len((await frontend.get_spec(name="cart-api"))["changes"]) < 2500


async def test_get_spec_of_a_range_of_versions_gives_only_what_changed(team: Team):
    text = "".join(f"GET /cart/{number}\n" for number in range(50))
    _, frontend = await _publish(
        team, {"content": text}, {"content": f"{text}PUT /cart\n", "version": "1.1.0"}
    )
    read = await frontend.get_spec(name="cart-api", version="1.0.0..1.1.0")
    assert (read["version"], read["since"], read["changes"]) == ("1.1.0", "1.0.0", "+ PUT /cart")
    assert (read["content"], {"to_change", "you_read"} & read.keys()) == ("", set())
    assert (await frontend.get_spec(name="cart-api", version="1.1.0.."))["changes"] == "The text is the same."
    assert (await frontend.get_spec(name="cart-api", version="1.1.0..1.0.0"))["changes"] == "- PUT /cart"


async def test_get_spec_since_what_was_read_gives_only_what_changed(team: Team):
    _, frontend = await _publish(team, {"content": "GET /cart"}, {"content": "GET /v2/cart"})
    read = await frontend.get_spec(name="cart-api", version="..")
    assert (read["since"], read["changes"]) == ("1.0.0", "- GET /cart\n+ GET /v2/cart")
    assert "_notice" not in await frontend.heartbeat()
    stranger = await team.agent("stranger")
    assert (await stranger.get_spec(name="cart-api", version=".."))["content"] == "GET /v2/cart"
    with pytest.raises(errors.NotFound):
        await stranger.get_spec(name="cart-api", version="0.9.0..")


async def test_get_spec_of_a_range_gives_the_content_if_most_of_it_is_new(team: Team):
    old, new = ("".join(f"{word} {number}\n" for number in range(20)) for word in ("old", "new"))
    _, frontend = await _publish(team, {"content": old}, {"content": new})
    read = await frontend.get_spec(name="cart-api", version="1.0.0..")
    assert (read["changes"], read["content"]) == ("mostly rewritten: read content", new)


async def test_define_spec_says_how_to_announce_fields_that_it_removed(team: Team):
    defined, _ = await _publish(
        team, {"content": "- total: int\n- tax: int"}, {"content": "- total: int", "version": "1.1.0"}
    )
    assert defined["changes"] == "fields -tax; +0 -1 lines"
    assert "It removes or changes fields" in defined["message"]
    assert "version='2.0.0'" in defined["message"]
    backend = await team.agent("backend")
    for version, content in (("1.2.0", "- total: int\n- vat: int"), ("2.0.0", "- sum: int")):
        assert "message" not in await backend.define_spec(name="cart-api", content=content, version=version)


async def test_define_spec_says_that_new_required_fields_break_no_reader(team: Team):
    def build_schema(*fields: str) -> dict[str, object]:
        return {
            "type": "object",
            "properties": {name: {"type": "string"} for name in fields},
            "required": [*fields],
        }

    defined, _ = await _publish(
        team,
        {"content": "Cart", "json_schema": build_schema("total")},
        {"content": "Cart", "json_schema": build_schema("total", "currency"), "version": "1.1.0"},
    )
    assert defined["changes"].startswith("fields +currency: string (required)")
    assert "It only adds fields, which breaks nobody who reads it" in defined["message"]
