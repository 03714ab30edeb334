"""Pairs of edits of one file, made by a seeded program: source in four languages, and what two agents do to it."""

from dataclasses import dataclass
from random import Random
from typing import NamedTuple


class Edit(NamedTuple):
    """One call of an editing tool."""

    old: str
    new: str
    is_everywhere: bool = False


class Language(NamedTuple):
    suffix: str
    imported: str
    head: tuple[str, ...]
    entry: str
    tail: tuple[str, ...]
    opening: str
    body: tuple[str, ...]
    closing: tuple[str, ...]
    indent: str


LANGUAGES = [
    Language(
        ".py",
        "from shop import {name}",
        ("RATES = [",),
        '    "{name}",',
        ("]",),
        "def {name}(items, rate):",
        ("total = sum(items) * {number}", "if total > {number}:", "    total -= rate", "log(total)", "rate += {number}"),
        ("    return total",),
        "    ",
    ),
    Language(
        ".ts",
        'import {{ {name} }} from "./{name}";',
        ("export const RATES = [",),
        '  "{name}",',
        ("];",),
        "export function {name}(items: number[], rate: number): number {{",
        ("let total = items.length * {number};", "if (total > {number}) {{", "  total -= rate;", "}}", "log(total);"),
        ("  return total;", "}"),
        "  ",
    ),
    Language(
        ".go",
        '\t"shop/{name}"',
        ("var rates = []string{",),
        '\t"{name}",',
        ("}",),
        "func {name}(items []int, rate int) int {{",
        ("total := len(items) * {number}", "if total > {number} {{", "\ttotal -= rate", "}}", "log(total)"),
        ("\treturn total", "}"),
        "\t",
    ),
    Language(
        ".rs",
        "use shop::{name};",
        ("const RATES: &[&str] = &[",),
        '    "{name}",',
        ("];",),
        "pub fn {name}(items: &[i64], rate: i64) -> i64 {{",
        ("let mut total = items.len() as i64 * {number};", "if total > {number} {{", "    total -= rate;", "}}", "log(total);"),
        ("    total", "}"),
        "    ",
    ),
]  # fmt: skip


@dataclass
class Source:
    """A file that is being edited, with what was done to it."""

    language: Language
    lines: list[str]
    random: Random
    near: int = -1
    """The line that an edit should be close to; -1 for anywhere."""

    def __post_init__(self) -> None:
        self.edits: list[Edit] = []
        self.touched: list[int] = []

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def replace_lines(self, start: int, end: int, new: list[str]) -> None:
        """As an agent does it: the old text has as much around it as makes it unique."""
        before, after = (self.random.randint(0, 3) for _ in range(2))
        if start == end and before == after == 0:
            before = 1
        while self.lines:
            first, last = max(start - before, 0), min(end + after, len(self.lines))
            old = "\n".join(self.lines[first:last]) + "\n"
            if first < last and f"\n{self.text}".count(f"\n{old}") == 1 and self.text.count(old) == 1:
                break
            before, after = before + 1, after + 1
        changed = [*self.lines[first:start], *new, *self.lines[end:last]]
        self.edits.append(Edit(old, "".join(f"{line}\n" for line in changed)))
        self.lines[start:end] = new
        self.touched.append(start)

    def pick_line(self) -> int:
        if self.near >= 0:
            return min(max(self.near + self.random.randint(-4, 4), 0), len(self.lines) - 1)
        return self.random.randrange(len(self.lines))

    def list_functions(self) -> list[tuple[int, int]]:
        """The first line of each function and the line after it."""
        word = self.language.opening.partition("{name}")[0]
        starts = [index for index, line in enumerate(self.lines) if line.startswith(word)]
        ends = [*starts[1:], len(self.lines)]
        return [(start, end) for start, end in zip(starts, ends, strict=True)]

    def make_function(self) -> list[str]:
        return make_function(self.language, self.random)

    def make_name(self) -> str:
        return make_name(self.random)


def make_name(random: Random) -> str:
    words = [
        "add",
        "take",
        "sum",
        "round",
        "check",
        "load",
        "store",
        "print",
        "tax",
        "rate",
        "cart",
        "item",
        "price",
        "order",
    ]
    return f"{random.choice(words)}_{random.choice(words)}_{random.randrange(1_000)}"


def make_function(language: Language, random: Random) -> list[str]:
    body = [
        language.indent + line.format(number=random.randrange(100))
        for _ in range(random.randint(1, 2))
        for line in language.body
    ]
    return [language.opening.format(name=make_name(random)), *body, *language.closing, ""]


