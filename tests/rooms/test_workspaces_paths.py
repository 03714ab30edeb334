"""A path of a knowledge file is refused unless it means the same relative file everywhere."""

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from commonplace import errors
from commonplace.rooms.workspaces import path_rules

REFUSED_PATHS = [
    "",
    "/etc/passwd",
    "//srv/share",
    "../secret",
    "../../etc/passwd",
    "a/../../b",
    "a/..",
    "a/./b",
    "./a",
    ".",
    "..",
    "...",
    "a//b",
    "a/",
    "C:\\x",
    "C:x",
    "c:/x",
    "\\\\srv\\s",
    "a\\b",
    "a\\..\\..\\b",
    "a\u0000.txt",
    "a\n.md",
    "a\r",
    "a\x7f",
    "a\u202etxt",
    "a\u200b.md",
    "a\u2028b",
    "%2e%2e%2fetc",
    "%2E%2E/x",
    "a%2fb",
    "a%5Cb",
    "a%00",
    "f:stream",
    "file.md::$DATA",
    ".git/config",
    "a/.ssh/id",
    "CON",
    "con.md",
    "a/Aux.txt",
    "nul .txt",
    "LPT9.log",
    "com¹",
    "CONIN$",
    "clock$",
    "a./b",
    "a /b",
    " a",
    "a/ b",
    "e\u0301.md",
    "\ud800",
    "x" * 241,
    "x" * 5000,
    "a/" * 120 + "b",
]
ALLOWED_PATHS = [
    "MEMORY.md",
    "notes/cart.md",
    "a/b/c/d.md",
    "Überblick/größe.md",
    "日本語.md",
    "with blanks inside.md",
    "console.md",
    "com10.md",
    "auxiliary",
    "100%.md",
    "~notes.md",
    "what?.md",
    "x" * 240,
    "é.md",
    "a.b.c",
]


@pytest.mark.parametrize("path", REFUSED_PATHS, ids=ascii)
def test_a_hostile_path_is_refused(path: str):
    with pytest.raises(ValueError, match="path"):
        path_rules.validate_path(path)


@pytest.mark.parametrize("path", ALLOWED_PATHS, ids=ascii)
def test_a_plain_path_stays_as_it_is(path: str):
    assert path_rules.validate_path(path) == path


ODD_PARTS = st.sampled_from([*"./\\:%~ $\u202e\u0301\0\n", "..", "con", "%2e", "2f", "aux.", "C:"])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(ODD_PARTS, st.text(max_size=3)), max_size=12).map("".join))
@example("a/b")
@pytest.mark.slow
def test_what_is_accepted_stays_below_its_root_on_every_system(path: str):
    try:
        path_rules.validate_path(path)
    except ValueError:
        return
    parts = path.split("/")
    assert 0 < len(path) <= 240
    assert unicodedata.normalize("NFC", path) == path
    assert not set(path) & set("\\:\0\n\r\u202e")
    assert all(part and not part.startswith(".") and not part.endswith((".", " ")) for part in parts)
    assert not {part.split(".")[0].strip().lower() for part in parts} & {"con", "aux", "nul", "prn"}


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.from_regex(r"[a-z0-9_][a-z0-9_ .-]{0,10}[a-z0-9_-]", fullmatch=True), min_size=1, max_size=6)
)
def test_ordinary_names_are_accepted(parts: list[str]):
    names = [f"x{part}" for part in parts]
    assert path_rules.validate_path("/".join(names)) == "/".join(names)


@pytest.mark.parametrize(
    "path", ["../a.md", "a\\b.md", "CON", "e\u0301.md", "x" * 241, "a\u0000.md"], ids=ascii
)
async def test_every_operation_refuses_a_hostile_path_and_changes_nothing(team, path: str):
    anyone = team.anyone()
    made = await anyone.register_workspace(machine="laptop", tool="codex", project="shop")
    place = {"workspace_id": made["workspace_id"]}
    token = {"write_token": made["write_token"]}
    for running in (
        anyone.write_knowledge(path=path, content="x"),
        anyone.upload_knowledge(path=path, content="x", **place, **token),
        anyone.read_knowledge(path=path, **place),
        anyone.delete_knowledge(path=path),
        anyone.list_versions(path=path, **place),
        anyone.restore_version(path=path),
    ):
        with pytest.raises(errors.Invalid):
            await running
    assert (await anyone.list_knowledge(**place))["total"] == 0


async def test_a_text_with_a_nul_byte_is_refused(team):
    anyone = team.anyone()
    await anyone.register_workspace(machine="laptop", tool="codex", project="shop")
    with pytest.raises(errors.Invalid):
        await anyone.write_knowledge(path="a.md", content="a\0b")
