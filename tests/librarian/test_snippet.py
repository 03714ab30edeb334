"""The signature of a function in a snippet of code, which is seldom a whole file."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from commonplace.librarian.snippet import read_signature

SNIPPETS = [
    (
        "a.py",
        "share_of",
        "def share_of(cents: int, part: int) -> int:\n    return cents // part",
        "def share_of(cents: int, part: int) -> int",
    ),
    (
        "a.py",
        "Cart.total",
        "    async def total(self, *, tax: bool = True) -> int:\n        return 0",
        "async def total(self, *, tax: bool = True) -> int",
    ),
    ("a.py", "b", "def a(x): pass\n\ndef b(y): pass", "def b(y)"),
    ("a.py", "renamed", "def only(x): pass", "def only(x)"),
    ("a.ts", "total", "total(cents: number): number { return cents; }", "total(cents: number): number"),
    ("A.java", "total", "int total(int cents) { return cents; }", "int total(int cents)"),
    ("A.cs", "Total", "public int Total(int cents) { return cents; }", "public int Total(int cents)"),
    (
        "a.php",
        "total",
        "function total(int $cents): int { return $cents; }",
        "function total(int $cents): int",
    ),
    (
        "a.go",
        "Cart.Total",
        "func (c *Cart) Total(cents int) int { return cents }",
        "func (c *Cart) Total(cents int) int",
    ),
    (
        "a.rs",
        "total",
        "pub fn total(&self, cents: i64) -> i64 { cents }",
        "pub fn total(&self, cents: i64) -> i64",
    ),
    ("a.rb", "total", "def total(cents)\n  cents\nend", "def total(cents)"),
    ("a.c", "total", "static int total(int cents) { return cents; }", "static int total(int cents)"),
]


@pytest.mark.parametrize(("file", "name", "code", "signature"), SNIPPETS)
def test_a_snippet_has_the_signature_of_its_function(file: str, name: str, code: str, signature: str):
    assert read_signature(file, name, code) == signature


@pytest.mark.parametrize(
    ("file", "name", "code"),
    [
        ("a.sql", "total", "select 1"),
        ("a.py", "c", "def a(): pass\n\ndef b(): pass"),
        ("a.py", "total", "return (((("),
        ("a.py", "total", ""),
    ],
)
def test_a_snippet_without_the_function_has_no_signature(file: str, name: str, code: str):
    assert read_signature(file, name, code) == ""


def test_threads_that_read_at_once_do_not_disturb_each_other():
    snippets = [(f"def f{n}(a: int, b{n}): return [{n}, " + "a, " * 400 + "b]") for n in range(24)]
    with ThreadPoolExecutor(4) as threads:
        read = list(threads.map(lambda n: read_signature("a.py", f"f{n}", snippets[n]), range(24)))
    assert read == [f"def f{n}(a: int, b{n})" for n in range(24)]
