"""The decision whether two lock paths overlap, held against brute force, and what it costs."""

import re
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import pairwise, product
from types import FrameType

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from commonplace.rooms.locks import paths

Decision = Callable[[str, str, bool], bool]


def overlap(a: str, b: str, fold: bool) -> bool:
    return paths.patterns_overlap(paths.parse_pattern(a, (), fold), paths.parse_pattern(b, (), fold))


@dataclass(frozen=True)
class Set:
    """A bracket expression and what it lists, so that the oracle need not read it."""

    text: str
    listed: str
    negated: bool = False


LETTERS = "abAc"
SETS = [
    Set("[ab]", "ab"),
    Set("[!a]", "a", negated=True),
    Set("[A-a]", "".join(map(chr, range(ord("A"), ord("a") + 1)))),
    Set("[b-c]", "bc"),
    Set("[c-a]", ""),
]
TOKENS = [*"abA*?", *SETS]
FEW_TOKENS = ("a", "b", "A", "*", "?", SETS[0], SETS[1])


def text_of(tokens) -> str:
    return "".join(token if isinstance(token, str) else token.text for token in tokens)


def fold_text(text: str, fold: bool) -> str:
    return unicodedata.normalize("NFC", text.casefold()) if fold else text


def regex_of_tokens(tokens, fold: bool, *, spelled: bool) -> str:
    """One segment as a regular expression, its bracket expressions read as sets or as they are spelled."""
    translated = []
    for token in tokens:
        if token in ("*", "?"):
            translated.append("[^/]*" if token == "*" else "[^/]")
        elif isinstance(token, str) or spelled:
            translated.append(re.escape(fold_text(text_of([token]), fold)))
        elif token.negated:
            translated.append(f"[^/{re.escape(fold_text(token.listed, fold))}]")
        else:
            translated.append(f"[{re.escape(fold_text(token.listed, fold))}]" if token.listed else "(?!)")
    return "".join(translated)


def regex_of_path(segments, directory: bool, fold: bool) -> re.Pattern[str]:
    """Every path that the segments match, each of its names followed by a slash."""
    parts = []
    for tokens in segments:
        both = "|".join(regex_of_tokens(tokens, fold, spelled=spelled) for spelled in (False, True))
        parts.append("(?:[^/]+/)*" if tokens == ("**",) else f"(?=[^/])(?:{both})/")
    return re.compile("".join(parts) + ("(?:[^/]+/)*" if directory else ""))


def share_a_path(universe, one, other, fold: bool) -> bool:
    a, b = regex_of_path(*one, fold), regex_of_path(*other, fold)
    return any(
        a.fullmatch(name) and b.fullmatch(name) for name in (fold_text(path, fold) for path in universe)
    )


def spell_path(segments, directory: bool) -> str:
    return "/".join(map(text_of, segments)) + "/" * directory


def list_spellings(*patterns) -> list[str]:
    tokens = {token for segments, _ in patterns for part in segments for token in part}
    return sorted(token.text for token in tokens if isinstance(token, Set))


def list_words(longest: int) -> list[str]:
    return ["".join(word) for length in range(longest + 1) for word in product(LETTERS, repeat=length)]


SHORT, LONG = list_words(1), list_words(4)[1:]


def list_names_for(*patterns) -> list[str]:
    """Hold a witness for any two segments of three tokens with one set each, if there is one."""
    sets = list_spellings(*patterns)
    around = [a + text + b for text in sets for a in list_words(2) for b in list_words(2)]
    between = [a + x + b + y + c for x in sets for y in sets for a, b, c in product(SHORT, repeat=3)]
    return [f"{name}/" for name in LONG + around + between]


def list_trees_for(*patterns) -> list[str]:
    """Hold a witness for any two paths of three segments of one token each, if there is one."""
    names = [*LETTERS, *list_spellings(*patterns)]
    return [
        "".join(f"{name}/" for name in path) for depth in range(1, 6) for path in product(names, repeat=depth)
    ]


def has_one_set(tokens) -> bool:
    return sum(isinstance(token, Set) for token in tokens) <= 1 and "**" not in text_of(tokens)


