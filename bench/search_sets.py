"""The sets that `bench.search_quality` asks: our own, and public ones from a folder of the caller.

Our own are in `bench/search_sets`: 122 learnings and 61 agent sessions with their questions, written before any result
was looked at. `split` of a question says whether it may choose a constant of the product (`selection`) or only checks
it (`held-out`). Of the public sets, the questions that chose constants earlier are `selection`, others `held-out`.
"""

import hashlib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OWN_FOLDER = Path(__file__).parent / "search_sets"
SELECTION, HELD_OUT = "selection", "held-out"
_DOCUMENTS = {"pyfunc": 1000, "techfaq": 500, "cosqa": 1000, "sde_conversations": 999, "devbench": 99}
_QUESTIONS = {"pyfunc": 200, "techfaq": 150, "cosqa": 200, "sde_conversations": 99, "devbench": 99}
_MAX_HELD_OUT = {"techfaq": 102, "locomo_sessions": 300}
_LOCOMO_SELECTION = 300
_LOCOMO_TURNS_QUESTIONS = 150
_LONGMEMEVAL_QUESTIONS = 40


@dataclass(frozen=True, slots=True)
class BenchDocument:
    id: str
    title: str
    text: str
    group: str = ""
    files: tuple[str, ...] = ()
    steps: tuple[dict[str, Any], ...] = ()
    """What happened in a session; its text is made of them."""
    day: str = ""


@dataclass(frozen=True, slots=True)
class BenchQuestion:
    id: str
    text: str
    wanted: frozenset[str]
    group: str = ""
    kind: str = ""
    split: str = HELD_OUT
    before: str = ""
    """The older decision that the wanted one amends."""


@dataclass(frozen=True, slots=True)
class SearchSet:
    name: str
    documents: list[BenchDocument]
    questions: list[BenchQuestion] = field(default_factory=list)
    is_of_sessions: bool = False

    @property
    def answerable(self) -> list[BenchQuestion]:
        return [question for question in self.questions if question.wanted]

    @property
    def unanswerable(self) -> list[BenchQuestion]:
        return [question for question in self.questions if not question.wanted]


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def load_own_sets() -> list[SearchSet]:
    return [
        SearchSet(
            name, _load_documents(OWN_FOLDER / name), _load_questions(OWN_FOLDER / name), is_of_sessions
        )
        for name, is_of_sessions in (("learnings", False), ("sessions", True))
    ]


def load_public_sets(folder: Path) -> list[SearchSet]:
    """Samples of the sets that this folder has; each with the unanswerable questions of our own learnings."""
    foreign = load_own_sets()[0].unanswerable
    sets = []
    for path in sorted(folder.glob("*/corpus.jsonl")):
        name = path.parent.name
        if name == "locomo_turns":
            sets += [_load_locomo_sessions(path.parent), _load_locomo_turns(path.parent)]
        elif name.startswith("longmemeval"):
            sets.append(_load_longmemeval(path.parent))
        else:
            sets.append(_load_sample(path.parent))
    return [SearchSet(each.name, each.documents, [*each.questions, *foreign]) for each in sets]


def _load_documents(folder: Path) -> list[BenchDocument]:
    return [
        BenchDocument(
            row["id"],
            row.get("title") or _build_title(row),
            row["text"] if "text" in row else _describe_steps(row["steps"]),
            row.get("group", ""),
            tuple(row.get("files", ())),
            tuple(row.get("steps", ())),
            row.get("day", ""),
        )
        for row in read_lines(folder / "corpus.jsonl")
    ]


def _load_questions(folder: Path) -> list[BenchQuestion]:
    return [
        BenchQuestion(
            row["id"],
            row["text"][:4000],
            frozenset(row["rel"]),
            row.get("group", ""),
            str(row.get("cat", "")),
            row.get("split", HELD_OUT),
            row.get("before", ""),
        )
        for row in read_lines(folder / "queries.jsonl")
    ]


def _build_title(row: dict[str, Any]) -> str:
    """The first line; of a session its day, which no other has, and the first thing that was asked."""
    if "steps" in row:
        return f"{row['day']} {row['steps'][0]['user']}"[:80].strip()
    return row["text"].strip().splitlines()[0][:80].strip() or "untitled"


