"""What test runners and checkers print at their end: how many passed and failed, or that all is well."""

import re
from typing import NamedTuple

_TAIL_CHARACTERS = 12_000
_LINE_CHARACTERS = 200
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_DURATION = re.compile(r" in [\d.:]+ ?(?:m?s|seconds|min)?\b.*$")


class CheckSummary(NamedTuple):
    """`line` is the runner's own words. A count is 0 where it prints none."""

    passed: int
    failed: int
    line: str


class _Runner(NamedTuple):
    pattern: re.Pattern[str]
    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    fails: bool = False
    """The line itself says that something failed."""


_PASSED = r"(\d+) (?:tests? )?(?:passed|passing|pass|ok)\b"
_FAILED = r"(\d+) (?:tests? )?(?:failed|failing|fail|failures?|errors?|errored)\b"
_RUNNERS = tuple(
    _Runner(re.compile(pattern, re.MULTILINE), *rest)
    for pattern, *rest in (
        (
            r"^=+ (?:.*, )?\d+ (?:passed|failed|errors?|skipped|deselected|xfailed).* in [\d.]+s.*=+$|^\d+ (?:passed|failed|errors?)\b[^\n]* in [\d.:]+s.*$",
        ),
        (r"^test result: (?:ok|FAILED)\. \d+ passed; \d+ failed;.*$",),
        (r"^ *Summary \[ *[\d.]+s\] \d+ tests? run: .*$",),
        (r"^ *Tests:? +(?:\d+ (?:failed|passed|skipped|todo|pending)[,| ]*)+(?:\(\d+\)|\d+ total)?.*$",),
        (r"^\s*\d+ (?:passing|failing)\b.*$",),
        (r"^DONE \d+ tests?(?:, .*)? in [\d.]+s$", (r"DONE (\d+) tests",), (r"(\d+) (?:failures?|errors?)",)),
        (r"^\s*\d+ (?:pass|fail)$",),
        (r"^(?:#|\u2139) (?:pass|fail) \d+$", (r"pass (\d+)",), (r"fail (\d+)",)),
        (
            r"^(?:\d+ examples?|\d+ tests?|\d+ runs?|\d+ doctests?.*), .*\d+ failures?.*$",
            (r"(\d+) (?:examples?|tests?|runs?)",),
            (r"(\d+) (?:failures?|errors?)",),
        ),
        (
            r"^(?:FAILED|OK) \((?:\d+ tests?|failures|errors|skipped).*\)$",
            (r"\((\d+) tests?",),
            (r"(?:failures|errors)=(\d+)",),
        ),
        (
            r"^(?:\[\w+\] )?Tests run: \d+, Failures: \d+, Errors: \d+.*$",
            (r"Tests run: (\d+)",),
            (r"(?:Failures|Errors): (\d+)",),
        ),
        (
            r"^(?:Passed!|Failed!) +- Failed: +\d+, Passed: +\d+.*$",
            (r"Passed: +(\d+)",),
            (r"Failed: +(\d+)",),
        ),
        (r"^Executed \d+ tests?, with \d+ failures?.*$", (r"Executed (\d+)",), (r"with (\d+)",)),
        (r"^Ran \d+ tests? in [\d.]+s$", (r"Ran (\d+)",)),
        (r"^Found \d+ errors?\b.*$", (), (r"Found (\d+)",)),
        (
            r"^(?:Success: )?[Nn]o issues found.*$|^All checks passed!?$|^No findings to report.*$|^No errors? found.*$",
        ),
        (r"^(?:\d+ issues?[:.].*|\d+ errors?, \d+ warnings?.*|✖ \d+ problems? .*)$", (), (r"^(?:✖ )?(\d+)",)),
        (r"^Checked \d+ files? in .*$",),
        (r"^BUILD SUCCESS(?:FUL)?\b.*$",),
        (r"^BUILD FAIL(?:ED|URE)\b.*$", (), (), True),
        (r"^(?:make|just|error)(?:\[\d+\])?: (?:\*\*\* )?.*(?:Error \d+|failed).*$", (), (), True),
    )
)
_GO_PACKAGE = re.compile(r"^(ok|FAIL)[ \t]+(\S+)[ \t]+(?:[\d.]+s|\(cached\)|\[.*\]).*$", re.MULTILINE)
_GO_FAILED = re.compile(r"^\s*--- FAIL: (\S+)", re.MULTILINE)
_GO_PASSED = re.compile(r"^\s*--- PASS: (\S+)", re.MULTILINE)
_TSC_ERROR = re.compile(r"^\S+\(\d+,\d+\): error TS\d+|^\S+:\d+:\d+ - error TS\d+|^error TS\d+", re.MULTILINE)


def find_summary(output: str) -> CheckSummary | None:
    """The summary at the end of an output; for several packages, their sum."""
    text = _ANSI.sub("", output[-_TAIL_CHARACTERS:]).replace("\r", "")
    if go := _sum_go_packages(text):
        return go
    for runner in _RUNNERS:
        lines = [match[0].strip(" =") for match in runner.pattern.finditer(text)]
        if not lines:
            continue
        passed = sum(_count(runner.passed or (_PASSED,), line) for line in lines)
        failed = sum(_count(runner.failed or (_FAILED,), line) for line in lines)
        shown = next(
            (line for line in reversed(lines) if _count(runner.failed or (_FAILED,), line)), lines[-1]
        )
        is_failure = runner.fails or shown.startswith("FAILED")
        return CheckSummary(passed, failed or int(is_failure), _DURATION.sub("", shown)[:_LINE_CHARACTERS])
    if errors := len(_TSC_ERROR.findall(text)):
        return CheckSummary(0, errors, f"tsc: {errors} error{'s' * (errors > 1)}")
    return None


def _sum_go_packages(text: str) -> CheckSummary | None:
    packages = _GO_PACKAGE.findall(text)
    failed = list(dict.fromkeys(_GO_FAILED.findall(text)))
    if not packages and not failed:
        return None
    bad = [package for state, package in packages if state == "FAIL"]
    passed = len(_GO_PASSED.findall(text)) or sum(state == "ok" for state, _ in packages)
    if failed or bad:
        names = ", ".join(failed or bad)
        return CheckSummary(passed, len(failed) or len(bad), f"FAIL {names}"[:_LINE_CHARACTERS])
    return CheckSummary(
        passed, 0, f"ok {len(packages)} packages" if len(packages) > 1 else f"ok {packages[0][1]}"
    )


def _count(patterns: tuple[str, ...], line: str) -> int:
    return sum(int(number) for pattern in patterns for number in re.findall(pattern, line))
