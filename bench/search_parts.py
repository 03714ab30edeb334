"""What each part of the score is worth: python -m bench.search_parts [SETS=folder] (make bench-search runs it too).

Every set is put into one SQLite store, and its questions are asked as `memory_query` asks them, with each part switched
off in turn. Beside it stand FTS5 (porter, any word) and `z.6`: FTS5 and the vectors of the same model as standard
deviations from their means, 0.6 of the vectors and nothing else. Differences are of the same questions, with the 95 %
interval of a paired bootstrap, on questions that chose no constant; `*` marks one that is not 0. `mixed` has all sets in
one project. Vectors are kept in build/vectors, so that a second run costs a minute.
"""

import argparse
import asyncio
import json
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from bench.machine_sets import build_machine_sets
from bench.search_quality import score_results
from bench.search_sets import (
    HELD_OUT,
    BenchDocument,
    BenchQuestion,
    SearchSet,
    load_own_sets,
    load_public_sets,
)
from bench.search_systems import Commonplace, PlainFts5
from bench.tables import print_table
from commonplace import access
from commonplace.search.find import find_entries
from commonplace.search.models import name_model
from commonplace.search.query import EntryFilter
from commonplace.search.score import Hit, Question, is_near, is_sure
from commonplace.search.text import prepend_title, split_passages

VECTORS = Path("build/vectors")
PUBLIC_SETS = ("pyfunc", "cosqa", "techfaq", "locomo_turns", "devbench")
_RESULTS = 10
_SAMPLES = 1000
_MAX_QUESTIONS = 200
_FAR_QUESTIONS = 60
_MAX_CANDIDATES = 100
_SHARED = {"misspelt": "rules", "options": "commands"}
"""Sets that ask the same documents as another."""
_FIGURES = ("hit@1", "R@5", "R@10", "nDCG@10")
_PARTS: Mapping[str, Mapping[str, Any]] = {
    "all parts": {},
    "without exact names": {"commonplace.search.score._EXACT_BONUS": 0.0},
    "without weight by length": {"commonplace.search.score._WEIGHT_LOST_PER_PASSAGE": 0.0},
    "vectors 0.6": {
        "commonplace.search.score._WEIGHT_LOST_PER_PASSAGE": 0.0,
        "commonplace.search.score._WEIGHT_OF_ONE_PASSAGE": 0.6,
    },
    "without spelling": {"commonplace.search.spelling._MAX_REPAIRED_WORDS": 0},
}


@dataclass(slots=True)
class AskedQuestion:
    """A question with what each way found; without a wanted document it is of another field."""

    question: BenchQuestion
    prepared: Question
    hits: list[Hit]
    found: dict[str, list[frozenset[str]]]


@contextmanager
def switch_parts(values: Mapping[str, Any]) -> Iterator[None]:
    with ExitStack() as stack:
        for name, value in values.items():
            stack.enter_context(patch(name, value))
        yield


class PlainFusion:
    """`z.6`, for each group of a set: the passages of every document with their vectors."""

    def __init__(self, documents: Sequence[BenchDocument], model: Any) -> None:
        self._places: dict[str, tuple[list[str], Any]] = {}
        for group in {document.group for document in documents}:
            ids, passages = [], []
            for document in documents:
                if document.group == group:
                    cuts = split_passages(document.text)
                    ids += [document.id] * len(cuts)
                    passages += [prepend_title(document.title, cut) for cut in cuts]
            self._places[group] = (ids, model.embed(passages))

    def rank(self, group: str, vector: Any, words: Mapping[str, float]) -> list[frozenset[str]]:
        ids, matrix = self._places[group]
        near: dict[str, float] = {}
        for identity, cosine in zip(ids, (matrix @ vector).tolist(), strict=True):
            near[identity] = max(cosine, near.get(identity, -1.0))
        nearest = sorted(near, key=lambda each: -near[each])[:_MAX_CANDIDATES]
        candidates = list(dict.fromkeys([*nearest, *words]))
        meaning = _normalize([near[each] for each in candidates])
        by_words = _normalize([words.get(each, 0.0) for each in candidates])
        total = {
            each: 0.6 * one + 0.4 * other
            for each, one, other in zip(candidates, meaning, by_words, strict=True)
        }
        return [frozenset((each,)) for each in sorted(total, key=lambda each: -total[each])[:_RESULTS]]


