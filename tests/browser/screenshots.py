"""Write screenshots of every view to docs/images/page: light, dark and phone width. Run by `make browser`.

With arguments: the folder to write to, then the names to write (`now-light`), all without any.
"""

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "browser")]

from chromium import Chromium, start_chromium  # noqa: E402
from page_stage import PROJECT, TRANSCRIPT, VIEWS, WORKSPACE, PageStage  # noqa: E402
from page_team import TeamDay  # noqa: E402

import product  # noqa: E402 - after the path
from commonplace.beacon import read_beacon  # noqa: E402

TARGET = TESTS.parent / "docs/images/page"
MODES = {"light": ("light", 1280, 800), "dark": ("dark", 1280, 800), "phone": ("light", 390, 844)}
ACTS = {
    "work": "[...document.querySelectorAll('.item')].find(e => e.innerText.includes('One-stop'))?.dispatchEvent(new MouseEvent('mouseenter'))",
    "time-past": "[...Array(24)].forEach(() => document.querySelector('.axis-frame')?.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true})))",
    "admin-health": "new Promise(done => setTimeout(done, 12000))",
}
"""What is done on the page before its picture."""
SETTLED = "Boolean(document.querySelector('main.view')) && !document.querySelector('.skeleton')"


@contextlib.contextmanager
def open_team(chromium: Chromium, folder: Path) -> Iterator[PageStage]:
    """A server on which a team has worked for a day."""
    behind = folder / "seconds-behind"
    behind.write_text("0")
    within = (sys.executable, str(TESTS / "browser/moved_clock.py"), str(behind))
    flags = ("--data", str(folder), "--auth", "on", "--embeddings", "off")
    with product.running(*flags, within=within) as server:
        stage = PageStage(chromium, server, read_beacon(folder)["token"])
        TeamDay(stage, lambda minutes: _set_clock(behind, 60 * minutes)).play()
        stage.context = stage.sign_in()
        yield stage


def _set_clock(behind: Path, seconds: float) -> None:
    """The server may read the file at any moment, so it is replaced, not written to."""
    written = behind.with_suffix(".new")
    written.write_text(str(seconds))
    written.replace(behind)


def list_addresses(stage: PageStage) -> dict[str, str]:
    """The address of each picture, without its mode."""
    threads = stage.call("memory_list_threads", project=PROJECT)["threads"]
    thread = next(row["thread_id"] for row in threads if "Rounding" in row["title"])
    documents = stage.call("memory_list_documents", project=PROJECT)["documents"]
    document = next(row["id"] for row in documents if "PgBouncer" in row["title"])
    item = next(row["id"] for row in stage.call("memory_list_backlog", project=PROJECT)["items"] if "One-stop" in row["title"])  # fmt: skip
    board = stage.call("list_sessions", project=PROJECT)["sessions"][0]["session_id"]
    functions = stage.call("memory_browse_functions", project=PROJECT)["functions"]
    function = next(row["id"] for row in functions if row["name"] == "retry_with_backoff")
    more = {
        "knowledge": f"&doc={document}",
        "messages": f"&thread={thread}",
        "sessions": f"&workspace={WORKSPACE}&session={TRANSCRIPT}",
        "code": f"&function={function}",
    }
    addresses = {view: f"/{view}?project={PROJECT}{more.get(view, '')}" for view in VIEWS}
    return addresses | {
        "work-item": f"/work?project={PROJECT}&item={item}",
        "work-list": f"/work?project={PROJECT}&mode=list",
        "knowledge-look": f"/knowledge?project={PROJECT}&tab=look",
        "knowledge-boot": f"/knowledge?project={PROJECT}&tab=boot&agent=claude-checkout&task=VAT%20per%20line",
        "messages-boards": f"/messages?project={PROJECT}&tab=boards&board={board}",
        "code-file": f"/code?project={PROJECT}&file=src/cart.py",
        "time-past": f"/time?project={PROJECT}",
        "time-standup": f"/time?project={PROJECT}&tab=standup",
        "admin-rules": f"/admin?project={PROJECT}&tab=guidelines",
        "admin-audit": f"/admin?project={PROJECT}&tab=audit",
        "admin-health": f"/admin?project={PROJECT}&tab=health",
    }


def main(target: Path = TARGET, *wanted: str) -> None:
    with start_chromium() as chromium, tempfile.TemporaryDirectory() as folder, open_team(chromium, Path(folder)) as stage:  # fmt: skip
        addresses = list_addresses(stage)
        for mode, (scheme, width, height) in MODES.items():
            page = stage.open("/", width=width, height=height)
            page.emulate(prefers_color_scheme=scheme)
            for name, address in addresses.items():
                if wanted and f"{name}-{mode}" not in wanted:
                    continue
                if name not in VIEWS and mode != "light" and not wanted:
                    continue
                page.goto(stage.server.url + address)
                page.wait_for(SETTLED)
                if act := ACTS.get(name):
                    page.run(act)
                page.screenshot(target / f"{name}-{mode}.png")
            page.close()


if __name__ == "__main__":
    main(*(Path(path) for path in sys.argv[1:2]), *sys.argv[2:])
