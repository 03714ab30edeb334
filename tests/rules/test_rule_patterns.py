"""Patterns of rules: globs of paths, commands, and what a quick look may decide."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.rules.command_pattern import matches_command, parse_pattern
from commonplace.rules.path_glob import matches_path
from commonplace.rules.rule import parse_duration, read_rule
from commonplace.rules.rule_check import RuleFacts, list_fired, may_match


@pytest.mark.parametrize(
    ("glob", "matching", "others"),
    [
        ("*.lock", ["a.lock", "x/y.lock", "a.lock/b"], ["lock", "a.locks"]),
        ("dist/", ["dist/a", "web/dist/b/c"], ["distance", "a/distx/b"]),
        ("/LICENSE", ["LICENSE"], ["web/LICENSE"]),
        ("db/*.sql", ["db/a.sql"], ["x/db/a.sql", "db/x/a.sql"]),
        ("db/**", ["db/a", "db/x/y"], ["db", "dbx/a"]),
        ("**/test_*.py", ["test_a.py", "a/b/test_c.py"], ["a/test_/b.txt"]),
        ("src/**/gen/*", ["src/gen/a", "src/x/y/gen/b"], ["src/gen", "gen/a"]),
        ("**", ["a", "a/b"], []),
    ],
)
def test_glob_matches_as_in_gitignore(glob: str, matching: list[str], others: list[str]):
    assert [path for path in matching if not matches_path(path, glob)] == []
    assert [path for path in others if matches_path(path, glob)] == []


@pytest.mark.parametrize(
    ("pattern", "words", "is_match"),
    [
        ("git push --force|-f", "git push -uf origin", True),
        ("git push --force|-f", "git push --force-with-lease", False),
        ("git push --force|-f", "git push -- --force", False),
        ("git push --force", "git push --forc", True),
        ("npm publish", "npm --prefix web publish", True),
        ("npm publish", "npm run publish", False),
        ("docker compose down -v", "docker compose -f x.yml down -v", True),
        ("rm -r -f", "/bin/rm -fr x", True),
        ("rm -r -f", "rm -r x", False),
        ("terraform apply -auto-approve", "terraform apply -auto-approve", True),
        ("python* -m http.server", "python3 -m http.server 80", True),
        ("chmod ... 777", "chmod -R 777 .", True),
        ("chmod ... 777", "chmod 644 a", False),
        ("make", "make test", True),
        ("make test|check", "make check", True),
        ("git", "gitk", False),
    ],
)
def test_command_pattern_matches(pattern: str, words: str, is_match: bool):
    assert matches_command(parse_pattern(pattern), words.split()) is is_match


@pytest.mark.parametrize(
    ("pattern", "line", "looks_closer"),
    [
        ("git push", "git status && git log -3", False),
        ("git push", "git -C x status", True),
        ("git push", "git p", True),  # an alias
        ("npm publish", "npm test", False),
        ("npm publish", "npm run x && npm pub$X", True),
        ("npm|yarn publish", "yarn 'pub'lish", True),
        ("make", "make test", True),
        ("ma*", "ls", True),
        ("git push", "ls", False),
    ],
)
def test_quick_look_errs_on_the_side_of_looking_closer(pattern: str, line: str, looks_closer: bool):
    assert may_match(parse_pattern(pattern), line) is looks_closer


def test_unknown_word_matches_nothing():
    assert not matches_command(parse_pattern("git push"), ["git", None])
    assert not matches_command(parse_pattern("git push"), [None, "push"])


def build_rule(**enforce: object):
    stored = {
        "name": "r",
        "scope": "shop",
        "author": "ann",
        "rule": "No.",
        "enforce": {"do": "deny", **enforce},
    }
    return read_rule(stored)


@pytest.mark.parametrize(
    "line",
    [
        "git push -f",
        "g'i't push -f",
        "\\git push -f",
        "G=git; $G push -f",
        "bash -lc 'git push -f'",
        "true && (git push -f)",
        "X=1 sudo -n git push -f",
        "echo $(git push -f)",
        "if true; then git push -f; fi",
        "eval 'git push -f'",
        "xargs git push -f < x",
    ],
)
def test_line_that_hides_the_command_still_matches(line: str):
    rule = build_rule(on=["command"], match={"command": ["git push --force|-f"]})
    assert list_fired([rule], RuleFacts("command", line=line)) == [rule]


@pytest.mark.parametrize(
    "line", ["echo 'git push -f'", "grep 'git push -f' log", "ls # git push -f", "cat <<E\ngit push -f\nE"]
)
def test_text_that_only_mentions_the_command_does_not_match(line: str):
    rule = build_rule(on=["command"], match={"command": ["git push --force|-f"]})
    assert list_fired([rule], RuleFacts("command", line=line)) == []


def test_preventing_rules_come_first_and_every_part_must_match():
    rules = [
        build_rule(on=["edit"], match={"path": ["*.py"]}, do="warn"),
        build_rule(on=["edit"], match={"path": ["*.py"], "text": "secret", "tool": ["Write"]}),
    ]
    facts = {"files": ["a.py"], "text": "a secret"}
    assert [rule.do for rule in list_fired(rules, RuleFacts("edit", tool="Write", **facts))] == [
        "deny",
        "warn",
    ]
    assert [rule.do for rule in list_fired(rules, RuleFacts("edit", tool="Edit", **facts))] == ["warn"]


@settings(deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_glob_and_path_get_an_answer(path: str, glob: str):
    assert matches_path(path, glob) in (True, False)


@settings(deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_pattern_is_parsed_or_refused(pattern: str, line: str):
    try:
        parsed = parse_pattern(pattern)
    except ValueError:
        return
    assert matches_command(parsed, line.split()) in (True, False)


def test_durations():
    assert [parse_duration(text) for text in ("30s", "2m", "1h", "7d", "soon", "")] == [
        30,
        120,
        3600,
        604800,
        None,
        None,
    ]
