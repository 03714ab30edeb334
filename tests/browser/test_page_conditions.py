"""The page under conditions that are not the usual ones: zoom, reduced motion, a server that goes away and comes back."""

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from chromium import Chromium, Page
from page_stage import PROJECT, VIEWS, PageStage
from test_page import fill_once

import product
from commonplace.beacon import read_beacon
from patience import wait_until

pytestmark = pytest.mark.slow


def test_views_fit_at_200_percent_zoom(stage: PageStage):
    """A window of 1280 x 800 that is zoomed to 200 % is laid out as one of 640 x 400."""
    fill_once(stage)
    page = stage.open("/")
    page.resize(640, 400, scale=2)
    for view in VIEWS:
        page.goto(f"{stage.server.url}/{view}?project={PROJECT}")
        page.wait_for("Boolean(document.querySelector('main.view')) && !document.querySelector('.skeleton')")
        wide = page.run("[document.documentElement.scrollWidth, innerWidth]")
        assert wide[0] <= wide[1] + 1, view
    page.close()


def test_nothing_moves_where_people_asked_for_that(stage: PageStage):
    fill_once(stage)
    page = stage.open("/")
    page.emulate(prefers_reduced_motion="reduce")
    page.goto(f"{stage.server.url}/?project={PROJECT}")
    page.wait_for("Boolean(document.querySelector('main.view')) && !document.querySelector('.skeleton')")
    moving = page.run(
        "[...document.querySelectorAll('*')].filter(e => { const s = getComputedStyle(e);"
        " return s.animationName !== 'none' || s.transitionDuration.split(', ').some(d => parseFloat(d) > 0); }).length"
    )
    assert (moving, page.run("document.getAnimations().length")) == (0, 0)
    page.close()


def test_page_says_that_the_server_is_away_and_goes_on_when_it_is_back(chromium: Chromium, tmp_path):
    flags = ("--data", str(tmp_path), "--auth", "on", "--embeddings", "off")
    with product.running(*flags) as first:
        stage = PageStage(chromium, first, read_beacon(tmp_path)["token"])
        stage.act("ann", "memory_lock_files", files=["src/before.py"])
        page = stage.open(f"/?project={PROJECT}")
        page.wait_for_text("before.py")
        page.run("window.notReloaded = true")
    page.wait_for_text("The server does not answer. This is the state of")
    page.wait_for_text("before.py")
    with product.running(*flags, "--port", str(first.port)) as again:
        page.wait_for("Boolean(document.querySelector('.live-live'))")
        page.wait_for("!document.querySelector('.banner')")
        back = PageStage(chromium, again, read_beacon(tmp_path)["token"])
        back.act("ben", "memory_lock_files", files=["src/after.py"])
        page.wait_for_text("after.py")
        assert page.run("window.notReloaded") is True
        page.close()


@contextlib.contextmanager
def proxy_without_server(port: int) -> Iterator[list[tuple[str, str]]]:
    """What a proxy says while the server behind it is away; the list gets path and Last-Event-ID of what is asked of it."""
    asked: list[tuple[str, str]] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers.get("Last-Event-ID", "")))
            self.send_error(502)

        do_POST = do_GET  # noqa: N815 - http.server's name

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Answer) as proxy:
        serving = threading.Thread(target=proxy.serve_forever, daemon=True)
        serving.start()
        yield asked
        proxy.shutdown()
        serving.join()


