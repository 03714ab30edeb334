"""What is read from source alone, in every language that is known."""

import msgspec
import pytest

from commonplace.librarian.extract import extract_functions

PYTHON = '''
import os


class Client(Transport):
    """Speaks to the shop."""

    @retried
    async def fetch(self, path: str, *parts, tries: int = 3, **more) -> dict[str, int]:
        """Fetch one thing.

        Longer words.
        """
        if not path or tries < 1:
            raise ValueError("path")
        for part in parts:
            self.check(part)
        return await httpx.get(path + os.environ["HOME"])


def outer():
    def inner():
        return open("x")
    return inner
'''


def extract_by_name(file: str, source: str) -> dict[str, dict]:
    """What a file declares, by name, without what is tested elsewhere."""
    functions = extract_functions(file, source.encode())
    fields_by_name = {function.name: msgspec.to_builtins(function) for function in functions}
    for function in fields_by_name.values():
        for name in ("file", "body", "code", "language"):
            function.pop(name, None)
    return fields_by_name


def test_read_python_tells_all_of_a_method():
    functions = extract_by_name("a.py", PYTHON)
    assert set(functions) == {"Client", "Client.fetch", "outer"}
    assert functions["Client.fetch"] == {
        "name": "Client.fetch",
        "kind": "method",
        "line": 9,
        "end_line": 18,
        "signature": "async def fetch(self, path: str, *parts, tries: int = 3, **more) -> dict[str, int]",
        "complexity": 4,
        "returns": "dict[str, int]",
        "doc": "Fetch one thing.\n\nLonger words.",
        "parameters": [
            {"name": "self"},
            {"name": "path", "type": "str"},
            {"name": "*parts"},
            {"name": "tries", "type": "int", "default": "3"},
            {"name": "**more"},
        ],
        "raises": ["ValueError"],
        "calls": ["ValueError", "self.check", "httpx.get"],
        "side_effects": ["network", "environment"],
    }
    assert functions["Client"] == {
        "name": "Client",
        "kind": "class",
        "line": 5,
        "end_line": 18,
        "signature": "class Client(Transport)",
        "doc": "Speaks to the shop.",
    }
    assert functions["outer"]["side_effects"] == ["file"]


