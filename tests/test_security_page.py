"""SECURITY.md promises nothing without a test: every path in it exists, and every promise names one."""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
PAGE = (TOP / "SECURITY.md").read_text()
PROMISES = re.findall(r"^\| (P\d+) \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)


def test_page_lists_every_promise():
    assert [name for name, _, _ in PROMISES] == [f"P{n}" for n in range(1, 17)]


@pytest.mark.parametrize(("name", "tests"), [(name, tests) for name, _, tests in PROMISES])
def test_every_promise_names_tests_that_exist(name: str, tests: str):
    paths = re.findall(r"`(tests/[\w/.]+)`", tests)
    assert paths, name
    for path in paths:
        assert re.search(r"^(async )?def test_", (TOP / path).read_text(), re.MULTILINE), path


def test_every_path_on_the_page_exists():
    assert [path for path in re.findall(r"`(tests/[\w/.]+)`", PAGE) if not (TOP / path).exists()] == []
