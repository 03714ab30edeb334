"""What a reader is told of the changes between two versions of a spec."""

import pytest

from team import Team

_OLD = {
    "content": "# cart-api 2.0.0\n\nMoney is integer cents.\n\nAn unknown cart raises KeyError.",
    "json_schema": {"type": "object", "properties": {"quantity": {"type": "integer"}, "voucher": {}}},
    "version": "2.0.0",
}
_NEW = {
    "content": "# cart-api 2.1.0\n\nMoney is integer cents.\n\n`post_line(cart, sku)` adds a line.\n\n"
    "An unknown cart raises KeyError.",
    "json_schema": {"type": "object", "properties": {"quantity": {"type": "number"}, "vouchers": {}}},
    "version": "2.1.0",
}


async def _publish(team: Team, old: dict, new: dict):
    """Publish both versions; the reader has read the first."""
    backend, frontend = await team.agent("backend"), await team.agent("frontend")
    await backend.define_spec(name="cart-api", **old)
    await frontend.get_spec(name="cart-api")
    return await backend.define_spec(name="cart-api", **new), frontend


async def test_a_reader_gets_the_fields_and_a_unified_diff(team: Team):
    defined, frontend = await _publish(team, _OLD, _NEW)
    assert defined["changes"].startswith("fields -voucher, +vouchers; +4 -3 lines: removed")
    assert "version='3.0.0'" in defined["message"]
    (notice,) = (await frontend.list_backlog())["_notice"]
    assert f": {defined['changes']}. memory_get_spec has it" in notice
    only_changes = await frontend.get_spec(name="cart-api", version="2.0.0..2.1.0")
    assert (only_changes["since"], only_changes["content"], "json_schema" in only_changes) == (
        "2.0.0",
        "",
        False,
    )
    lines = only_changes["changes"].splitlines()
    assert lines[:8] == [
        "fields -voucher, +vouchers",
        "@@ -1,3 +1,4 @@",
        "-# cart-api 2.0.0",
        "+# cart-api 2.1.0",
        " Money is integer cents.",
        "+`post_line(cart, sku)` adds a line.",
        " An unknown cart raises KeyError.",
        "@@ -8,5 +9,5 @@",
    ]
    assert '-   "type": "integer"' in lines


async def test_get_spec_shows_what_changed_since_the_version_that_was_read(team: Team):
    _, frontend = await _publish(team, _OLD, _NEW)
    read = await frontend.get_spec(name="cart-api")
    assert (read["you_read"], read["content"]) == ("2.0.0", _NEW["content"])
    assert "+# cart-api 2.1.0" in read["changes"]
    assert "changes" not in await frontend.get_spec(name="cart-api")
    assert (await frontend.get_spec(name="cart-api", version="2.1.0.."))["changes"] == "The text is the same."


async def test_reading_an_older_version_does_not_forget_the_newer_one(team: Team):
    _, frontend = await _publish(team, {"content": "GET /cart"}, {"content": "GET /v2/cart"})
    await frontend.get_spec(name="cart-api")
    await frontend.get_spec(name="cart-api", version="1.0.0")
    assert "you_read" not in await frontend.get_spec(name="cart-api")


@pytest.mark.sqlite_only
@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (
            "a. " * 500 + "price: float. " + "b. " * 500,
            "a. " * 500 + "price: int. " + "b. " * 500,
            "price: int.",
        ),
        ("\n".join(map(str, range(2000))), "\n".join(map(str, range(1, 2002))), "-0\n"),
        ("x\ny\n" * 2000 + "v", "y\nx\n" * 2000 + "w", "mostly rewritten: read content"),
        ("kept\n" * 2100 + "old\n" * 1000, "kept\n" * 2100 + "new\n" * 1000, "1707 more lines: memory_get"),
    ],
    ids=["one long line", "many lines", "other order", "cut"],
)
async def test_changes_are_cut_to_what_fits(team: Team, old, new, shown):
    _, frontend = await _publish(team, {"content": old}, {"content": new})
    changes = (await frontend.get_spec(name="cart-api"))["changes"]
    assert shown in changes
    assert len(changes) <= 1700


async def test_get_spec_of_a_range_gives_the_content_if_most_of_it_is_new(team: Team):
    old, new = ("".join(f"{word} {number} of many\n" for number in range(400)) for word in ("old", "new"))
    _, frontend = await _publish(team, {"content": old}, {"content": new})
    read = await frontend.get_spec(name="cart-api", version="1.0.0..")
    assert (read["changes"], read["content"]) == ("mostly rewritten: read content", new)
