"""What a reader sees of the lines that changed between two versions of a spec."""

import pytest

from team import Team

_RULE = (
    "`post_voucher(cart, code)` adds a code, ValueError on an unknown one, " + "SAVE10 takes 10 % off, " * 5
)
_OLD_RULE = f"{_RULE}Lines added before count."
_NEW_RULE = f"{_RULE}Lines added later count, too."
_OLD = {
    "content": f"# cart-api 2.0.0\n\nMoney is integer cents.\n\n{_OLD_RULE}\n\nAn unknown cart raises KeyError.",
    "json_schema": {"properties": {"quantity": {"type": "integer"}}},
    "version": "2.0.0",
}
_NEW = {
    "content": f"# cart-api 2.1.0\n\nMoney is integer cents.\n\n`post_line(cart, sku)` adds a line.\n\n{_NEW_RULE}"
    "\n\n`delete_voucher(cart, code)` takes it off.\n\nAn unknown cart raises KeyError.",
    "json_schema": {"properties": {"quantity": {"type": "integer", "minimum": 1}}},
    "version": "2.1.0",
}


async def _publish(team: Team, old: dict, new: dict):
    """Publish both versions; the reader has read the first."""
    backend, frontend = await team.agent("backend"), await team.agent("frontend")
    await backend.define_spec(name="cart-api", **old)
    await frontend.get_spec(name="cart-api")
    return await backend.define_spec(name="cart-api", **new), frontend


async def test_get_spec_of_a_range_of_versions_gives_whole_lines(team: Team):
    _, frontend = await _publish(team, _OLD, _NEW)
    read = await frontend.get_spec(name="cart-api", version="2.0.0..2.1.0")
    assert read["changes"].splitlines() == [
        "fields quantity: minimum none -> 1",
        "- # cart-api 2.0.0",
        "+ # cart-api 2.1.0",
        "+ `post_line(cart, sku)` adds a line.",
        f"- {_OLD_RULE}",
        f"+ {_NEW_RULE}",
        "+ `delete_voucher(cart, code)` takes it off.",
    ]


async def test_get_spec_cuts_a_long_line_around_what_differs_and_names_the_call_for_all_of_it(team: Team):
    _, frontend = await _publish(team, _OLD, _NEW)
    lines = (await frontend.get_spec(name="cart-api"))["changes"].splitlines()
    assert lines[4:6] == [
        "- …off, SAVE10 takes 10 % off, Lines added before count.",
        "+ …off, SAVE10 takes 10 % off, Lines added later count, too.",
    ]
    assert lines[-1] == "(…: memory_get_spec(name='cart-api', version='2.0.0..') has whole lines)"


async def test_get_spec_of_a_range_cuts_a_very_long_line_around_what_differs(team: Team):
    old, new = ({"content": f"{'a ' * 1500}{word} {'b ' * 1500}"} for word in ("sooner", "later"))
    _, frontend = await _publish(team, old, new)
    lines = (await frontend.get_spec(name="cart-api", version="1.0.0.."))["changes"].splitlines()
    around = f"…{'a ' * 20}%s{' b' * 20}…"
    assert lines == [
        f"- {around % 'sooner'}",
        f"+ {around % 'later'}",
        "(…: memory_get_spec(name='cart-api') has the whole text)",
    ]


async def test_get_spec_cuts_a_line_without_spaces_around_what_differs(team: Team):
    old, new = ({"content": f"{'a,' * 1500}{word}{',b' * 1500}"} for word in ("sooner", "later"))
    _, frontend = await _publish(team, old, new)
    first = (await frontend.get_spec(name="cart-api", version="1.0.0.."))["changes"].splitlines()[0]
    assert "a,sooner,b" in first
    assert len(first) < 100


async def test_get_spec_shows_a_change_of_the_indentation(team: Team):
    _, frontend = await _publish(team, {"content": "cart:\n total: 1"}, {"content": "cart:\n   total: 1"})
    assert (await frontend.get_spec(name="cart-api"))["changes"] == "-  total: 1\n+    total: 1"


async def test_get_spec_says_that_only_blank_lines_changed(team: Team):
    _, frontend = await _publish(
        team, {"content": "GET /cart\nPUT /cart"}, {"content": "GET /cart\n\nPUT /cart"}
    )
    assert (await frontend.get_spec(name="cart-api"))["changes"] == "Only blank lines changed."


async def test_get_spec_does_not_repeat_a_text_that_is_mostly_new(team: Team):
    rules = [
        f"{word} follows a rule that is told in {'many ' * 20}words." for word in ("Tax", "Price", "Sum")
    ]
    old = "Money is integer cents.\nA cart has an owner.\nThe order of lines is kept.\nNo floats."
    new = "\n".join(["Money is integer cents.", *rules, "The order of lines is kept.", "No floats."])
    _, frontend = await _publish(team, {"content": old}, {"content": new})
    changes = (await frontend.get_spec(name="cart-api"))["changes"]
    assert changes == "- A cart has an owner.\n3 new lines: read content"
    only_changes = (await frontend.get_spec(name="cart-api", version="1.0.0.."))["changes"]
    assert only_changes == "\n".join(["- A cart has an owner.", *(f"+ {rule}" for rule in rules)])


async def test_define_spec_and_the_notice_name_what_is_new_in_the_text(team: Team):
    defined, frontend = await _publish(team, _OLD, _NEW)
    changes = "fields quantity: minimum none -> 1; +4 -2 lines: + `post_line(cart, sku)`, `delete_voucher(cart, code)`"
    assert defined["changes"] == changes
    (notice,) = (await frontend.list_backlog())["_notice"]
    assert f": {changes}. memory_get_spec has it" in notice


@pytest.mark.parametrize(
    ("lines", "named"),
    [
        (["GET /tax/{country} returns a rate"], ": + GET /tax/{country}"),
        (["## Rounding of sums"], ": + Rounding of sums"),
        (["- quantity: at least one"], ""),
        (["one", "two", "three", "four", "five"], ": + one, two, three and 2 more"),
    ],
    ids=["endpoint", "heading", "field that is named already", "many"],
)
async def test_define_spec_names_new_lines_by_what_they_are_about(team: Team, lines, named):
    text = "Money is integer cents."
    new = {**_NEW, "content": "\n".join([text, *lines])}
    defined, _ = await _publish(team, {**_OLD, "content": text}, new)
    assert defined["changes"] == f"fields quantity: minimum none -> 1; +{len(lines)} -0 lines{named}"


async def test_changes_of_a_paragraph_are_shown_by_sentence(team: Team):
    start = "What put() and take() return is one pantry item with name, quantity and unit. " * 3
    old = {"content": f"{start}take() of too much leaves 0. Units are g, ml and pc."}
    new = {
        "content": f"{start}take() of too much raises ValueError. Units are g, ml and pc.",
        "version": "2.0.0",
    }
    defined, frontend = await _publish(team, old, new)
    assert defined["changes"] == (
        '+1 -1 lines: removed "take() of too much leaves 0.", added "take() of too much raises ValueError."'
    )
    read = await frontend.get_spec(name="cart-api", version="1.0.0..")
    assert read["changes"] == "- take() of too much leaves 0.\n+ take() of too much raises ValueError."


async def test_reading_an_older_version_does_not_forget_the_newer_one(team: Team):
    _, frontend = await _publish(team, {"content": "GET /cart"}, {"content": "GET /v2/cart"})
    await frontend.get_spec(name="cart-api")
    await frontend.get_spec(name="cart-api", version="1.0.0")
    assert "you_read" not in await frontend.get_spec(name="cart-api")
