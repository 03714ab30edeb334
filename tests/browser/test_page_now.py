"""Now: the stream that can be scrolled back, and what agents used today."""

import pytest
from chromium import Chromium
from page_stage import PROJECT, open_stage

from patience import wait_until

pytestmark = pytest.mark.slow

GROUPS = "document.querySelectorAll('.stream .group').length"
SCROLL_DOWN = "(e => e.scrollTo(0, e.scrollHeight))(document.querySelector('.stream'))"


def test_stream_shows_what_was_before_to_whoever_scrolls_down(chromium: Chromium, tmp_path):
    with open_stage(chromium, tmp_path) as stage:
        for n in range(130):
            agent = ("ann", "ben")[n % 2]
            stage.act(agent, "memory_add_backlog_item", title=f"Item number {n}")
        page = stage.open(f"/?project={PROJECT}")
        page.wait_for_text("Item number 129")
        assert not page.run("document.querySelector('.stream').innerText?.includes('Item number 3\\n')")

        def scroll_to_first() -> bool:
            page.run(SCROLL_DOWN)
            return bool(page.run("document.querySelector('.stream').innerText?.includes('Item number 3\\n')"))

        wait_until(scroll_to_first)
        # Events that come meanwhile are added above, and what was fetched stays.
        before = page.run(GROUPS)
        stage.act("ann", "memory_add_backlog_item", title="Newest of all")
        page.wait_for("document.querySelector('.stream')?.innerText?.includes('Newest of all')")
        wait_until(lambda: page.run(GROUPS) > before)
        wait_until(scroll_to_first)
        page.wait_for_text("That is everything that is kept.")
        assert page.list_problems() == []
        page.close()


def test_stream_filters_what_was_before_too(chromium: Chromium, tmp_path):
    with open_stage(chromium, tmp_path) as stage:
        stage.act("ann", "memory_lock_files", files=["src/long_ago.py"])
        for n in range(110):
            stage.act("ann", "memory_add_backlog_item", title=f"Item number {n}")
        page = stage.open(f"/?project={PROJECT}&kind=FilesLocked")
        page.wait_for("document.querySelector('.stream')?.innerText?.includes('long_ago.py')")
        assert page.run(GROUPS) == 1
        page.close()