def make_source(language: Language, random: Random) -> list[str]:
    imports = [language.imported.format(name=make_name(random)) for _ in range(random.randint(2, 5))]
    if language.suffix == ".go":
        imports = ["package shop", "", "import (", *imports, ")"]
    entries = [language.entry.format(name=make_name(random)) for _ in range(random.randint(3, 8))]
    functions = [make_function(language, random) for _ in range(random.randint(4, 10))]
    lines = [*imports, "", *language.head, *entries, *language.tail, ""]
    return [*lines, *(line for function in functions for line in function)][:-1]


# -- what an agent does ---------------------------------------------------------------------------------------


def replace_block(source: Source) -> None:
    start = source.pick_line()
    end = min(start + source.random.randint(1, 4), len(source.lines))
    count = source.random.randint(1, 4)
    source.replace_lines(
        start, end, [f"{source.language.indent}log({source.make_name()})" for _ in range(count)]
    )


def insert_lines(source: Source) -> None:
    start = source.pick_line()
    count = source.random.randint(1, 3)
    new = [f"{source.language.indent}log({source.make_name()})" for _ in range(count)]
    source.replace_lines(start, start, new)


def delete_lines(source: Source) -> None:
    start = source.pick_line()
    source.replace_lines(start, min(start + source.random.randint(1, 3), len(source.lines)), [])


def add_import(source: Source) -> None:
    word = source.language.imported.partition("{name}")[0]
    places = [index for index, line in enumerate(source.lines) if line.startswith(word)]
    at = source.random.choice([*places, places[-1] + 1]) if places else 0
    source.replace_lines(at, at, [source.language.imported.format(name=source.make_name())])


def add_entry(source: Source) -> None:
    head = next((index for index, line in enumerate(source.lines) if line == source.language.head[0]), 0)
    at = head + 1 + source.random.randint(0, 3)
    source.replace_lines(at, at, [source.language.entry.format(name=source.make_name())])


def add_to_end(source: Source) -> None:
    end = len(source.lines)
    source.replace_lines(end, end, ["", *source.make_function()[:-1]])


def insert_function(source: Source) -> None:
    starts = [start for start, _ in source.list_functions()]
    at = min(starts, key=lambda start: abs(start - source.pick_line()), default=0)
    source.replace_lines(at, at, source.make_function())


def delete_function(source: Source) -> None:
    if functions := source.list_functions():
        line = source.pick_line()
        start, end = min(functions, key=lambda function: abs(function[0] - line))
        source.replace_lines(start, end, [])


def move_function(source: Source) -> None:
    functions = source.list_functions()
    if len(functions) < 3:
        return
    start, end = functions[source.random.randrange(len(functions) - 1)]
    moved = source.lines[start:end]
    source.replace_lines(start, end, [])
    at = source.random.choice([start for start, _ in source.list_functions()])
    source.replace_lines(at, at, moved)


def change_white_space(source: Source) -> None:
    start = source.pick_line()
    end = min(start + source.random.randint(1, 3), len(source.lines))
    source.replace_lines(start, end, [f"{source.language.indent}{line}" for line in source.lines[start:end]])


def rename_everywhere(source: Source) -> None:
    names = [word for word in ("rate", "total", "items") if source.text.count(word)]
    if not names:
        return
    old, new = source.random.choice(names), source.make_name()
    source.edits.append(Edit(old, new, is_everywhere=True))
    source.touched += [index for index, line in enumerate(source.lines) if old in line]
    source.lines = [line.replace(old, new) for line in source.lines]


ACTS = [
    *[replace_block] * 5, *[insert_lines] * 4, *[delete_lines] * 3, *[add_import] * 2, *[add_entry] * 2,
    add_to_end, insert_function, insert_function, delete_function, move_function, change_white_space,
]  # fmt: skip


@dataclass(frozen=True)
class EditPair:
    path: str
    base: str
    first: list[Edit]
    first_text: str
    second: list[Edit]
    second_text: str


def make_pair(number: int, seed: int = 17) -> EditPair:
    """The same pair for the same number and seed; every other second edit is close to the first."""
    random = Random(f"{seed} {number}")
    language = LANGUAGES[number % len(LANGUAGES)]
    lines = make_source(language, random)
    first = Source(language, list(lines), random)
    edit_source(first)
    is_near = random.random() < 0.4
    second = Source(language, list(lines), random, random.choice(first.touched) if is_near else -1)
    edit_source(second)
    return EditPair(
        f"src/pair_{number}{language.suffix}",
        "\n".join(lines) + "\n",
        first.edits,
        first.text,
        second.edits,
        second.text,
    )


def edit_source(source: Source) -> None:
    before = source.text
    for _ in range(source.random.randint(1, 3)):
        # Renaming a word of every function is rare, and meets everything else.
        act = rename_everywhere if source.random.random() < 0.02 else source.random.choice(ACTS)
        act(source)
    while source.text == before or not source.touched:
        replace_block(source)
