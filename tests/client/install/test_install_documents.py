"""Whatever a settings file looks like: what is added can be taken away, and nothing else moves."""

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace import errors
from commonplace.client.install import documents, json_edits, jsonc, toml_edits
from commonplace.client.install.setting_edits import AppendElement, PutValue

ENTRY = {"type": "http", "url": "http://127.0.0.1:8080/mcp", "headers": {"Authorization": "Bearer é"}}
HOOK = {
    "matcher": "Edit",
    "hooks": [{"type": "command", "command": "commonplace hook claude", "timeout": 10}],
}
SERVER = ("mcpServers", "commonplace")
STOP = ("hooks", "Stop")

blanks = st.text(" \t\n", max_size=3)
comments = st.sampled_from(["", "", "", "/* , } */", "// ] , \n", '// "x": 1  \n', "/**/", "/* a\n b */"])
space = st.builds("{}{}{}".format, blanks, comments, blanks)
scalars = st.sampled_from(
    ['"a"', '"// no"', '"é\\"}"', "-1.50e3", "0", "true", "false", "null", '"\\u00e9"', '""']
)


def _joined(items: list[str], trailing: bool, end: str, brackets: str) -> str:
    comma = "," if items and trailing else ""
    return brackets[0] + ",".join(items) + comma + end + brackets[1]


def _objects(values: st.SearchStrategy[str], keys: list[str]) -> st.SearchStrategy[str]:
    pair = st.builds('{}"{}"{}:{}{}{}'.format, space, st.sampled_from(keys), space, space, values, space)
    return st.builds(_joined, st.lists(pair, max_size=3), st.booleans(), space, st.just("{}"))


