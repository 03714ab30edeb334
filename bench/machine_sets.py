"""Sets of documents and questions that are made from what every development machine has.

`rules`: the message of a lint rule -> its page; `misspelt`: the same with a typing error. `commands`: what a program
does -> its manual; `options`: an option that few programs have -> their manuals. `functions`: the first sentence of a
docstring -> the function without it. Every second question of a set may choose constants, the others only check them.
"""

import ast
import gzip
import inspect
import json
import random
import re
import shutil
import subprocess
import sysconfig
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from bench.search_sets import HELD_OUT, SELECTION, BenchDocument, BenchQuestion, SearchSet

_MANUALS = Path("/usr/share/man/man1")
_MAX_DOCUMENTS = 600
_MAX_QUESTIONS = 150
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]{5,}\w\b")
_MAX_OPTION_MANUALS = 3
_MIN_FUNCTION_LINES, _MAX_FUNCTION_LINES = 6, 60
_MIN_SENTENCE_WORDS = 5
_PACKAGES = (
    "uvicorn",
    "asyncpg",
    "msgspec",
    "pytest",
    "hypothesis",
    "pip",
    "coverage",
    "websockets",
    "anyio",
)


def build_machine_sets() -> list[SearchSet]:
    """Those that this machine has the material for."""
    sets = [*_build_rule_sets(), *_build_manual_sets(), _build_function_set()]
    return [each for each in sets if len(each.questions) >= _MAX_QUESTIONS // 5]


def _make_questions(pairs: list[tuple[str, frozenset[str]]], seed: str) -> list[BenchQuestion]:
    chosen = random.Random(seed).sample(
        sorted(pairs, key=lambda pair: pair[0]), min(_MAX_QUESTIONS, len(pairs))
    )
    return [
        BenchQuestion(f"{seed}-{n}", question, wanted, split=(SELECTION, HELD_OUT)[n % 2])
        for n, (question, wanted) in enumerate(chosen)
    ]


def _build_rule_sets() -> Iterator[SearchSet]:
    ruff = shutil.which("ruff", path=sysconfig.get_path("scripts")) or shutil.which("ruff")
    if ruff is None:
        return
    listed = subprocess.run(
        [ruff, "rule", "--all", "--output-format", "json"], capture_output=True, text=True, check=True
    )
    rules = json.loads(listed.stdout)
    documents = [
        BenchDocument(rule["code"], rule["name"], rule["explanation"] or rule["summary"]) for rule in rules
    ][:_MAX_DOCUMENTS]
    known = {document.id for document in documents}
    pairs = [
        (re.sub(r"\{[^}]*\}", "total", rule["message_formats"][0]), frozenset({rule["code"]}))
        for rule in rules
        if rule["code"] in known and rule["message_formats"] and rule["message_formats"][0].strip()
    ]
    yield SearchSet("rules", documents, _make_questions(pairs, "rules"))
    misspelt = [(typo, wanted) for question, wanted in pairs if (typo := _misspell(question)) != question]
    yield SearchSet("misspelt", documents, _make_questions(misspelt, "misspelt"))


def _misspell(question: str) -> str:
    """Swap two letters inside of the longest word."""
    word = max(re.findall(r"[a-z]+", question), key=len, default="")
    if len(word) < 6 or word[2] == word[3]:
        return question
    return question.replace(word, word[:2] + word[3] + word[2] + word[4:])


def _build_manual_sets() -> Iterator[SearchSet]:
    pages = sorted(_MANUALS.glob("*.1*")) if _MANUALS.is_dir() else []
    texts = {}
    for page in random.Random("manuals").sample(pages, min(len(pages), 3 * _MAX_DOCUMENTS)):
        text = _read_manual(page)
        if text and text not in texts.values():
            texts[page.name.split(".1")[0]] = text
        if len(texts) == _MAX_DOCUMENTS:
            break
    documents, purposes = [], []
    manuals_by_option: dict[str, set[str]] = defaultdict(set)
    for name, text in texts.items():
        heading, _, body = text.partition("\n")
        documents.append(BenchDocument(name, name, body[:3000]))
        words = re.sub(rf"\b{re.escape(name)}\b", "", heading.partition(" - ")[2]).strip()
        if len(words.split()) >= _MIN_SENTENCE_WORDS:
            purposes.append((words, frozenset({name})))
        for option in _OPTION.findall(body[:3000]):
            manuals_by_option[option].add(name)
    yield SearchSet("commands", documents, _make_questions(purposes, "commands"))
    options = [
        (f"which command has the option {option}", frozenset(names))
        for option, names in manuals_by_option.items()
        if len(names) <= _MAX_OPTION_MANUALS
    ]
    yield SearchSet("options", documents, _make_questions(options, "options"))


def _read_manual(page: Path) -> str:
    """Its name and purpose in the first line, then the text without marks of typesetting."""
    try:
        raw = gzip.decompress(page.read_bytes()) if page.suffix == ".gz" else page.read_bytes()
    except OSError:
        return ""
    source = raw.decode(errors="replace").replace("\\-", "-")
    source = re.sub(r"\\f[A-Z]|\\f\(..|\\&|\\\(..|\\s[+-]?\d", "", source)
    lines = [
        re.sub(r'^\.\w+\s*"?', "", line).strip()
        for line in source.splitlines()
        if not line.startswith('.\\"')
    ]
    start = next((n for n, line in enumerate(lines) if line.strip('" ').upper() == "NAME"), -1)
    heading = " ".join(lines[start + 1 : start + 3])
    return (
        f"{heading}\n" + "\n".join(line for line in lines[start + 3 :] if line)
        if start >= 0 and " - " in heading
        else ""
    )


def _build_function_set() -> SearchSet:
    documents, pairs = [], []
    library = Path(sysconfig.get_path("purelib"))
    for package in _PACKAGES:
        for path in sorted((library / package).rglob("*.py")):
            for function, source in _list_functions(path):
                identity = f"{path.relative_to(library)}:{function.lineno}"
                sentence = (ast.get_docstring(function) or "").partition("\n")[0].rstrip(".")
                documents.append(BenchDocument(identity, function.name, source))
                if len(sentence.split()) >= _MIN_SENTENCE_WORDS:
                    pairs.append((sentence, frozenset({identity})))
    questions = _make_questions(pairs, "functions")
    wanted = frozenset().union(*(question.wanted for question in questions))
    others = random.Random("functions").sample(documents, len(documents))
    kept = sorted(others, key=lambda document: document.id not in wanted)[:_MAX_DOCUMENTS]
    return SearchSet("functions", kept, questions)


def _list_functions(path: Path) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """Functions of some length, with their source without the docstring."""
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.end_lineno is None:
            continue
        lines = text.splitlines()[node.lineno - 1 : node.end_lineno]
        if not _MIN_FUNCTION_LINES <= len(lines) <= _MAX_FUNCTION_LINES:
            continue
        if ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            del lines[first.lineno - node.lineno : (first.end_lineno or first.lineno) - node.lineno + 1]
        yield node, inspect.cleandoc("\n".join(lines))