LANGUAGES = {
    "a.ts": (
        """
/** Loads one order. */
export async function load(id: number, deep?: boolean, ...rest: string[]): Promise<Order> {
  if (deep && id) throw new Missing("x");
  return fetch(process.env.URL);
}
class Cart extends Base { total = (tax: number): number => { return sum(tax) } }
""",
        {
            "load": {
                "kind": "function",
                "signature": "async function load(id: number, deep?: boolean, ...rest: string[]): Promise<Order>",
                "complexity": 3,
                "returns": "Promise<Order>",
                "doc": "Loads one order.",
                "parameters": [
                    {"name": "id", "type": "number"},
                    {"name": "deep", "type": "boolean"},
                    {"name": "...rest", "type": "string[]"},
                ],
                "raises": ["Missing"],
                "calls": ["Missing", "fetch"],
                "side_effects": ["network", "environment"],
            },
            "Cart": {"kind": "class", "signature": "class Cart extends Base"},
            "Cart.total": {
                "kind": "method",
                "signature": "total = (tax: number): number",
                "returns": "number",
                "parameters": [{"name": "tax", "type": "number"}],
                "calls": ["sum"],
            },
        },
    ),
    "a.jsx": (
        """
// Draws it.
const Button = (props) => <b onClick={props.go}>{label(props)}</b>;
exports.save = function (file) { fs.writeFileSync(file, 1) };
module.exports = { shut(door = 1) { process.exit(door) } };
""",
        {
            "Button": {
                "kind": "function",
                "signature": "Button = (props)",
                "doc": "Draws it.",
                "parameters": [{"name": "props"}],
                "calls": ["label"],
            },
            "save": {
                "kind": "function",
                "signature": "exports.save = function (file)",
                "parameters": [{"name": "file"}],
                "calls": ["fs.writeFileSync"],
                "side_effects": ["file"],
            },
            "shut": {
                "kind": "function",
                "signature": "shut(door = 1)",
                "parameters": [{"name": "door", "default": "1"}],
                "calls": ["process.exit"],
                "side_effects": ["process"],
            },
        },
    ),
    "a.go": (
        """
package shop
// Run serves until it is told to stop.
func (s *Server) Run(ctx context.Context, ports ...int) (int, error) {
	for _, p := range ports { if p > 0 || s.open { panic("no") } }
	return os.Open("x")
}
type Server struct { open bool }
""",
        {
            "Server.Run": {
                "kind": "method",
                "signature": "func (s *Server) Run(ctx context.Context, ports ...int) (int, error)",
                "complexity": 4,
                "returns": "(int, error)",
                "doc": "Run serves until it is told to stop.",
                "parameters": [
                    {"name": "ctx", "type": "context.Context"},
                    {"name": "ports", "type": "...int"},
                ],
                "raises": ["panic"],
                "calls": ["os.Open"],
                "side_effects": ["file"],
            },
            "Server": {"kind": "class", "signature": "type Server struct"},
        },
    ),
    "a.rs": (
        """
pub struct Till { open: bool }
impl<T> Till<T> {
    /// Counts the coins.
    pub fn count(&self, coins: &[u8]) -> Result<u64, Error> {
        match coins.len() { 0 => panic!("none"), _ => self.sum(coins) }
    }
}
mod deep { fn env() { std::env::var("X"); } }
""",
        {
            "Till": {"kind": "class", "signature": "pub struct Till"},
            "Till.count": {
                "kind": "method",
                "signature": "pub fn count(&self, coins: &[u8]) -> Result<u64, Error>",
                "complexity": 3,
                "returns": "Result<u64, Error>",
                "doc": "Counts the coins.",
                "parameters": [{"name": "&self"}, {"name": "coins", "type": "&[u8]"}],
                "raises": ["panic!"],
                "calls": ["coins.len", "self.sum"],
            },
            "deep.env": {
                "kind": "method",
                "signature": "fn env()",
                "calls": ["std.env.var"],
                "side_effects": ["environment"],
            },
        },
    ),
    "A.java": (
        """
/** A till. */
public class Till extends Box {
    /** Opens it. */
    @Override
    public static <T> int open(final int key, String... words) throws IOException {
        if (key > 1 && words != null) throw new Locked("x");
        return Files.size(this.path(key));
    }
    Till(int x) { super(x); }
}
""",
        {
            "Till": {"kind": "class", "signature": "public class Till extends Box", "doc": "A till."},
            "Till.open": {
                "kind": "method",
                "signature": "public static <T> int open(final int key, String... words) throws IOException",
                "complexity": 3,
                "returns": "int",
                "doc": "Opens it.",
                "parameters": [{"name": "key", "type": "int"}, {"name": "words", "type": "String..."}],
                "raises": ["IOException", "Locked"],
                "calls": ["Locked", "Files.size", "this.path"],
                "side_effects": ["file"],
            },
            "Till.Till": {
                "kind": "method",
                "signature": "Till(int x)",
                "parameters": [{"name": "x", "type": "int"}],
            },
        },
    ),
    "A.cs": (
        """
namespace Shop.Front {
  public class Till : Box {
    /// <summary>Opens it.</summary>
    public async Task<int> Open(int key, string word = "x", params int[] more) {
      if (key > 1) throw new Locked("x");
      return await Environment.GetEnvironmentVariable(word) ?? this.Count(key);
    }
  }
}
""",
        {
            "Till": {"kind": "class", "signature": "public class Till : Box"},
            "Till.Open": {
                "kind": "method",
                "signature": 'public async Task<int> Open(int key, string word = "x", params int[] more)',
                "complexity": 3,
                "returns": "Task<int>",
                "doc": "Opens it.",
                "parameters": [
                    {"name": "key", "type": "int"},
                    {"name": "word", "type": "string", "default": '"x"'},
                    {"name": "more", "type": "params int[]"},
                ],
                "raises": ["Locked"],
                "calls": ["Locked", "Environment.GetEnvironmentVariable", "this.Count"],
                "side_effects": ["environment"],
            },
        },
    ),
    "a.c": (
        """
/* Reads a line. */
static char *read_line(const char *path, int most[3], ...) {
  if (path && most) { exit(1); }
  return fopen(path, "r") ? shelf->take(path) : 0;
}
struct shelf { int n; };
""",
        {
            "read_line": {
                "kind": "function",
                "signature": "static char *read_line(const char *path, int most[3], ...)",
                "complexity": 4,
                "returns": "char *",
                "doc": "Reads a line.",
                "parameters": [
                    {"name": "path", "type": "const char *"},
                    {"name": "most", "type": "int [3]"},
                    {"name": "..."},
                ],
                "calls": ["exit", "fopen", "shelf.take"],
                "side_effects": ["file", "process"],
            },
            "shelf": {"kind": "class", "signature": "struct shelf"},
        },
    ),
    "a.hpp": (
        """
namespace shop {
/// A till.
class Till : public Box {
 public:
  int open(const std::string& key, int tries = 3) const { throw std::runtime_error(key); }
  ~Till() {}
};
template <class T> T most(T a) { return a.top(); }
}
int shop::Till::count(int x) noexcept { return x ? 1 : 2; }
""",
        {
            "Till": {"kind": "class", "signature": "class Till : public Box", "doc": "A till."},
            "Till.open": {
                "kind": "method",
                "signature": "int open(const std::string& key, int tries = 3) const",
                "returns": "int",
                "parameters": [
                    {"name": "key", "type": "const std::string&"},
                    {"name": "tries", "type": "int", "default": "3"},
                ],
                "raises": ["std.runtime_error"],
                "calls": ["std.runtime_error"],
            },
            "Till.~Till": {"kind": "method", "signature": "~Till()"},
            "most": {
                "kind": "function",
                "signature": "T most(T a)",
                "returns": "T",
                "parameters": [{"name": "a", "type": "T"}],
                "calls": ["a.top"],
            },
            "shop.Till.count": {
                "kind": "method",
                "signature": "int shop::Till::count(int x) noexcept",
                "complexity": 2,
                "returns": "int",
                "parameters": [{"name": "x", "type": "int"}],
            },
        },
    ),
    "a.rb": (
        """
module Shop
  class Till < Box
    # Opens it.
    def open(key, tries = 1, *more, deep:, **rest, &block)
      raise Locked, "x" if key
      File.read(key)
    end

    def self.make(x) = build(x)
  end
end
""",
        {
            "Shop": {"kind": "class", "signature": "module Shop"},
            "Shop.Till": {"kind": "class", "signature": "class Till < Box"},
            "Shop.Till.open": {
                "kind": "method",
                "signature": "def open(key, tries = 1, *more, deep:, **rest, &block)",
                "complexity": 2,
                "doc": "Opens it.",
                "parameters": [
                    {"name": "key"},
                    {"name": "tries", "default": "1"},
                    {"name": "*more"},
                    {"name": "deep"},
                    {"name": "**rest"},
                    {"name": "&block"},
                ],
                "raises": ["Locked"],
                "calls": ["File.read"],
                "side_effects": ["file"],
            },
            "Shop.Till.make": {
                "kind": "method",
                "signature": "def self.make(x)",
                "parameters": [{"name": "x"}],
                "calls": ["build"],
            },
        },
    ),
    "a.php": (
        """<?php
namespace Shop;
class Till extends Box {
    /** Opens it. */
    public function open(int $key, ?string $word = null, ...$more): ?int {
        if ($key && $word) { throw new Locked("x"); }
        global $till;
        return file_get_contents($this->path($key)) ?? self::none();
    }
}
""",
        {
            "Till": {"kind": "class", "signature": "class Till extends Box"},
            "Till.open": {
                "kind": "method",
                "signature": "public function open(int $key, ?string $word = null, ...$more): ?int",
                "complexity": 4,
                "returns": "?int",
                "doc": "Opens it.",
                "parameters": [
                    {"name": "$key", "type": "int"},
                    {"name": "$word", "type": "?string", "default": "null"},
                    {"name": "...$more"},
                ],
                "raises": ["Locked"],
                "calls": ["Locked", "file_get_contents", "this.path", "self.none"],
                "side_effects": ["file", "global state"],
            },
        },
    ),
}


