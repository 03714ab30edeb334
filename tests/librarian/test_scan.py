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
def top(tmp_path: Path) -> Path:
    return write_all(
        tmp_path / "tree", {"net/retry.py": RETRY, "web/cart.ts": "export class Cart { add(x: number) {} }"}
    )


class Librarian:
    """One scan kept over several looks, as `watch` keeps it."""

    def __init__(self, top: Path, call) -> None:
        self.scan, self.registry = TreeScan(SourceTree(top), workers=1), FunctionRegistry(call, "shop")

    async def look(self) -> SyncOutcome:
        return await asyncio.to_thread(self._look)

    def _look(self) -> SyncOutcome:
        self.scan.refresh_files()
        self.difference = self.registry.compute_difference(self.scan)
        return self.registry.apply_difference(self.difference)


async def test_scan_registers_everything_and_the_second_look_touches_nothing(team, call, top):
    alice = await team.agent("alice")
    assert await Librarian(top, call).look() == SyncOutcome(added=4)
    [found, *_] = (await alice.find_function(query="how do we retry?"))["results"]
    assert found == {
        "id": found["id"],
        "name": "retry_with_backoff",
        "file_path": "net/retry.py:2",
        "purpose": "Call again after a failure, waiting longer each time.",
        "signature": "def retry_with_backoff(call, tries=3)",
        "relevance": found["relevance"],
        "enriched": True,
    }
    again = Librarian(top, call)
    assert await again.look() == SyncOutcome()
    assert (bool(again.difference), again.difference.unchanged) == (False, 4)


async def test_scan_knows_callers_inside_the_tree(team, call, top):
    alice = await team.agent("alice")
    write_all(top, {"net/use.py": "from net.retry import pause\n\ndef wait():\n    pause(1)\n"})
    await Librarian(top, call).look()
    [found, *_] = (await alice.find_function(query="pause"))["results"]
    shown = await alice.get_by_id(doc_id=found["id"])
    assert "called_by: net/retry.py#retry_with_backoff, net/use.py#wait" in shown["content"]


async def test_scan_again_sends_only_what_changed(team, call, top):
    librarian = Librarian(top, call)
    await librarian.look()
    write_all(top, {"net/retry.py": RETRY.replace("2**n", "3**n")})
    assert await librarian.look() == SyncOutcome(updated=1)
    write_all(top, {"net/retry.py": "\n# moved down\n" + RETRY.replace("2**n", "3**n")})
    assert await librarian.look() == SyncOutcome()
    assert [each[:3] for each in librarian.difference.lines] == [
        ("net/retry.py", "retry_with_backoff", 4),
        ("net/retry.py", "pause", 10),
    ]
    assert (await (await team.agent("al")).find_function(query="pause"))["results"][0]["file_path"] == (
        "net/retry.py:10"
    )


async def test_scan_marks_vanished_ones_and_follows_moved_ones(team, call, top):
    alice = await team.agent("alice")
    librarian = Librarian(top, call)
    await librarian.look()
    made = await alice.register_function(name="pause", file_path="net/retry.py", purpose="Wait a while.")
    write_all(top, {"net/retry.py": None, "lib/pause.py": RETRY[RETRY.index("def pause") :]})
    assert await librarian.look() == SyncOutcome(moved=1, gone=2)
    [found] = (await alice.find_function(query="pause"))["results"]
    assert (found["id"], found["file_path"]) == (made["id"], "lib/pause.py:1")
    assert found["drift"] == {"changed": ["moved"], "moved_from": "net/retry.py"}
    assert (await alice.find_function(query="backoff")).get("results") is None


async def test_scan_fills_and_loses_what_was_registered_by_hand(team, call, top):
    alice = await team.agent("alice")
    add = await alice.register_function(
        name="add", file_path="web/cart.ts:1", purpose="Put it into the cart."
    )
    lost = await alice.register_function(name="vanish", file_path="web/cart.ts", purpose="Was here once.")
    kept = await alice.register_function(name="job", file_path="etl/job.sql", purpose="Runs at night.")
    write_all(top, {"etl/job.sql": "select 1"})
    await Librarian(top, call).look()
    found = {each["id"]: each for each in (await alice.find_function(query="cart once night"))["results"]}
    assert (found[add["id"]]["name"], found[add["id"]]["signature"]) == ("Cart.add", "add(x: number)")
    assert found[lost["id"]]["drift"] == {"changed": ["gone"]}
    assert "drift" not in found[kept["id"]]


async def test_scan_of_one_folder_leaves_the_rest_of_the_project_alone(call, top):
    write_all(top, {".git/HEAD": ""})
    await Librarian(top, call).look()
    assert await Librarian(top / "web", call).look() == SyncOutcome()


def test_scan_reads_a_large_tree_in_several_processes(tmp_path):
    files = {f"m{n}.py": f"def f{n}():\n    return f{n - 1}()\n" for n in range(70)}
    scan = TreeScan(SourceTree(write_all(tmp_path, files)), workers=2)
    seen = []
    assert scan.refresh_files(lambda done, whole: seen.append((done, whole)))
    found = {each.name: each.called_by for each in scan.list_functions()}
    assert (len(found), found["f5"], scan.lines, seen[-1]) == (70, ["m6.py#f6"], 140, (70, 70))


async def test_watch_follows_the_files_until_told_to_stop(team, call, top):
    alice = await team.agent("alice")
    told: asyncio.Queue[SyncOutcome] = asyncio.Queue()
    loop, stop = asyncio.get_running_loop(), threading.Event()
    watch = TreeWatch(
        TreeScan(SourceTree(top), workers=1),
        FunctionRegistry(call, "shop"),
        lambda outcome: loop.call_soon_threadsafe(told.put_nowait, outcome),
    )
    running = asyncio.create_task(asyncio.to_thread(watch.run, stop))
    try:
        assert await asyncio.wait_for(told.get(), PATIENCE_SECONDS) == SyncOutcome(added=4)
        write_all(top, {"net/fresh.py": "def freshly_baked():\n    pass\n"})
        assert await asyncio.wait_for(told.get(), PATIENCE_SECONDS) == SyncOutcome(added=1)
    finally:
        stop.set()
        await asyncio.wait_for(running, PATIENCE_SECONDS)
    assert (await alice.find_function(query="freshly baked"))["results"][0]["file_path"] == "net/fresh.py:1"
