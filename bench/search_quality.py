"""How well search finds, beside plain FTS5 and other memory servers: make bench-search [SETS=folder] [ARGS=...].

Every system gets the same documents and questions in one run. hit@1: the first result is wanted; R@k: the share of the
wanted documents among the first k; nDCG@10. `told`: the share of unanswerable questions that get no result; `lost`: the
share of answerable ones that get none, by the rule of relevance or because nothing matches. CPU and tokens are those of
a question as an agent asks it, without options.
`--write` renews the rows of these sets in bench/results, from which search.md is made.
"""

import argparse
import asyncio
import json
import math
import platform
import statistics
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from bench.search_peers import (
    BASIC_MEMORY,
    MEMORY_SERVICE,
    BasicMemory,
    GroupedPeer,
    MemoryService,
    install_peer,
)
from bench.search_sets import HELD_OUT, SELECTION, BenchQuestion, SearchSet, load_own_sets, load_public_sets
from bench.search_systems import RESULTS, Commonplace, PlainFts5, SearchSystem

RESULTS_PAGE = Path(__file__).parent / "results" / "search.md"
RESULTS_ROWS = RESULTS_PAGE.with_suffix(".json")
"""The rows of every set, so that a run of some sets renews theirs and the page keeps the others."""
SMALL_SET_DOCUMENTS = 200
"""Peers take seconds for a document; larger sets are asked of FTS5 and of the default only."""
OWN_SETS = ("learnings", "sessions")
_TIMED_QUESTIONS = 40
_BYTES_PER_TOKEN = 4
_COLUMNS = (
    "set",
    "system",
    "questions",
    "hit@1",
    "R@5",
    "R@10",
    "nDCG@10",
    "told",
    "lost",
    "newer first",
    "CPU ms",
    "tokens",
    "tokens if none",
)


