"""Which shell commands are attempts at the same thing, so that a later success shows what fixed an earlier failure.

A command is reduced to keys: the program and its first argument, without options, wrappers and paths of programs; one
key for each part of `a && b`. `work_log.py` compares the keys of failures with those of later commands.
"""

import re

LEADING_COMMANDS = re.compile(
    r"^(?:\s*(?:cd|pushd|export|source|\.)\s[^&;\n]{0,300}(?:&&|;|\n)\s*|\s*[A-Z_][A-Z0-9_]*=\S{0,300}\s+)+"
)
_WRAPPERS = re.compile(
    r"^(?:(?:sudo|time|npx|uv run|poetry run|pipenv run|bundle exec|(?:\S{0,200}/)?python[\d.]{0,5} -m)\s+)+"
)
_OPTION = re.compile(r"^-")
_KEY_WORDS = 2
# Options that select some of the tests, after which a success says nothing about the others.
_SELECTS = re.compile(r"(?:^|\s)(?:-k|-m|-t|-run|--run|--grep|--lf|--last-failed)\b|::")
# Without an argument they check everything.
_CHECKERS = frozenset({"pytest", "tox", "nox", "tsc", "mypy", "ruff", "eslint", "jest", "vitest", "unittest"})
_WHOLE_CHECKS = frozenset({"make test", "make check", "npm test", "yarn test", "pnpm test", "tox", "nox"})
_SOME_TESTS = "-"
_EVERYTHING = frozenset({".", "./...", "..."})


def list_attempt_keys(command: str) -> list[str]:
    """The keys of the parts of a command, in order."""
    main = LEADING_COMMANDS.sub("", command).strip()
    return [_build_key(part) for part in main.split("&&")]


def _build_key(part: str) -> str:
    command = _WRAPPERS.sub("", LEADING_COMMANDS.sub("", part).split("|", 1)[0].strip())
    words = [word for word in command.split() if not _OPTION.match(word)][:_KEY_WORDS]
    if words:
        words[0] = words[0].rpartition("/")[2] or words[0]
    if len(words) == 1 and words[0] in _CHECKERS and _SELECTS.search(command):
        words.append(_SOME_TESTS)
    return " ".join(words)


def is_repeated_by(failed: str, succeeded: str) -> bool:
    """Does the success of one key mean that what failed under the other succeeds as well?"""
    if failed == succeeded:
        return True
    program, _, place = failed.partition(" ")
    other, _, wider = succeeded.partition(" ")
    if succeeded in _WHOLE_CHECKS and program in _CHECKERS:
        return True
    if program != other or program not in _CHECKERS:
        return False
    return not wider or wider in _EVERYTHING or place.startswith((wider.rstrip("/") + "/", wider + "::"))
