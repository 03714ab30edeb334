"""Lines are found by text or by pattern, in linear time, and a search that ends early says so."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace import errors
from commonplace.search.lines import MAX_SHOWN_BYTES, LineMatch, Pattern, ScanBudget, search_lines

TEXT = ["one", "two Fish", "three", "red fish", "five"]


def plenty() -> ScanBudget:
    return ScanBudget(bytes_=10_000_000, lines=1_000_000, seconds=60)


def found(lines, query: str, mode="literal", context: int = 0, **more) -> list[LineMatch]:
    return list(search_lines(lines, Pattern(query, mode, **more), plenty(), context))


def test_search_numbers_the_lines_and_shows_those_around_each():
    assert found(TEXT, "fish", context=1) == [
        LineMatch(2, "two Fish", ["one"], ["three"]),
        LineMatch(4, "red fish", ["three"], ["five"]),
    ]


def test_search_shows_neighbours_that_match_too():
    assert found(["fish", "fish"], "fish", context=2) == [
        LineMatch(1, "fish", [], ["fish"]),
        LineMatch(2, "fish", ["fish"], []),
    ]


def test_search_minds_case_when_asked():
    assert [each.line for each in found(TEXT, "fish", case_sensitive=True)] == [4]


def test_literal_takes_every_character_as_it_is():
    assert [each.line for each in found(["a.c", "abc", "(a"], "a.c")] == [1]
    assert [each.line for each in found(["a.c", "abc", "(a"], "(A")] == [3]


def test_search_folds_case_beyond_ascii():
    assert [each.line for each in found(["STRASSE ÄRGER", "ärger"], "ärger")] == [1, 2]


def test_regex_matches_within_one_line():
    assert [each.line for each in found(TEXT, r"^(two|red)\s+fish$", "regex")] == [2, 4]


def test_search_reads_bytes_and_starts_where_it_is_told():
    pattern = Pattern("b")
    assert list(search_lines(iter([b"a", b"b\xff"]), pattern, plenty(), first=90_000)) == [
        LineMatch(90_001, "b\ufffd")
    ]


def test_search_cuts_a_long_line_around_what_it_found():
    [match] = found(["x" * 100_000 + "needle" + "y" * 100_000], "needle")
    assert "needle" in match.text
    assert len(match.text) <= MAX_SHOWN_BYTES + 2


@pytest.mark.parametrize("at", [0, 15_000, 16_380, 16_384, 31_000, 199_994])
def test_search_finds_a_match_anywhere_in_a_long_line(at: int):
    line = "." * at + "needle" + "." * (199_994 - at)
    assert [each.line for each in found([line], "needle")] == [1]


def test_anchors_mean_the_whole_line_however_long_it_is():
    line = "a" * 50_000 + "b" + "a" * 50_000
    assert found([line], "^b|b$|^a{5}b", "regex") == []
    assert [each.line for each in found([line + "z"], "az$", "regex")] == [1]


@pytest.mark.parametrize(
    "pattern", ["(", "a(?=b)", r"(a)\1", "*", "a{2000}", "((a?){100}){10}c", r"(\pL{100}){5}"]
)
def test_a_pattern_that_is_none_or_is_too_large_is_refused(pattern: str):
    with pytest.raises(errors.Invalid):
        Pattern(pattern, "regex")


@pytest.mark.parametrize("query", ["", "x" * 1001])
def test_an_empty_or_an_endless_query_is_refused(query: str):
    with pytest.raises(errors.Invalid):
        Pattern(query)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(a*)*b", "(x+x+)+y", "(.*a){12}$"])
def test_a_pattern_that_explodes_elsewhere_is_answered_within_a_small_budget(pattern: str):
    budget = ScanBudget(bytes_=1_000_000, lines=100, seconds=5, clock=time.process_time)
    list(search_lines(["a" * 20_000 + "!"] * 20, Pattern(pattern, "regex"), budget))
    assert not budget.spent


def test_search_stops_when_the_lines_are_spent_and_says_so():
    budget = ScanBudget(bytes_=1000, lines=2, seconds=60)
    assert [each.line for each in search_lines(["a"] * 5, Pattern("a"), budget)] == [1, 2]
    assert budget.spent


def test_search_stops_when_the_bytes_are_spent_over_several_texts():
    budget = ScanBudget(bytes_=25, lines=1000, seconds=60)
    first = list(search_lines(["a" * 10, "b" * 10], Pattern("a"), budget))
    assert not budget.spent
    second = list(search_lines(["a" * 10], Pattern("a"), budget))
    assert ([each.line for each in first], second, budget.spent) == ([1], [], True)


def test_search_stops_when_the_time_is_over_even_inside_one_line():
    ticks = iter(range(100))
    budget = ScanBudget(bytes_=10**9, lines=1000, seconds=3, clock=lambda: next(ticks))
    assert list(search_lines(["." * 1_000_000 + "needle"], Pattern("needle"), budget)) == []
    assert budget.spent


def test_a_search_that_was_enough_says_so():
    budget = ScanBudget(bytes_=3, lines=3, seconds=60)
    assert len(list(search_lines(["a"] * 3, Pattern("a"), budget))) == 3
    assert not budget.spent


WORDS = st.text(alphabet="ab .\x0b", max_size=6)
PATTERNS = st.sampled_from(
    [
        "a",
        "^a",
        "b$",
        "^$",
        "a.b",
        r"\bb",
        r"b\B",
        "[^a]$",
        r"^\s",
        r"\Aa",
        r"b\z",
        "(?i)A",
        "(?:a|b)b",
        "a*$",
        "(?s)a.b",
    ]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, max_size=30), PATTERNS, st.integers(0, 3))
@pytest.mark.slow
def test_lines_searched_together_are_found_as_each_alone_would_be(lines: list[str], query: str, context: int):
    pattern = Pattern(query, "regex", case_sensitive=True)
    alone = [n for n, line in enumerate(lines, 1) if list(search_lines([line], pattern, plenty()))]
    together = list(search_lines(lines, pattern, plenty(), context))
    assert [each.line for each in together] == alone
    for each in together:
        assert each.before == lines[max(0, each.line - 1 - context) : each.line - 1]
        assert each.after == lines[each.line : each.line + context]


def test_a_match_shows_lines_of_the_blocks_around_it():
    lines = [f"{n:05} {'x' * 90}" for n in range(2000)]
    for wanted in (163, 164, 165, 1999):
        [match] = found(lines, f"{wanted:05}", context=2)
        around = [line[:5] for line in (*match.before, match.text, *match.after)]
        assert around == [f"{n:05}" for n in range(wanted - 2, min(wanted + 3, 2000))]
