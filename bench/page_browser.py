"""python -m bench.page_browser: the web page in a headless Chromium on a large project.

For each view: when the shell and when the first data are drawn, counted from the start of the navigation; CPU time until
then of the page's thread, of its scripts and of the server, which other work on the machine changes little; requests; long
tasks (over 50 ms). Then scrolling through the list of 10,000 items, and what memory does while an hour of events (one each
second) is sent, as fast as the server takes them or one every `--pause` seconds. Needs a Chromium, as `make browser` does.
"""

import argparse
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from bench.http_load import read_cpu_seconds
from bench.page import open_large_server
from bench.page_data import PROJECT, PageSizes
from bench.tables import print_table

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "browser")]

from chromium import Chromium, Page, start_chromium  # noqa: E402 - after the path

from product import Product  # noqa: E402

VIEWS = {
    "Now": "/",
    "Work": "/work",
    "Work, list": "/work?mode=list",
    "Knowledge": "/knowledge",
    "Knowledge, to look at": "/knowledge?tab=look",
    "Messages": "/messages",
    "Sessions": "/sessions",
    "Code": "/code",
    "Time": "/time",
    "Time, standup": "/time?tab=standup",
    "Admin": "/admin",
    "Admin, audit": "/admin?tab=audit",
    "Admin, health": "/admin?tab=health",
}
_WATCH = """
window.seen = { tasks: [] };
new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map((e) => e.duration))).observe({ entryTypes: ['longtask'] });
const watch = () => {
  const main = document.querySelector('main.view');
  if (document.querySelector('.rail') && !seen.shell) seen.shell = performance.now();
  if (main && main.children.length > 1 && !main.querySelector('.skeleton') && !seen.data) seen.data = performance.now();
  if (!seen.data) requestAnimationFrame(watch);
};
requestAnimationFrame(watch);
"""
_SCROLL = """
new Promise((done) => {
  seen.tasks.length = 0;
  const frames = [];
  let last = performance.now(), at = 0;
  const step = (now) => {
    frames.push(now - last);
    last = now;
    at += 900;
    scrollTo(0, at);
    if (at < document.documentElement.scrollHeight && frames.length < 400) requestAnimationFrame(step);
    else done({ frames: frames.slice(1), tasks: seen.tasks.length, rows: document.querySelectorAll('.table-row').length });
  };
  requestAnimationFrame(step);
})
"""


_SEEN = """({ shell: seen.shell, data: seen.data, tasks: seen.tasks.length,
  nodes: document.querySelectorAll('*').length, requests: performance.getEntriesByType('resource').length,
  calls: performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/')).length })"""


