"""Which spellings mean one path, and which paths can mean one file."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace import errors
from commonplace.rooms.locks import paths


def overlap(a: str, b: str, fold: bool = False) -> bool:
    return paths.patterns_overlap(paths.parse_pattern(a, (), fold), paths.parse_pattern(b, (), fold))


# -- one spelling ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_path", "spelled"),
    [
        ("src/app.py", "src/app.py"),
        ("src\\app.py", "src/app.py"),
        ("./src//app.py", "src/app.py"),
        ("src/./lib/../app.py", "src/app.py"),
        ("src/", "src/"),
        ("src\\", "src/"),
        ("src/**", "src/"),
        ("src/**/", "src/"),
        ("src/**/**", "src/"),
        ("src/.", "src/"),
        ("src/lib/..", "src/"),
        ("a/**/**/b", "a/**/b"),
        ("src/*/", "src/*/"),
        (".", "./"),
        ("./", "./"),
        ("**", "./"),
        ("src/..", "./"),
        ("app\\[id]\\page.tsx", "app/[id]/page.tsx"),
        ("src\\*.py", "src/*.py"),
        ("docs/e\u0301te\u0301.md", "docs/été.md"),
        (".gitignore", ".gitignore"),
        ("drivers/aux.c", "drivers/aux.c"),
        ("testdata/12:30.log", "testdata/12:30.log"),
        ("my file (1).txt", "my file (1).txt"),
        ("src/app.py:10", "src/app.py"),
        ("src/app.py:10:4", "src/app.py"),
        ("src/app.py:10-20", "src/app.py"),
        ("Makefile:3", "Makefile"),
        ("src/app.py#L10-L20", "src/app.py"),
        ("src/app.py#Cart.add_item", "src/app.py"),
        ("src/app.cpp#Cart::add()", "src/app.cpp"),
        ("app/[id].tsx:7", "app/[id].tsx"),
        ("notes/#1.md", "notes/#1.md"),
        ("…/~/x", "…/~/x"),
    ],
)
def test_canonical_gives_every_spelling_of_a_path_one_form(given_path, spelled):
    assert paths.canonicalize_path(given_path, None) == spelled


@pytest.mark.parametrize(
    ("given_path", "working_directory", "spelled"),
    [
        ("/home/me/repo/src/a.py", "/home/me/repo", "src/a.py"),
        ("/home/me/repo/src/a.py", "/home/me/repo/", "src/a.py"),
        ("//home//me/repo/src/../a.py", "/home/me/repo", "a.py"),
        ("/home/me/repo", "/home/me/repo", "./"),
        ("/etc/x", "/", "etc/x"),
        ("C:\\Repo\\src\\a.py", "C:\\Repo", "src/a.py"),
        ("c:/Repo/src/a.py", "C:\\Repo\\", "src/a.py"),
        ("C:\\Users\\Me\\Repo\\A.py", "c:/users/me/repo", "A.py"),
        ("C:\\a.py", "C:\\", "a.py"),
        ("\\\\?\\C:\\Repo\\a.py", "C:\\Repo", "a.py"),
        ("\\\\Server\\share\\repo\\a.py", "\\\\server\\share\\repo", "a.py"),
        ("//server/share/repo/a.py", "\\\\server\\share\\repo", "a.py"),
        ("\\\\?\\UNC\\server\\share\\repo\\a.py", "\\\\server\\share\\repo", "a.py"),
        ("/repo/[x]/*.py", "/repo/[x]", "*.py"),
        ("/r/e\u0301/a", "/r/é", "a"),
    ],
)
def test_canonical_cuts_an_absolute_path_at_the_working_directory(given_path, working_directory, spelled):
    assert paths.canonicalize_path(given_path, working_directory) == spelled


@pytest.mark.parametrize(
    ("given_path", "working_directory"),
    [
        ("/home/me/other/a.py", "/home/me/repo"),
        ("/home/me/repository/a.py", "/home/me/repo"),
        ("/home/me/repo/../other/a.py", "/home/me/repo"),
        ("/home/me", "/home/me/repo"),
        ("/home/me/Repo/a.py", "/home/me/repo"),
        ("/a.py", None),
        ("/a.py", ""),
        ("/a.py", "repo"),
        ("D:\\Repo\\a.py", "C:\\Repo"),
        ("/Repo/a.py", "C:\\Repo"),
        ("C:\\Repo\\a.py", "/Repo"),
        ("C:a.py", "C:\\"),
        ("C:", "C:\\"),
        ("\\\\other\\share\\a.py", "\\\\server\\share"),
        ("\\\\.\\C:\\Repo\\a.py", "C:\\Repo"),
        ("\\\\?\\Volume{1}\\a.py", "C:\\Repo"),
    ],
)
def test_canonical_refuses_an_absolute_path_from_elsewhere_with_a_hint(given_path, working_directory):
    with pytest.raises(errors.Invalid) as refused:
        paths.canonicalize_path(given_path, working_directory)
    assert (refused.value.code, bool(refused.value.hint)) == ("invalid", True)


@pytest.mark.parametrize(
    "hostile",
    [
        "",
        "..",
        "../a.py",
        "src/../../a.py",
        "src\\..\\..\\a.py",
        "a/**/../b",
        "/../a",
        "~/repo/a.py",
        "a\0.py",
        "a\n.py",
        "a\x7f.py",
        "a\u202egpj.py",
        "a\u2066b",
        "a\u2028b",
        "a\ud800b",
        " ",
        "src/a.py ",
        "src/a.py.",
        "src ./a.py",
        ".../a",
        "a" * 256,
        "é" * 128,
        "/".join(["abcd"] * 205 + ["x"]),
        "./" * 5_000 + "a",
    ],
)
def test_canonical_refuses_a_hostile_path(hostile):
    with pytest.raises(errors.Invalid):
        paths.canonicalize_path(hostile, "/repo")


def test_canonical_takes_paths_up_to_the_limits():
    longest = "/".join(["a" * 255] * 4) + "/"
    assert len(longest) == paths.MAX_PATH_BYTES
    assert paths.canonicalize_path(longest, None) == longest
    assert paths.canonicalize_path("/" + "w" * 3_000 + "/" + longest, "/" + "w" * 3_000) == longest


@settings(deadline=None)
@given(
    st.text(st.sampled_from("ab.*?[]!/\\: ~C\u0301é\0\u202e"), max_size=12) | st.text(max_size=12),
    st.sampled_from([None, "/a", "C:\\a", "/"]),
)
def test_canonical_is_its_own_canonical_form(text, working_directory):
    try:
        spelled = paths.canonicalize_path(text, working_directory)
    except errors.Invalid:
        return
    assert paths.canonicalize_path(spelled, working_directory) == spelled
    assert spelled == "./" or not {"", ".", ".."} & set(spelled.removesuffix("/").split("/"))


# -- what a path stands for -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "literals", "kind"),
    [
        ("a/b.py", (), "literal"),
        ("a/b/", (), "directory"),
        ("./", (), "directory"),
        ("a/*.py", (), "glob"),
        ("a/*/", (), "glob"),
        ("**/x", (), "glob"),
        ("app/[id]/page.tsx", (), "glob"),
        ("app/[id]/page.tsx", {"app/[id]/page.tsx"}, "literal"),
        ("app/[id]/", {"app/[id]/"}, "directory"),
        ("a/b[.py", (), "literal"),
        ("a/[].py", (), "literal"),
    ],
)
def test_parse_tells_files_directories_and_globs_apart(path, literals, kind):
    assert paths.parse_pattern(path, literals, fold=False).kind == kind


def test_parse_reads_a_path_that_is_locked_literally_as_that_name_alone():
    literal = paths.parse_pattern("app/[id].tsx", {"app/[ID].tsx"}, fold=True)
    assert literal.kind == "literal"
    assert paths.patterns_overlap(literal, paths.parse_pattern("app/[Id].tsx", {"app/[ID].tsx"}, fold=True))
    assert not paths.patterns_overlap(literal, paths.parse_pattern("app/i.tsx", (), fold=True))
    assert paths.parse_pattern("app/[id].tsx", {"app/[ID].tsx"}, fold=False).kind == "glob"


def test_parse_refuses_a_glob_over_its_bounds_but_not_a_long_name():
    for glob in ["/".join(["*"] * 9), "*a?[b]" * 3, "*" + "a" * 256]:
        with pytest.raises(errors.Invalid):
            paths.parse_pattern(glob, (), fold=False)
    assert paths.parse_pattern("/".join(["*"] * 8), (), fold=False).kind == "glob"
    assert paths.parse_pattern("*" + "a" * 255, (), fold=False).kind == "glob"
    assert paths.parse_pattern("/".join(["long"] * 200), (), fold=False).kind == "literal"


# -- the contract's cases -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("src/app.py", "src/app.py"),
        ("src/", "src/app.py"),
        ("src/", "src"),
        ("src/", "src/lib/"),
        ("./", "any/thing.py"),
        ("./", "./"),
        ("src/*.py", "src/a*"),
        ("src/*.py", "src/"),
        ("src/*/", "src/a/b/c"),
        ("src/**/*.py", "src/a.py"),
        ("src/**/*.py", "src/x/y/a.py"),
        ("**/test_*.py", "tests/rooms/test_lock_paths.py"),
        ("a/**/z", "a/b/**/y/z"),
        ("[a-f]?", "[!a-e]x"),
        ("[]a]", "]"),
        ("[!]a]", "b"),
        ("[^a]", "b"),
        ("[a-]", "-"),
        ("[!]", "!"),
        ("app/[id]/page.tsx", "app/[id]/page.tsx"),
        ("app/[id]/*.tsx", "app/[id]/page.tsx"),
        ("app/[id]/", "app/[id]/deep/page.tsx"),
        ("app/[[...slug]]/page.tsx", "app/[[...slug]]/"),
        ("app/[user-id]*.tsx", "app/[user-id].test.tsx"),
    ],
)
def test_overlaps_sees_that_two_paths_can_be_one_file(a, b):
    assert overlap(a, b)
    assert overlap(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("src/app.py", "src/app.pyc"),
        ("src/", "src2/app.py"),
        ("src/", "srcs"),
        ("src/lib/", "src/app.py"),
        ("src/lib/", "src"),
        ("src/*.py", "src/lib/a.py"),
        ("src/*.py", "src/*.js"),
        ("src/?", "src/ab"),
        ("src/**/a", "src/b"),
        ("[a-c]", "[d-f]"),
        ("[!a]", "a"),
        ("[.-0]", "[!.0]"),
        ("[~-\u00a0]", "[!~\u00a0]"),
        ("app/[id]/page.tsx", "app/[slug]/page.tsx"),
        ("app/[id]/page.tsx", "app/x/page.tsx"),
        ("[*].md", "[x].md"),
        ("README.md", "readme.md"),
        ("straße", "STRASSE"),
    ],
)
def test_overlaps_invents_no_conflict(a, b):
    assert not overlap(a, b)
    assert not overlap(b, a)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("README.md", "readme.MD", True),
        ("straße", "STRASSE", True),
        ("SRC/", "src/app.py", True),
        ("src/*.PY", "SRC/a.py", True),
        ("[A-C]", "b", True),
        ("[Z-a]", "z", True),
        ("[ς]", "Σ", True),
        ("[!A]", "a", False),
        ("[A]", "[!a]", False),
        ("[!a-y]", "Z", True),
        ("App/[Id].tsx", "app/[id].tsx", True),
        ("src/a.py", "src/b.py", False),
    ],
)
def test_overlaps_ignores_case_only_where_asked(a, b, same):
    assert overlap(a, b, fold=True) is same
    assert overlap(b, a, fold=True) is same


def test_overlaps_knows_every_letter_that_has_another_case():
    above = map(chr, range(paths.LAST_CASED_CODE_POINT + 1, sys.maxunicode + 1))
    assert [character for character in above if character.casefold() != character] == []


def test_covers_matches_one_name_and_reads_it_literally():
    python = paths.parse_pattern("src/**/*.py", (), fold=False)
    covered = {
        name: paths.matches_path(python, name) for name in ["src/a.py", "src/x/", "src/*", "src/x/[a].py"]
    }
    assert covered == {"src/a.py": True, "src/x/": False, "src/*": False, "src/x/[a].py": True}
    assert paths.matches_path(paths.parse_pattern("Src/", (), fold=True), "SRC")
    assert paths.matches_path(paths.parse_pattern("./", (), fold=False), "./")


def test_same_or_inside_looks_one_way_and_by_whole_names():
    assert paths.is_same_or_inside("src/app/a.py", "src/app", fold=False)
    assert paths.is_same_or_inside("src/app/", "src/app", fold=False)
    assert paths.is_same_or_inside("SRC/app", "src/", fold=True)
    assert paths.is_same_or_inside("src", "./", fold=False)
    assert not paths.is_same_or_inside("src/app", "src/app/a.py", fold=False)
    assert not paths.is_same_or_inside("src/apple", "src/app", fold=False)
    assert not paths.is_same_or_inside("SRC/app", "src/", fold=False)
    assert not paths.is_same_or_inside("src/a", "src/*", fold=False)


@pytest.mark.parametrize(
    ("path", "prefix"),
    [
        ("src/a.py", "src/a.py/"),
        ("src/app/", "src/app/"),
        ("src/app/*.py", "src/app/"),
        ("app/[id]/page.tsx", "app/"),
        ("**/x", ""),
        ("./", ""),
    ],
)
def test_literal_prefix_ends_before_the_first_wildcard(path, prefix):
    assert paths.literal_prefix(paths.parse_pattern(path, (), fold=False)) == prefix
