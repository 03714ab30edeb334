"""A tree and its registry: filled by the first look, touched afterwards only where something changed."""

import asyncio
import threading
from pathlib import Path

import pytest
from trees import write_all

from commonplace.librarian.registry import FunctionRegistry, SyncOutcome
from commonplace.librarian.scan import TreeScan
from commonplace.librarian.source_tree import SourceTree
from commonplace.librarian.watch import TreeWatch
from patience import PATIENCE_SECONDS

RETRY = '''
def retry_with_backoff(call, tries=3):
    """Call again after a failure, waiting longer each time."""
    for n in range(tries):
        pause(n)


def pause(n):
    time.sleep(2**n)
'''


@pytest.fixture
def source_folder(tmp_path: Path) -> Path:
    return write_all(
        tmp_path / "tree", {"net/retry.py": RETRY, "web/cart.ts": "export class Cart { add(x: number) {} }"}
    )


class Librarian:
    """One scan kept over several looks, as `watch` keeps it."""

    def __init__(self, source_folder: Path, call) -> None:
        self.scan, self.registry = (
            TreeScan(SourceTree(source_folder), workers=1),
            FunctionRegistry(call, "shop"),
        )

    async def sync(self) -> SyncOutcome:
        return await asyncio.to_thread(self._sync)

    def _sync(self) -> SyncOutcome:
        self.scan.refresh_files()
        self.difference = self.registry.compute_difference(self.scan)
        return self.registry.apply_difference(self.difference)


async def test_scan_registers_everything_and_the_second_look_touches_nothing(team, call, source_folder):
    alice = await team.agent("alice")
    assert await Librarian(source_folder, call).sync() == SyncOutcome(added=4)
    [match, *_] = (await alice.find_function(query="how do we retry?"))["results"]
    assert match == {
        "id": match["id"],
        "name": "retry_with_backoff",
        "file_path": "net/retry.py:2",
        "purpose": "Call again after a failure, waiting longer each time.",
        "signature": "def retry_with_backoff(call, tries=3)",
        "relevance": match["relevance"],
        "enriched": True,
    }
    again = Librarian(source_folder, call)
    assert await again.sync() == SyncOutcome()
    assert (bool(again.difference), again.difference.unchanged) == (False, 4)


async def test_scan_knows_callers_inside_the_tree(team, call, source_folder):
    alice = await team.agent("alice")
    write_all(source_folder, {"net/use.py": "from net.retry import pause\n\ndef wait():\n    pause(1)\n"})
    await Librarian(source_folder, call).sync()
    [match, *_] = (await alice.find_function(query="pause"))["results"]
    document = await alice.get_by_id(doc_id=match["id"])
    assert "called_by: net/retry.py#retry_with_backoff, net/use.py#wait" in document["content"]


async def test_scan_again_sends_only_what_changed(team, call, source_folder):
    librarian = Librarian(source_folder, call)
    await librarian.sync()
    write_all(source_folder, {"net/retry.py": RETRY.replace("2**n", "3**n")})
    assert await librarian.sync() == SyncOutcome(updated=1)
    write_all(source_folder, {"net/retry.py": "\n# moved down\n" + RETRY.replace("2**n", "3**n")})
    assert await librarian.sync() == SyncOutcome()
    assert [item[:3] for item in librarian.difference.lines] == [
        ("net/retry.py", "retry_with_backoff", 4),
        ("net/retry.py", "pause", 10),
    ]
    assert (await (await team.agent("al")).find_function(query="pause"))["results"][0]["file_path"] == (
        "net/retry.py:10"
    )


async def test_scan_marks_vanished_ones_and_follows_moved_ones(team, call, source_folder):
    alice = await team.agent("alice")
    librarian = Librarian(source_folder, call)
    await librarian.sync()
    made = await alice.register_function(name="pause", file_path="net/retry.py", purpose="Wait a while.")
    write_all(source_folder, {"net/retry.py": None, "lib/pause.py": RETRY[RETRY.index("def pause") :]})
    assert await librarian.sync() == SyncOutcome(moved=1, gone=2)
    [match] = (await alice.find_function(query="pause"))["results"]
    assert (match["id"], match["file_path"]) == (made["id"], "lib/pause.py:1")
    assert match["drift"] == {"changed": ["moved"], "moved_from": "net/retry.py"}
    assert (await alice.find_function(query="backoff"))["results"] == []


async def test_scan_fills_and_loses_what_was_registered_by_hand(team, call, source_folder):
    alice = await team.agent("alice")
    add = await alice.register_function(
        name="add", file_path="web/cart.ts:1", purpose="Put it into the cart."
    )
    lost = await alice.register_function(name="vanish", file_path="web/cart.ts", purpose="Was here once.")
    registered = await alice.register_function(name="job", file_path="etl/job.sql", purpose="Runs at night.")
    write_all(source_folder, {"etl/job.sql": "select 1"})
    await Librarian(source_folder, call).sync()
    matches = {item["id"]: item for item in (await alice.find_function(query="cart once night"))["results"]}
    assert (matches[add["id"]]["name"], matches[add["id"]]["signature"]) == ("Cart.add", "add(x: number)")
    assert matches[lost["id"]]["drift"] == {"changed": ["gone"]}
    assert "drift" not in matches[registered["id"]]


async def test_scan_of_one_folder_leaves_the_rest_of_the_project_alone(call, source_folder):
    write_all(source_folder, {".git/HEAD": ""})
    await Librarian(source_folder, call).sync()
    assert await Librarian(source_folder / "web", call).sync() == SyncOutcome()


@pytest.mark.processes
def test_scan_reads_a_large_tree_in_several_processes(tmp_path):
    files = {f"m{n}.py": f"def f{n}():\n    return f{n - 1}()\n" for n in range(70)}
    scan = TreeScan(SourceTree(write_all(tmp_path, files)), workers=2)
    progress = []
    assert scan.refresh_files(lambda done, whole: progress.append((done, whole)))
    callers = {item.name: item.called_by for item in scan.list_functions()}
    assert (len(callers), callers["f5"], scan.lines, progress[-1]) == (70, ["m6.py#f6"], 140, (70, 70))


@pytest.mark.slow
async def test_watch_follows_the_files_until_told_to_stop(team, call, source_folder):
    alice = await team.agent("alice")
    outcomes: asyncio.Queue[SyncOutcome] = asyncio.Queue()
    loop, stop = asyncio.get_running_loop(), threading.Event()
    watch = TreeWatch(
        TreeScan(SourceTree(source_folder), workers=1),
        FunctionRegistry(call, "shop"),
        lambda outcome: loop.call_soon_threadsafe(outcomes.put_nowait, outcome),
    )
    running = asyncio.create_task(asyncio.to_thread(watch.run, stop))
    try:
        assert await asyncio.wait_for(outcomes.get(), PATIENCE_SECONDS) == SyncOutcome(added=4)
        write_all(source_folder, {"net/fresh.py": "def freshly_baked():\n    pass\n"})
        assert await asyncio.wait_for(outcomes.get(), PATIENCE_SECONDS) == SyncOutcome(added=1)
    finally:
        stop.set()
        await asyncio.wait_for(running, PATIENCE_SECONDS)
    assert (await alice.find_function(query="freshly baked"))["results"][0]["file_path"] == "net/fresh.py:1"