def test_page_goes_on_after_a_proxy_answered_502(chromium: Chromium, tmp_path):
    """The browser itself opens a stream never again that was answered with an error."""
    flags = ("--data", str(tmp_path), "--auth", "on", "--embeddings", "off")
    with product.running(*flags) as first:
        stage = PageStage(chromium, first, read_beacon(tmp_path)["token"])
        page = stage.open(f"/?project={PROJECT}")
        page.wait_for("Boolean(document.querySelector('.live-live'))")
        stage.act("ann", "memory_lock_files", files=["src/before.py"])
        page.wait_for_text("before.py")
        page.run("window.notReloaded = true")
    with proxy_without_server(first.port) as asked:
        wait_until(lambda: len([path for path, _ in asked if path.startswith("/events")]) >= 3)
        page.wait_for_text("The server does not answer. This is the state of")
    streams = [(path, last) for path, last in asked if path.startswith("/events")]
    assert streams[0][0] == "/events?project=*"
    assert streams[0][1]
    assert streams[1:3] == [(f"/events?project=*&last_event_id={streams[0][1]}", "")] * 2
    with product.running(*flags, "--port", str(first.port)) as again:
        page.wait_for("Boolean(document.querySelector('.live-live'))")
        page.wait_for("!document.querySelector('.banner')")
        back = PageStage(chromium, again, read_beacon(tmp_path)["token"])
        back.act("ben", "memory_lock_files", files=["src/after.py"])
        page.wait_for_text("after.py")
        assert page.run("window.notReloaded") is True
        page.close()


KEEP_STREAMS = """
window.streams = [];
window.EventSource = class extends EventSource {
  constructor(address) { super(address); window.streams.push(this); }
};
"""


def count_calls(page: Page, operation: str) -> int:
    entries = "performance.getEntriesByType('resource')"
    return int(page.run(f"{entries}.filter(each => each.name.endsWith('/api/{operation}')).length"))


def test_views_are_fetched_again_when_events_are_missing(stage: PageStage):
    """Also those that otherwise fetch only after events of some kinds."""
    fetched_by_view = {
        "now": "memory_get_live_state",
        "sessions": "memory_list_transcripts",
        "code": "memory_browse_functions",
    }
    page = stage.chromium.open_page(stage.server.url, stage.sign_in())
    page.call("Page.addScriptToEvaluateOnNewDocument", source=KEEP_STREAMS)
    for view, operation in fetched_by_view.items():
        page.goto(f"{stage.server.url}/{view}?project={PROJECT}")
        # Once for the address, once because the stream is open.
        wait_until(lambda operation=operation: count_calls(page, operation) >= 2)
        page.run("streams[0].dispatchEvent(new MessageEvent('reset', { data: '{}', lastEventId: '7' }))")
        wait_until(lambda operation=operation: count_calls(page, operation) >= 3)
    page.close()


def test_now_draws_the_first_of_many_agents_and_all_when_asked(chromium: Chromium, tmp_path):
    with product.running("--data", str(tmp_path), "--auth", "on", "--embeddings", "off") as server:
        stage = PageStage(chromium, server, read_beacon(tmp_path)["token"])
        for n in range(45):
            stage.call("memory_start_session", project=PROJECT, claude_instance=f"agent{n}")
        page = stage.open(f"/?project={PROJECT}")
        page.wait_for("document.querySelectorAll('.card').length === 40")
        page.wait_for_text("Show all 45")
        page.click("section[aria-labelledby=agents] .more")
        page.wait_for("document.querySelectorAll('.card').length === 45")
        assert page.run("document.querySelectorAll('.more').length") == 0
        page.close()


def test_another_tab_reads_the_stream_when_the_one_that_did_goes_elsewhere(stage: PageStage):
    """The browser keeps a page for its back button: there it sleeps, and must not keep the stream to itself."""
    context = stage.sign_in()
    first = stage.chromium.open_page(f"{stage.server.url}/work?project={PROJECT}", context)
    first.wait_for("Boolean(document.querySelector('.live-live'))")
    second = stage.chromium.open_page(f"{stage.server.url}/work?project={PROJECT}", context)
    second.wait_for("Boolean(document.querySelector('.live-live'))")
    first.goto(f"{stage.server.url}/docs/README.md")
    stage.act("ann", "memory_add_backlog_item", title="While the first is elsewhere")
    second.wait_for("document.body.textContent.includes('While the first is elsewhere')")
    first.run("history.back()")
    first.wait_for("document.body.textContent.includes('While the first is elsewhere')")
    first.wait_for("Boolean(document.querySelector('.live-live'))")
    stage.act("ann", "memory_add_backlog_item", title="After it came back")
    for page in (first, second):
        page.wait_for("document.body.textContent.includes('After it came back')")
    first.close()
    second.close()