@pytest.mark.parametrize("file", LANGUAGES)
def test_read_tells_what_each_language_declares(file):
    source, expected = LANGUAGES[file]
    functions = extract_by_name(file, source)
    for function in functions.values():
        for name in ("name", "line", "end_line"):
            function.pop(name)
    assert functions == expected


def _body_digest(source: str, file: str = "a.py") -> str:
    [function] = extract_functions(file, source.encode())
    return function.body


def test_read_body_is_blind_to_layout_comments_and_docstrings():
    plain = _body_digest("def f(a):\n    return a + 1\n")
    assert (
        _body_digest('def f(a):\n    """Says."""\n    # why\n    return (\n        a + 1\n    )\n') != plain
    )
    assert _body_digest('\n\ndef f(a):\n    """Says."""\n    # why\n    return a  +  1  # so\n') == plain
    assert _body_digest("def f(b: int):\n    return a + 1\n") == plain
    assert _body_digest("def f(a):\n    return a + 2\n") != plain


def test_read_a_class_does_not_change_with_the_body_of_a_method():
    before, after = (
        {
            function.name: function.body
            for function in extract_functions(
                "a.py", f"class A:\n  x = 1\n  def m(self): return {n}\n".encode()
            )
        }
        for n in (1, 2)
    )
    assert before["A"] == after["A"]
    assert before["A.m"] != after["A.m"]


def test_read_tells_overloads_apart():
    functions = extract_functions(
        "A.java", b"class A { int f(int a) { return 1; } int f(long a) { return 2; } }"
    )
    assert sorted(function.name for function in functions) == ["A", "A.f", "A.f#2"]


def test_read_masks_secrets_in_code():
    key = "ghp_" + "a1B2" * 9
    [function] = extract_functions("a.py", f"def f():\n    return '{key}'\n".encode())
    assert "def f()" in function.code
    assert key not in function.code


@pytest.mark.parametrize("file", [*LANGUAGES, "a.py"])
def test_read_survives_broken_and_deep_source(file):
    assert isinstance(extract_functions(file, b"\xff\xfe ((( def class {{ \x01 function ;" * 50), list)
    assert isinstance(extract_functions(file, b"x = " + b"(" * 5000 + b"1" + b")" * 5000), list)


def test_read_leaves_unknown_languages_alone():
    assert extract_functions("a.txt", b"def f(): pass") == []