def _normalize(values: Sequence[float]) -> list[float]:
    mean, deviation = statistics.fmean(values), statistics.pstdev(values) or 1.0
    return [(value - mean) / deviation for value in values]


async def ask_set(searched: SearchSet, cache: Path, far: Sequence[str] = ()) -> list[AskedQuestion]:
    """Every question of the set, and those of another field (`far`), which want nothing."""
    product, plain = Commonplace(vectors=cache), PlainFts5()
    await product.fill(searched)
    await plain.fill(searched)
    model = product._calls.search._models["on"]  # noqa: SLF001
    fusion = PlainFusion(searched.documents, model)
    questions = searched.answerable[: 2 * _MAX_QUESTIONS]
    groups = sorted({document.group for document in searched.documents})
    questions += [BenchQuestion(f"far-{n}", each, frozenset(), groups[0]) for n, each in enumerate(far)]
    asked = [await _ask_question(product, plain, fusion, model, question) for question in questions]
    model.save()
    await product.close()
    return asked


async def _ask_question(
    product: Commonplace, plain: PlainFts5, fusion: PlainFusion, model: Any, question: BenchQuestion
) -> AskedQuestion:
    vector = model.embed([question.text])[0]
    name = await product._calls.search._load_in_use()  # noqa: SLF001
    known = model.list_known_words(question.text)
    prepared = Question(question.text, _name_model(name), vector, model.floor, model.relevance, known)
    project = access.normalize_project_name(f"set {question.group or 'all'}")
    search = partial(
        find_entries,
        vectors=product._calls.search.vectors,  # noqa: SLF001
        question=prepared,
        projects=[project],
        entry_filter=EntryFilter(0),
    )
    found: dict[str, list[frozenset[str]]] = {}
    all_hits: list[Hit] = []
    for part, values in _PARTS.items():
        with switch_parts(values):
            hits = await product._calls.database.read(search)  # noqa: SLF001
        found[part] = [frozenset(product._stands[hit.id]) for hit in hits[:_RESULTS]]  # noqa: SLF001
        all_hits = all_hits or hits
    words = plain.score_words(question, _MAX_CANDIDATES)
    found["FTS5"] = [frozenset((each,)) for each in list(words)[:_RESULTS]]
    found["z.6"] = fusion.rank(question.group, vector, words)
    return AskedQuestion(question, prepared, all_hits, found)


def _name_model(used: Any) -> str:
    return name_model(used[0])