def _describe_steps(steps: Sequence[dict[str, Any]]) -> str:
    """What a transcript says, for systems that know no transcripts."""
    lines = []
    for step in steps:
        lines += [
            f"{role}: {step[role]}" for role in ("user", "assistant", "edit", "run", "output") if role in step
        ]
    return "\n".join(lines)


def _load_sample(folder: Path) -> SearchSet:
    """Questions that chose constants, as many others, and all documents that either wants among some others."""
    name = folder.name
    documents, questions = _load_documents(folder), [each for each in _load_questions(folder) if each.wanted]
    pick = random.Random(2)
    selection = pick.sample(questions, min(_QUESTIONS.get(name, 200), len(questions)))
    wanted = {each for question in selection for each in question.wanted}
    others = [document for document in documents if document.id not in wanted]
    room = max(0, _DOCUMENTS.get(name, 1000) - (len(documents) - len(others)))
    sampled = wanted | {document.id for document in pick.sample(others, min(len(others), room))}
    held_out = _sample_rest(questions, selection, _MAX_HELD_OUT.get(name, len(selection)))
    sampled |= {each for question in held_out for each in question.wanted}
    return SearchSet(
        name,
        [document for document in documents if document.id in sampled],
        [*_mark_split(selection, SELECTION), *held_out],
    )


def _sample_rest(
    questions: Sequence[BenchQuestion], chosen: Sequence[BenchQuestion], limit: int
) -> list[BenchQuestion]:
    known = {question.id for question in chosen}
    rest = [question for question in questions if question.id not in known]
    return sorted(rest, key=lambda question: hashlib.sha256(question.id.encode()).digest())[:limit]


def _mark_split(questions: Sequence[BenchQuestion], split: str) -> list[BenchQuestion]:
    return [
        BenchQuestion(each.id, each.text, each.wanted, each.group, each.kind, split) for each in questions
    ]


def _load_locomo_sessions(folder: Path) -> SearchSet:
    """Each session of a conversation as one document; a question wants the sessions of the turns that answer it."""
    session_of, texts = {}, {}
    for turn in read_lines(folder / "corpus.jsonl"):
        session_of[turn["id"]] = turn["sess"]
        document = texts.setdefault(turn["sess"], [turn["group"], f"Session on {turn['date']}", ""])
        document[2] += turn["text"] + "\n"
    questions = [
        BenchQuestion(row["id"], row["text"], frozenset(wanted), row["group"], str(row["cat"]))
        for row in read_lines(folder / "queries.jsonl")
        if (wanted := {session_of[turn] for turn in row["rel"] if turn in session_of})
    ]
    selection = random.Random(1).sample(questions, _LOCOMO_SELECTION)
    return SearchSet(
        "locomo_sessions",
        [BenchDocument(name, title, text, group) for name, (group, title, text) in texts.items()],
        [
            *_mark_split(selection, SELECTION),
            *_sample_rest(questions, selection, _MAX_HELD_OUT["locomo_sessions"]),
        ],
    )


def _load_locomo_turns(folder: Path) -> SearchSet:
    """All turns, because a question is answered within its conversation, and a sample of the questions."""
    questions = [each for each in _load_questions(folder) if each.wanted]
    selection = random.Random(2).sample(questions, _LOCOMO_TURNS_QUESTIONS)
    return SearchSet(
        folder.name,
        _load_documents(folder),
        [
            *_mark_split(selection, SELECTION),
            *_sample_rest(questions, selection, _LOCOMO_TURNS_QUESTIONS),
        ],
    )


def _load_longmemeval(folder: Path) -> SearchSet:
    """Each question has a history of its own, so few questions are many documents."""
    questions = _sample_rest(
        [each for each in _load_questions(folder) if each.wanted], (), _LONGMEMEVAL_QUESTIONS
    )
    groups = {question.group for question in questions}
    documents = [document for document in _load_documents(folder) if document.group in groups]
    return SearchSet(folder.name, documents, questions)