def measure_view(chromium: Chromium, context: str, url: str, pids: list[int], rounds: int) -> dict[str, float]:  # fmt: skip
    """The medians; the server's CPU time is counted in steps of 10 ms, so it is a mean."""
    seen, before = [], read_cpu_seconds(pids)
    for _ in range(rounds):
        page = chromium.open_page("about:blank", context)
        page.call("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
        page.call("Performance.enable", timeDomain="threadTicks")
        page.goto(url)
        page.wait_for("Boolean(window.seen?.data)")
        metrics = {each["name"]: each["value"] for each in page.call("Performance.getMetrics")["metrics"]}
        used = {"cpu": 1e3 * metrics["TaskDuration"], "script": 1e3 * metrics["ScriptDuration"]}
        seen.append(used | page.run(_SEEN))
        page.close()
    server = 1e3 * (read_cpu_seconds(pids) - before) / rounds
    return {name: statistics.median(each[name] for each in seen) for name in seen[0]} | {"server": server}


def measure_scrolling(chromium: Chromium, context: str, url: str) -> dict[str, Any]:
    page = chromium.open_page("about:blank", context)
    page.call("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)
    page.goto(url)
    page.wait_for("Boolean(window.seen?.data)")
    moved: dict[str, Any] = page.run(_SCROLL)
    page.close()
    return moved


def read_memory(page: Page) -> tuple[float, int, int]:
    """Megabytes of the heap after garbage was collected, nodes, listeners."""
    page.call("HeapProfiler.collectGarbage")
    metrics = {each["name"]: each["value"] for each in page.call("Performance.getMetrics")["metrics"]}
    return metrics["JSHeapUsedSize"] / 1e6, int(metrics["Nodes"]), int(metrics["JSEventListeners"])


def measure_memory(
    chromium: Chromium, context: str, server: Product, events: int, pause: float
) -> list[tuple[int, float, int, int]]:
    """Memory while agents act: locks, work, messages and items, each an event that the page hears of."""
    page = chromium.open_page(f"{server.url}/?project={PROJECT}", context)
    page.call("Performance.enable")
    page.wait_for("Boolean(document.querySelector('.card'))")
    session = server.call("memory_start_session", project=PROJECT, claude_instance="bench")["session_id"]
    rows = []
    for number in range(events + 1):
        if number % (events // 6) == 0:
            time.sleep(2)  # what was sent last is drawn
            rows.append((number, *read_memory(page)))
        _act(server, session, number)
        time.sleep(pause)
    page.close()
    return rows


def _act(server: Product, session: str, number: int) -> None:
    files = [f"src/module_{number % 40}.py"]
    if number % 3 == 0:
        server.call("memory_lock_files", session_id=session, files=files, reason=f"round {number}")
    elif number % 3 == 1:
        server.call("memory_unlock_files", session_id=session)
    else:
        server.call("memory_update_work", session_id=session, title=f"Round {number}", status="in_progress", files_touched=files)  # fmt: skip


_COLUMNS = {
    "shell": "shell ms",
    "data": "first data ms",
    "cpu": "page CPU ms",
    "script": "of it scripts",
    "server": "server CPU ms",
    "requests": "requests",
    "calls": "of them calls",
    "tasks": "long tasks",
    "nodes": "nodes",
}


def print_views(chromium: Chromium, context: str, server: Product, pids: list[int], rounds: int) -> None:
    rows = []
    for view, path in VIEWS.items():
        seen = measure_view(chromium, context, server.url + path, pids, rounds)
        rows.append((view, *(f"{seen[name]:.0f}" for name in _COLUMNS)))
    columns = ("view", *_COLUMNS.values())
    print_table("Opening a view", columns, rows)


def print_scrolling(chromium: Chromium, context: str, server: Product) -> None:
    moved = measure_scrolling(chromium, context, f"{server.url}/work?mode=list")
    frames = moved["frames"]
    print(
        f"Scrolling 10,000 items: {len(frames)} frames, median {statistics.median(frames):.0f} ms,"
        f" longest {max(frames):.0f} ms, {moved['tasks']} long tasks, {moved['rows']} rows drawn at the end",
        flush=True,
    )


def print_memory(chromium: Chromium, context: str, server: Product, events: int, pause: float) -> None:
    measured = measure_memory(chromium, context, server, events, pause)
    rows = [(str(n), f"{heap:.1f}", str(nodes), str(listeners)) for n, heap, nodes, listeners in measured]
    print_table("Memory", ("events", "heap MB", "nodes", "listeners"), rows)


def main() -> None:
    parser = argparse.ArgumentParser("bench.page_browser", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="times that each view is opened")
    parser.add_argument("--events", type=int, default=3600, help="an hour of one event each second")
    parser.add_argument("--pause", type=float, default=0, help="seconds between two events")
    parser.add_argument("--only", choices=("views", "scrolling", "memory"), help="measure only this")
    parser.add_argument("--keep", default="", help="folder that keeps the rows for another run")
    arguments = parser.parse_args()
    sizes = PageSizes()
    sized = ", ".join(f"{amount:,} {name}" for name, amount in msgspec.to_builtins(sizes).items())
    with open_large_server("sqlite", sizes, arguments.keep) as (port, pids), start_chromium() as chromium:
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {sized}", flush=True)
        server = Product(None, port)  # type: ignore[arg-type] - only its address is used
        context = chromium.open_context()
        if arguments.only in (None, "views"):
            print_views(chromium, context, server, pids, arguments.rounds)
        if arguments.only in (None, "scrolling"):
            print_scrolling(chromium, context, server)
        if arguments.only in (None, "memory"):
            print_memory(chromium, context, server, arguments.events, arguments.pause)


if __name__ == "__main__":
    main()