def compare_paired(one: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """The mean difference in points, and the 95 % interval of a paired bootstrap."""
    differences = np.array(one) - np.array(other)
    pick = np.random.default_rng(7)
    means = differences[pick.integers(0, len(differences), (_SAMPLES, len(differences)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return 100 * float(differences.mean()), 100 * float(low), 100 * float(high)


def format_difference(one: Sequence[float], other: Sequence[float]) -> str:
    mean, low, high = compare_paired(one, other)
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]{'*' if low > 0 or high < 0 else ''}"


def build_rows(name: str, asked: Sequence[AskedQuestion], split: str | None) -> list[list[str]]:
    """A row for each system and for each part that is switched off, beside all parts."""
    chosen = [each for each in asked if each.question.wanted and split in (None, each.question.split)]
    if not chosen:
        return []
    scores = {
        way: list(
            zip(*(score_results(each.found[way], each.question.wanted) for each in chosen), strict=True)
        )
        for way in chosen[0].found
    }
    own = scores["all parts"]
    rows = []
    for way, figures in scores.items():
        means = [f"{100 * statistics.fmean(each):.1f}" for each in figures]
        against = (
            ["", ""] if way == "all parts" else [format_difference(own[at], figures[at]) for at in (0, 3)]
        )
        rows.append([name, way, str(len(chosen)), *means, *against])
    return rows


def describe_relevance(name: str, asked: Sequence[AskedQuestion]) -> list[str]:
    """What is shown as sure, doubtful or not at all."""
    answerable = [each for each in asked if each.question.wanted]
    far = [each for each in asked if not each.question.wanted]
    near = [any(is_near(hit, each.prepared) for hit in each.hits[:3]) for each in answerable]
    sure = [any(is_sure(hit, each.prepared) for hit in each.hits[:3]) for each in answerable]
    told = [not any(is_near(hit, each.prepared) for hit in each.hits[:3]) for each in far]
    doubted = [not any(is_sure(hit, each.prepared) for hit in each.hits[:3]) for each in far]
    return [
        name,
        f"{len(near) - sum(near)} of {len(near)}",
        f"{len(sure) - sum(sure)} of {len(sure)}",
        f"{sum(told)} of {len(told)}",
        f"{sum(doubted)} of {len(doubted)}",
    ]


def build_mixed_set(sets: Sequence[SearchSet]) -> SearchSet:
    """All sets that have no groups, in one project."""
    documents: dict[str, BenchDocument] = {}
    questions: list[BenchQuestion] = []
    for each in sets:
        if all(not document.group for document in each.documents):
            documents |= {document.id: document for document in each.documents}
            questions += random.Random(each.name).sample(each.answerable, min(60, len(each.answerable)))
    return SearchSet("mixed", list(documents.values()), questions)


async def measure_sets(sets: Sequence[SearchSet], dump: Path | None) -> None:
    rows, relevance, pooled = [], [], []
    for searched in sets:
        shared = _SHARED.get(searched.name, searched.name)
        others = [each for each in sets if _SHARED.get(each.name, each.name) != shared and each.answerable]
        pick = random.Random(searched.name)
        far = (
            [pick.choice(pick.choice(others).answerable).text for _ in range(_FAR_QUESTIONS)]
            if others
            else []
        )
        if searched.name in ("mixed", "learnings", "locomo_turns", "devbench"):
            far = [question.text for question in searched.unanswerable][:_FAR_QUESTIONS]
        asked = await ask_set(searched, VECTORS / shared, far)
        rows += build_rows(searched.name, asked, HELD_OUT)
        relevance.append(describe_relevance(searched.name, asked))
        pooled += asked
        if dump:
            _dump_hits(dump, searched.name, asked)
        print(searched.name, flush=True)
    rows += build_rows("all sets", pooled, HELD_OUT)
    print_table(
        "What each part is worth",
        ["set", "way", "questions", *_FIGURES, "all parts - this, hit@1", "nDCG@10"],
        rows,
    )
    print_table(
        "What is shown as sure, doubtful, or not at all",
        ["set", "lost", "without a sure hit", "far: told nothing", "far: nothing sure"],
        relevance,
    )


def _dump_hits(folder: Path, name: str, asked: Sequence[AskedQuestion]) -> None:
    """The measures of each hit, from which constants are chosen."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        {
            "split": each.question.split,
            "answerable": bool(each.question.wanted),
            "right": [bool(ids & each.question.wanted) for ids in each.found["all parts"]],
            "hits": [
                [hit.similarity, hit.coverage, hit.exactness, hit.score] for hit in each.hits[:_RESULTS]
            ],
        }
        for each in asked
    ]
    (folder / f"{name}.jsonl").write_text("\n".join(json.dumps(line) for line in lines))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, help="a folder of public sets")
    parser.add_argument("--only", help="names of sets, with commas between them")
    parser.add_argument("--dump", type=Path, help="a folder for the measures of each hit")
    options = parser.parse_args()
    sets = [*build_machine_sets(), load_own_sets()[0]]
    if options.sets:
        sets += [each for each in load_public_sets(options.sets) if each.name in PUBLIC_SETS]
    sets.append(build_mixed_set(sets))
    if options.only:
        sets = [each for each in sets if each.name in options.only.split(",")]
    asyncio.run(measure_sets(sets, options.dump))


if __name__ == "__main__":
    main()