@dataclass(slots=True)
class Measurement:
    """The figures of one system on one set, by the split and the kind of the questions."""

    set_name: str
    system: str
    scores: dict[str, list[tuple[float, float, float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    lost: Counter[str] = field(default_factory=Counter)
    told: list[bool] = field(default_factory=list)
    newer_first: list[bool] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    tokens_if_none: list[int] = field(default_factory=list)
    note: str = ""

    def format_row(self, group: str) -> list[str]:
        values = self.scores[group]
        figures = [f"{100 * statistics.fmean(each):.1f}" for each in zip(*values, strict=True)]
        return [
            self.set_name,
            self.system,
            str(len(values)),
            *figures,
            _format_share(self.told),
            f"{100 * self.lost[group] / len(values):.1f} %",
            _format_share(self.newer_first),
            _format_mean([1000 * each for each in self.cpu_seconds], 1),
            _format_mean(self.tokens),
            _format_mean(self.tokens_if_none),
        ]


def _format_share(values: Sequence[bool]) -> str:
    return f"{sum(values)} of {len(values)}" if values else "-"


def _format_mean(values: Sequence[float], digits: int = 0) -> str:
    return f"{statistics.fmean(values):.{digits}f}" if values else "-"


async def measure_system(system: SearchSystem, searched: SearchSet) -> Measurement:
    measured = Measurement(searched.name, system.name)
    try:
        await system.fill(searched)
    except (RuntimeError, OSError, TimeoutError) as failed:
        measured.note = f"did not run: {str(failed) or type(failed).__name__}"
        return measured
    await system.ask(searched.questions[0], None)
    for question in _pick_timed(searched.answerable[1:]):
        answer = await system.ask(question, None)
        measured.cpu_seconds.append(answer.cpu_seconds)
        measured.tokens.append(len(answer.reply.encode()) // _BYTES_PER_TOKEN)
    for question in _pick_timed(searched.unanswerable):
        reply = (await system.ask(question, None)).reply
        measured.tokens_if_none.append(len(reply.encode()) // _BYTES_PER_TOKEN)
    for question in searched.questions:
        answer = await system.ask(question, RESULTS)
        if not question.wanted:
            measured.told.append(not answer.ids)
            continue
        score = score_results(answer.ids, question.wanted)
        for group in ("all", question.split, f"kind {question.kind}"):
            measured.scores[group].append(score)
            measured.lost[group] += not answer.ids
        if question.before:
            measured.newer_first.append(_is_newer_first(answer.ids, question))
    await system.close()
    return measured


def _pick_timed(questions: Sequence[BenchQuestion]) -> Sequence[BenchQuestion]:
    return questions[:: max(1, len(questions) // _TIMED_QUESTIONS)]


def score_results(
    results: Sequence[frozenset[str]], wanted: frozenset[str]
) -> tuple[float, float, float, float]:
    found = [len(frozenset().union(*results[:most]) & wanted) / len(wanted) for most in (5, 10)]
    gain = sum(bool(ids & wanted) / math.log2(place + 2) for place, ids in enumerate(results[:10]))
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(wanted))))
    return float(bool(results and results[0] & wanted)), *found, gain / ideal


def _is_newer_first(results: Sequence[frozenset[str]], question: BenchQuestion) -> bool:
    places = {document: place for place, ids in enumerate(results) for document in ids}
    newer = min((places[each] for each in question.wanted if each in places), default=len(results))
    return newer < places.get(question.before, len(results))


def _list_systems(
    searched: SearchSet, arguments: argparse.Namespace, peers: Sequence[SearchSystem]
) -> Iterable[SearchSystem]:
    cache = arguments.vectors / searched.name if arguments.vectors else None
    is_small = len(searched.documents) <= SMALL_SET_DOCUMENTS
    yield PlainFts5()
    if is_small or arguments.everything:
        yield Commonplace(embeddings="off")
    yield Commonplace(vectors=cache)
    if is_small or arguments.everything:
        yield Commonplace("postgresql", vectors=cache)
    if is_small:
        yield from peers


def _install_peers(folder: Path) -> tuple[list[SearchSystem], list[str]]:
    """The peers that could be installed, and why others could not."""
    systems: list[SearchSystem] = []
    missing = []
    for package, build in ((MEMORY_SERVICE, MemoryService), (BASIC_MEMORY, BasicMemory)):
        try:
            systems.append(GroupedPeer(partial(build, install_peer(package, folder))))
        except (subprocess.CalledProcessError, FileNotFoundError) as failed:
            missing.append(f"{package.name} could not be installed: {failed}")
    return systems, missing


async def measure_sets(sets: Sequence[SearchSet], arguments: argparse.Namespace) -> None:
    """Print each row when it is measured, and write the page after each set."""
    peers, missing = (
        _install_peers(arguments.peers) if arguments.peers else ([], ["Peers were left out of this run."])
    )
    measurements: list[Measurement] = []
    for searched in sets:
        for system in _list_systems(searched, arguments, peers):
            measurements.append(await measure_system(system, searched))
            print(_format_line(measurements[-1]), flush=True)
        if arguments.write:
            write_results(searched, measurements, missing)


def write_results(searched: SearchSet, measurements: Sequence[Measurement], missing: Sequence[str]) -> None:
    """Replace the rows of this set, and make the page of all. Rows of systems that this run left out stay, with a note."""
    RESULTS_PAGE.parent.mkdir(exist_ok=True)
    stored = json.loads(RESULTS_ROWS.read_text(encoding="utf-8")) if RESULTS_ROWS.exists() else {}
    former = stored.get(searched.name, {"rows": [], "day": ""})
    asked = {each.system for each in measurements}
    kept = [row for row in former["rows"] if row["all"][1] not in asked]
    missing = [*missing, *(f"{row['all'][1]}: measured on {former['day']}." for row in kept)]
    stored[searched.name] = {
        "day": f"{datetime.now(UTC):%Y-%m-%d}",
        "size": f"{len(searched.documents)} documents, {len(searched.answerable)} questions,"
        f" {len(searched.unanswerable)} unanswerable",
        "rows": [
            {group: each.format_row(group) for group in sorted(each.scores)}
            for each in measurements
            if each.set_name == searched.name and each.scores
        ]
        + kept,
        "notes": [*missing, *(f"{each.system}: {each.note}" for each in measurements if each.note)],
    }
    RESULTS_ROWS.write_text(
        json.dumps(stored, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )
    RESULTS_PAGE.write_text(render_page(stored), encoding="utf-8")


def _format_line(measured: Measurement) -> str:
    return (
        "| "
        + " | ".join(measured.format_row("all") if measured.scores else [measured.system, measured.note])
        + " |"
    )


def render_page(stored: dict[str, Any]) -> str:
    rows = [row for each in stored.values() for row in each["rows"]]
    own = [row for row in rows if row["all"][0] in OWN_SETS]
    lines = [
        "# How well search finds",
        "",
        f"Made by `make bench-search`, {platform.machine()}, Python {platform.python_version()}.",
        "Each set is asked of all its systems in one run, unless a note below says otherwise.",
        "CPU times are those of a shared machine: compare rows of one set with each other.",
        "",
        (__doc__ or "").split("\n", 2)[2].strip(),
        "",
        "## All questions",
        "",
        *_render_table(_COLUMNS, [row["all"] for row in rows]),
        "",
        "## Where Commonplace is below plain FTS5",
        "",
        *_list_losses(rows),
        "",
        "## By split",
        "",
        "Constants of the product were chosen on `selection` questions; `held-out` questions only check them.",
        "",
        *_render_table(
            ("set", "system", "split", *_COLUMNS[2:7]),
            [
                [*row[split][:2], split, *row[split][2:7]]
                for row in rows
                for split in (SELECTION, HELD_OUT)
                if split in row
            ],
        ),
        "",
        "## By kind of question, our own sets",
        "",
        *_render_table(
            ("set", "kind", "system", *_COLUMNS[2:7], _COLUMNS[8]),
            sorted(
                [row[kind][0], kind.removeprefix("kind "), row[kind][1], *row[kind][2:7], row[kind][8]]
                for row in own
                for kind in row
                if kind.startswith("kind ")
            ),
        ),
        "",
        "## Sets",
        "",
        *(f"- {name}: {each['size']}; measured {each['day']}." for name, each in sorted(stored.items())),
        *(f"- {name}: {note}" for name, each in sorted(stored.items()) for note in each["notes"]),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _list_losses(rows: Sequence[dict[str, list[str]]]) -> list[str]:
    """Each figure of the default that is below that of plain FTS5, over all questions of a set and over each split."""
    lines = []
    for group in ("all", SELECTION, HELD_OUT):
        plain = {row[group][0]: row[group] for row in rows if group in row and row[group][1] == "FTS5"}
        for row in rows:
            ours = row.get(group, ["", ""])
            if ours[1] == "Commonplace" and ours[0] in plain:
                lines += [
                    f"- {ours[0]}, {group} questions, {name}: {ours[at]} against {plain[ours[0]][at]}"
                    for at, name in enumerate(_COLUMNS)
                    if 3 <= at <= 6 and float(ours[at]) < float(plain[ours[0]][at])
                ]
    return lines or ["Nowhere, on hit@1, R@5, R@10 and nDCG@10 of these sets."]


def _render_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    table = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(row) + " |" for row in table]


def _count_documents(searched: SearchSet) -> int:
    """Small sets first: whoever stops a run has the most systems measured."""
    return len(searched.documents)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, help="a folder of public sets (corpus.jsonl, queries.jsonl)")
    parser.add_argument("--only", default="", help="names of sets, separated by commas")
    parser.add_argument(
        "--peers", type=Path, help="install other memory servers into this folder, and ask them too"
    )
    parser.add_argument(
        "--everything", action="store_true", help="large sets also by words only and on PostgreSQL"
    )
    parser.add_argument(
        "--vectors", type=Path, help="a folder that remembers vectors from one run to the next"
    )
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS_PAGE.name}")
    arguments = parser.parse_args()
    sets = [*load_own_sets(), *(load_public_sets(arguments.sets) if arguments.sets else [])]
    only = set(filter(None, arguments.only.split(",")))
    sets = sorted((each for each in sets if not only or each.name in only), key=_count_documents)
    print("| " + " | ".join(_COLUMNS) + " |")
    asyncio.run(measure_sets(sets, arguments))


if __name__ == "__main__":
    main()