segment = st.lists(st.sampled_from(TOKENS), min_size=1, max_size=3).map(tuple).filter(has_one_set)
names = st.tuples(segment.map(lambda tokens: (tokens,)), st.just(False))
step = st.sampled_from(FEW_TOKENS).map(lambda token: (token,)) | st.just(("**",))
steps = st.lists(step, min_size=1, max_size=3).filter(lambda segments: segments[-1] != ("**",))
trees = st.tuples(
    steps.map(tuple).filter(lambda segments: all(pair != (("**",),) * 2 for pair in pairwise(segments))),
    st.booleans(),
)


def compare_with_brute_force(decide: Decision, patterns, universe_for, examples: int) -> None:
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        report_multiple_bugs=False,
        phases=[Phase.generate],
    )
    @given(patterns, patterns, st.booleans())
    def agree(one, other, fold):
        expected = share_a_path(universe_for(one, other), one, other, fold)
        assert decide(spell_path(*one), spell_path(*other), fold) is expected

    agree()


@pytest.mark.parametrize(("patterns", "universe_for"), [(names, list_names_for), (trees, list_trees_for)])
def test_overlaps_agrees_with_brute_force(patterns, universe_for):
    compare_with_brute_force(overlap, patterns, universe_for, examples=250)


@settings(deadline=None)
@given(trees | names, trees | names, st.booleans())
def test_overlaps_is_symmetric_and_reflexive(one, other, fold):
    a, b = (paths.parse_pattern(spell_path(*pattern), (), fold) for pattern in (one, other))
    assert paths.patterns_overlap(a, a)
    assert paths.patterns_overlap(a, b) is paths.patterns_overlap(b, a)


@settings(deadline=None)
@given(trees | names, trees | names, st.booleans())
def test_literal_prefix_never_hides_an_overlap_from_an_index(one, other, fold):
    a, b = (paths.parse_pattern(spell_path(*pattern), (), fold) for pattern in (one, other))
    mine, row = (paths.literal_prefix(pattern).encode() for pattern in (a, b))
    above = [mine[: end + 1] for end, byte in enumerate(mine) if byte == ord("/")]
    below = not mine or mine <= row < mine[:-1] + b"0"
    assert below or row in (b"", *above) or not paths.patterns_overlap(a, b)


def by_fnmatch(a: str, b: str, fold: bool) -> bool:
    a, b = fold_text(a, fold), fold_text(b, fold)
    return fnmatchcase(a, b) or fnmatchcase(b, a)


def without_directories(a: str, b: str, fold: bool) -> bool:
    return overlap(a.removesuffix("/"), b.removesuffix("/"), fold)


def without_case(a: str, b: str, _fold: bool) -> bool:
    return overlap(a, b, fold=False)


@pytest.mark.parametrize("flawed", [by_fnmatch, without_directories, without_case])
def test_brute_force_finds_a_wrong_decision(flawed):
    with pytest.raises(AssertionError):
        compare_with_brute_force(flawed, trees, list_trees_for, examples=250)


# -- cost -----------------------------------------------------------------------------------------------------


def count_steps(a: str, b: str) -> int:
    """How many lines of the module run to compare two paths."""
    one, other = paths.parse_pattern(a, (), fold=False), paths.parse_pattern(b, (), fold=False)
    counted = 0

    def count(frame: FrameType, event: str, _argument: object):
        nonlocal counted
        if frame.f_code.co_filename != paths.__file__:
            return None
        counted += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        paths.patterns_overlap(one, other)
    finally:
        sys.settrace(before)
    return counted


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("*a*a*a*a*a*b", "*a*a*a*a*a*c"),
        ("*a*a*a*a*a*a*a*b", "a" * 255),
        ("*" + ("a" * 30 + "*") * 7 + "b", "*" + ("a" * 30 + "*") * 7 + "c"),
        ("**/a/**/a/**/a/**/a/**/a/**/b", "**/a/**/a/**/a/**/a/**/a/**/c"),
        ("**/a/**/a/**/a/**/a/**/b", "/".join("a" * 512)),
        ("**/" + "?" * 7, "/".join(["ab"] * 340)),
        ("[!a][!b][!c][!d]*[!e]*", "[!f][!g][!h][!i]*[!j]*x"),
    ],
)
def test_overlaps_costs_no_more_than_the_product_of_both_lengths(a, b):
    assert 0 < count_steps(a, b) <= 3 * len(a) * len(b)