def _arrays(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    element = st.builds("{}{}{}".format, space, values, space)
    return st.builds(_joined, st.lists(element, max_size=3), st.booleans(), space, st.just("[]"))


values = st.recursive(scalars, lambda inner: _objects(inner, ["a", "b", "c"]) | _arrays(inner), max_leaves=6)
others = st.builds('{}"{}"{}:{}{}{}'.format, space, st.sampled_from(["a", "z"]), space, space, values, space)
servers = st.builds('{}"mcpServers":{}{}{}'.format, space, space, _objects(values, ["a", "b"]), space)
stops = st.builds('{}"Stop":{}{}{}'.format, space, space, _arrays(values), space)
starts = st.builds('{}"Start":{}{}'.format, space, values, space)
handlers = st.builds(_joined, st.lists(stops | starts, max_size=2), st.booleans(), space, st.just("{}"))
hooks = st.builds('{}"hooks":{}{}{}'.format, space, space, handlers, space)
roots = st.builds(
    _joined, st.lists(others | servers | hooks, max_size=4), st.booleans(), space, st.just("{}")
)
json_texts = st.builds(
    lambda before, root, after, newline: (before + root + after).replace("\n", newline).encode(),
    space,
    roots,
    space,
    st.sampled_from(["\n", "\r\n"]),
)


def _strict(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@settings(max_examples=80, deadline=None)
@given(json_texts)
@pytest.mark.slow
def test_json_is_the_same_bytes_after_adding_and_taking_away(text: bytes):
    before = jsonc.parse(text).to_python()
    with_server, server = json_edits.put_value(text, SERVER, ENTRY)
    with_both, hook = json_edits.append_element(with_server, STOP, HOOK)

    wanted = before | {"mcpServers": before.get("mcpServers", {}) | {"commonplace": ENTRY}}
    handlers = wanted.get("hooks", {})
    wanted["hooks"] = handlers | {"Stop": [*handlers.get("Stop", []), HOOK]}
    assert jsonc.parse(with_both).to_python() == wanted
    assert _strict(with_both) or not _strict(text)
    assert json_edits.put_value(with_both, SERVER, ENTRY)[0] == with_both
    assert json_edits.append_element(with_both, STOP, HOOK)[0] == with_both
    assert json_edits.undo_edit(json_edits.undo_edit(with_both, hook), server) == text
    assert json_edits.undo_edit(with_server, server) == text


@settings(max_examples=60, deadline=None)
@given(json_texts, st.sampled_from([("mcpServers", "mine"), ("z",), ("hooks", "Other"), ("mcpServers", "a")]))
@pytest.mark.slow
def test_json_keeps_what_was_added_since_when_ours_is_taken_away(text: bytes, place: tuple[str, ...]):
    changed, server = json_edits.put_value(text, SERVER, ENTRY)
    changed, hook = json_edits.append_element(changed, STOP, HOOK)
    changed, _ = json_edits.put_value(changed, place, {"by": "the user"})
    left = json_edits.undo_edit(json_edits.undo_edit(changed, hook), server)
    expected = jsonc.parse(json_edits.put_value(text, place, {"by": "the user"})[0]).to_python()
    assert jsonc.parse(left).to_python() == expected
    assert _strict(left) or not _strict(text)


@settings(max_examples=30, deadline=None)
@given(json_texts)
@pytest.mark.slow
def test_json_gets_back_the_value_that_was_replaced(text: bytes):
    edited, _ = json_edits.put_value(text, SERVER, {"url": "http://elsewhere"})
    changed, edit = json_edits.put_value(edited, SERVER, ENTRY)
    assert json_edits.undo_edit(changed, edit) == edited


names = st.sampled_from(["alpha", "beta", '"with space"', "gamma-1"])
toml_values = st.sampled_from(
    ['"x"', "1", "[1, 2,\n  3]", '"""\n# no\n[x]\n"""', "{ a = 1 }", "'C:\\x'", "1979-05-27"]
)
remarks = st.sampled_from(["", "", "  # why", "#"])
lines = st.builds("{} = {}{}\n".format, names, toml_values, remarks)
gaps = st.sampled_from(["", "\n", "# a remark\n", "\n\n", "  \n"])


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    def body() -> str:
        keys = draw(st.lists(names, unique=True, max_size=3))
        return "".join(draw(gaps) + f"{key} = {draw(toml_values)}{draw(remarks)}\n" for key in keys)

    text = draw(gaps) + body()
    if draw(st.integers(0, 4)) == 0:
        text += 'mcp_servers = { other = { command = "y" } } # all in one\n'
        headers = ["[one]", "[[many]]", "[two.deep]"]
    else:
        headers = [
            "[one]",
            "[mcp_servers]",
            "[mcp_servers.other]",
            "[[many]]",
            "[mcp_servers.other.env]",
            "[two.deep]",
        ]
    for header in draw(st.lists(st.sampled_from(headers), unique=True)):
        text += draw(gaps) + f"{header}{draw(remarks)}\n" + body()
    text = text.rstrip("\n") if draw(st.booleans()) else text
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def _known(text: str) -> bool:
    """The generator may declare a table after what it holds, which TOML forbids."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


CODEX = ("mcp_servers", "commonplace")
CODEX_ENTRY = {"url": "http://127.0.0.1:8080/mcp", "http_headers": {"Authorization": "Bearer x"}}


@settings(max_examples=80, deadline=None)
@given(toml_texts().filter(_known))
@pytest.mark.slow
def test_toml_is_the_same_bytes_after_adding_and_taking_away(text: str):
    before = tomllib.loads(text)
    with_url, url = toml_edits.put_toml_value(text, ("url",), "http://x")
    with_both, server = toml_edits.put_toml_value(with_url, CODEX, CODEX_ENTRY)
    servers = before.get("mcp_servers", {}) | {"commonplace": CODEX_ENTRY}
    assert tomllib.loads(with_both) == before | {"url": "http://x", "mcp_servers": servers}
    assert toml_edits.put_toml_value(with_both, CODEX, CODEX_ENTRY)[0] == with_both
    assert toml_edits.undo_toml_edit(toml_edits.undo_toml_edit(with_both, server), url) == text


@settings(max_examples=50, deadline=None)
@given(
    toml_texts().filter(_known), st.sampled_from(['\n[mcp_servers.mine]\nurl = "u"\n', "\n[mine]\nx = 1\n"])
)
def test_toml_keeps_what_was_added_since_when_ours_is_taken_away(text: str, addition: str):
    changed, edit = toml_edits.put_toml_value(text, CODEX, CODEX_ENTRY)
    if not _known(changed + addition):
        return
    before = tomllib.loads(changed + addition)
    del before["mcp_servers"]["commonplace"]
    if not before["mcp_servers"] and "mcp_servers" not in tomllib.loads(text):
        del before["mcp_servers"]
    assert tomllib.loads(toml_edits.undo_toml_edit(changed + addition, edit)) == before


def test_toml_gets_back_the_entry_that_was_replaced():
    original = '[mcp_servers.commonplace] # mine\nurl    =   "http://elsewhere"\n\n[other]\nx = 1\n'
    changed, edit = toml_edits.put_toml_value(original, CODEX, CODEX_ENTRY)
    assert tomllib.loads(changed)["mcp_servers"]["commonplace"] == CODEX_ENTRY
    assert toml_edits.undo_toml_edit(changed, edit) == original
    later = toml_edits.undo_toml_edit(changed + "y = 2\n", edit)
    assert tomllib.loads(later) == tomllib.loads(original + "y = 2\n")


ENTRIES = st.sampled_from(
    [
        "[mcp_servers.commonplace] # mine\nurl    =   'http://elsewhere'   # x\n",
        "[mcp_servers.commonplace]\nargs = [\n  'a', # why\n]\n\n# remark\n[mcp_servers.commonplace.env]\nA='b'\n",
        "[mcp_servers]\ncommonplace = { url='u', env = {a=1} } # x\n",
        "[mcp_servers]\ncommonplace.url = 'u'\n",
    ]
)


@settings(max_examples=60, deadline=None)
@given(
    toml_texts().filter(_known),
    ENTRIES,
    st.sampled_from(["", "\n# after\n[mine]\nx = 'y'  # z\n", "\n[[rows]]\nurl = 'u'\n"]),
    st.booleans(),
)
def test_toml_gets_back_to_the_byte_what_was_replaced(text: str, entry: str, addition: str, ended: bool):
    newline = "\r\n" if "\r\n" in text else "\n"
    entry, addition = entry.replace("\n", newline), addition.replace("\n", newline)
    theirs = text + newline + (entry if ended or addition else entry.rstrip("\r\n"))
    if not _known(theirs) or not _known(theirs + addition):
        return
    changed, edit = toml_edits.put_toml_value(theirs, CODEX, CODEX_ENTRY)
    assert tomllib.loads(changed)["mcp_servers"]["commonplace"] == CODEX_ENTRY
    assert newline == "\n" or "\n" not in changed.replace("\r\n", "")
    assert toml_edits.undo_toml_edit(changed + addition, edit) == theirs + addition


def test_toml_entry_keeps_to_its_line_whatever_follows_now():
    changed, edit = toml_edits.put_toml_value("url='http://a'", ("url",), "http://b")
    assert changed == 'url = "http://b"'
    assert toml_edits.undo_toml_edit(changed, edit) == "url='http://a'"
    assert toml_edits.undo_toml_edit(f"{changed}\nx = 1\n", edit) == "url='http://a'\nx = 1\n"


def test_toml_key_of_a_table_is_added_below_its_header_and_taken_away_to_the_byte():
    for text in (
        "[hooks]\nminutes=5",
        "[hooks]\r\nminutes=5 # x\r\n\r\n[other]\r\nlearnings = 3\r\n",
        "[hooks]",
    ):
        changed, edit = toml_edits.put_toml_value(text, ("hooks", "learnings"), 3)
        assert tomllib.loads(changed)["hooks"]["learnings"] == 3
        assert toml_edits.undo_toml_edit(f"a = 1\n{changed}", edit) == f"a = 1\n{text}"


@pytest.mark.parametrize(
    "broken",
    [
        b'{"a": 1',
        b'{"a" 1}',
        b"{'a': 1}",
        b"{a: 1}",
        b'{"a": 1} {}',
        b'{"a": 1,, "b": 2}',
        b"[1, 2",
        b"1)",
        b"nope",
        b'{"a": 0x1}',
        b'{"a": undefined}',
        b'{"a": `x`}',
        b"{...b}",
        b'{"a": "\xff"}',
        b"\xff\xfe{\x00}\x00",
        b"{,}",
    ],
)
def test_json_that_can_not_be_read_is_refused_with_its_line(broken: bytes):
    path = Path("settings.json")
    with pytest.raises(errors.Invalid) as refused:
        documents.apply_edit(path, b"\n" + broken, PutValue(path, SERVER, ENTRY), None)
    assert "settings.json" in refused.value.message
    assert "line " in refused.value.message


def test_the_line_of_a_fault_is_told():
    path = Path("settings.json")
    with pytest.raises(errors.Invalid, match="line 3"):
        documents.apply_edit(path, b'{\n  "a": 1,\n  "b": oops\n}', PutValue(path, SERVER, ENTRY), None)
    with pytest.raises(errors.Invalid, match="line 2"):
        documents.apply_edit(Path("c.toml"), b"a = 1\nb = \n", PutValue(Path("c.toml"), CODEX, {}), None)


@pytest.mark.parametrize(
    "text", [b'{"mcpServers": []}', b'{"mcpServers": null}', b"[]", b'{"mcpServers": "x"}']
)
def test_json_of_another_shape_is_refused(text: bytes):
    path = Path("settings.json")
    with pytest.raises(errors.Conflict):
        documents.apply_edit(path, text, PutValue(path, SERVER, ENTRY), None)


def test_a_hook_is_added_beside_what_is_nothing():
    text = b'{"hooks": {"Stop": [null]}}'
    changed, edit = json_edits.append_element(text, STOP, HOOK)
    assert jsonc.parse(changed).to_python() == {"hooks": {"Stop": [None, HOOK]}}
    assert json_edits.undo_edit(changed, edit) == text


def test_a_hook_that_was_changed_since_is_still_taken_away():
    text, edit = json_edits.append_element(b'{"hooks": {"Stop": [{"hooks": [1]}]}}', STOP, HOOK)
    slower = text.replace(b'"timeout": 10', b'"timeout": 60')
    assert json_edits.undo_edit(slower, edit) == b'{"hooks": {"Stop": [{"hooks": [1]}]}}'


def test_a_hook_that_somebody_put_into_our_group_stays():
    text, edit = json_edits.append_element(b"{}", STOP, HOOK)
    shared = text.replace(
        b'"hooks": [\n          {', b'"hooks": [\n          {"command": "mine"},\n          {'
    )
    left = jsonc.parse(json_edits.undo_edit(shared, edit)).to_python()
    assert left == {"hooks": {"Stop": [{"matcher": "Edit", "hooks": [{"command": "mine"}]}]}}


def test_a_hook_that_its_user_changed_is_not_added_again_and_every_copy_is_taken_away():
    text, edit = json_edits.append_element(b'{"hooks": {"Stop": [{"hooks": [1]}]}}', STOP, HOOK)
    narrower = text.replace(b'"matcher": "Edit"', b'"matcher": "startup"')
    assert json_edits.append_element(narrower, STOP, HOOK, HOOK)[0] == narrower
    changed = jsonc.parse(narrower).to_python()
    changed["hooks"]["Stop"] += [HOOK, {"hooks": [*HOOK["hooks"], {"command": "mine"}]}, HOOK["hooks"][0]]
    left = jsonc.parse(json_edits.undo_edit(json.dumps(changed).encode(), edit)).to_python()
    assert left == {"hooks": {"Stop": [{"hooks": [1]}, {"hooks": [{"command": "mine"}]}]}}


def test_a_hook_that_its_user_changed_runs_another_program_when_ours_has_moved():
    text, edit = json_edits.append_element(b"{}", STOP, HOOK)
    slower = text.replace(b'"timeout": 10', b'"timeout": 60')
    moved = json.loads(json.dumps(HOOK).replace("commonplace hook", "/opt/commonplace hook"))
    changed, _ = json_edits.append_element(slower, STOP, moved, edit.value)
    assert jsonc.parse(changed).to_python() == {"hooks": {"Stop": [moved]}}


def test_what_is_added_is_laid_out_like_the_rest():
    text = b'{\r\n\t"mcpServers": {\r\n\t\t"a": {} // first\r\n\t}\r\n}\r\n'
    path = Path("settings.json")
    changed, _ = documents.apply_edit(path, text, PutValue(path, SERVER, {"url": "u"}), None)
    assert changed == (
        b'{\r\n\t"mcpServers": {\r\n\t\t"a": {}, // first\r\n'
        b'\t\t"commonplace": {\r\n\t\t\t"url": "u"\r\n\t\t}\r\n\t}\r\n}\r\n'
    )


@pytest.mark.parametrize(
    "text", [b"\xef\xbb\xbf{ }", b"\xef\xbb\xbf", b" \r\n", b"{}", b"{\n}\n", b"{ /* x */ }"]
)
def test_marks_and_blanks_survive(text: bytes):
    path = Path("settings.json")
    changed, edit = documents.apply_edit(path, text, AppendElement(path, STOP, HOOK), None)
    assert changed.startswith(b"\xef\xbb\xbf") == text.startswith(b"\xef\xbb\xbf")
    left = documents.undo_edits(path, changed, [edit])
    assert left == text or documents.is_empty_document(path, left)
