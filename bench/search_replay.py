"""Does use help to find? python -m bench.search_replay [--vectors FOLDER]

A replay: whoever asked a `selection` question about our learnings opens what it wants until the bonus for use is full;
then the `held-out` questions are asked. They want other documents in part, which the bonus must not push away. The same
with a bonus five times as large shows why it is bounded.
"""

import argparse
import asyncio
from pathlib import Path

from bench.search_quality import score_results
from bench.search_sets import HELD_OUT, SELECTION, SearchSet, load_own_sets
from bench.search_systems import RESULTS, Commonplace
from bench.tables import format_row, print_table
from commonplace.rooms.knowledge import search

LARGER = 5
COLUMNS = ("opened before", "bonus", "questions", "hit@1", "R@5", "R@10", "nDCG@10")


async def open_wanted(system: Commonplace, searched: SearchSet) -> None:
    wanted = {
        document
        for question in searched.answerable
        if question.split == SELECTION
        for document in question.wanted
    }
    for _ in range(search.USES_FOR_FULL_BONUS):
        await system.open_documents(wanted)


async def score_held_out(system: Commonplace, searched: SearchSet) -> list[str]:
    scores = []
    for question in searched.answerable:
        if question.split == HELD_OUT:
            answer = await system.ask(question, RESULTS)
            scores.append(score_results(answer.ids, question.wanted))
    means = [f"{100 * sum(each) / len(scores):.1f}" for each in zip(*scores, strict=True)]
    return [str(len(scores)), *means]


async def replay(vectors: Path | None) -> None:
    searched = next(each for each in load_own_sets() if each.name == "learnings")
    system = Commonplace(vectors=vectors)
    await system.fill(searched)
    bonus = search.MAX_USE_BONUS
    print_table("Held-out questions about learnings", COLUMNS, [])
    print(format_row(["nothing", f"{bonus}", *await score_held_out(system, searched)]), flush=True)
    await open_wanted(system, searched)
    for factor in (1, LARGER):
        search.MAX_USE_BONUS = bonus * factor
        row = ["what selection questions want", f"{bonus * factor}", *await score_held_out(system, searched)]
        print(format_row(row), flush=True)
    await system.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--vectors", type=Path, help="a file that remembers vectors from one run to the next")
    asyncio.run(replay(parser.parse_args().vectors))


if __name__ == "__main__":
    main()
