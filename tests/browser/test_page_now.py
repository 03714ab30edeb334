"""Now: the stream that can be scrolled back, and what agents used today."""

import json
from datetime import UTC, datetime

import pytest
from chromium import Chromium
from page_stage import PROJECT, WORKSPACE, open_stage
from page_transcripts import begin_session

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


def write_transcript(session: str) -> str:
    at = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    attachment = {
        "type": "hook_additional_context",
        "content": [begin_session("ann", session)],
        "hookEvent": "SessionStart",
    }
    usage = {"input_tokens": 1200, "output_tokens": 300, "cache_read_input_tokens": 82_500}
    message = {"role": "assistant", "id": "m1", "model": "claude-opus-4-6", "usage": usage, "content": [{"type": "text", "text": "Done."}]}  # fmt: skip
    lines = [
        {"type": "attachment", "uuid": "u0", "attachment": attachment},
        {"type": "assistant", "uuid": "u1", "timestamp": at, "message": message},
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


def test_cards_show_tokens_of_today_and_the_context(chromium: Chromium, tmp_path):
    with open_stage(chromium, tmp_path) as stage:
        stage.act("ann", "memory_heartbeat", status="busy", current_task="tax")
        page = stage.open(f"/?project={PROJECT}")
        page.wait_for_text("ann")
        assert "tokens" not in page.run("document.querySelector('.cards').innerText")
        token = stage.call("register_workspace", machine="laptop", tool="claude", project=PROJECT, rotate=True)["write_token"]  # fmt: skip
        stage.call(
            "upload_session",
            workspace_id=WORKSPACE,
            write_token=token,
            session_id="6f1c2d3e-0000-4000-8000-000000000007",
            content=write_transcript(stage.sessions["ann"]),
        )
        page.wait_for("document.querySelector('.card')?.innerText?.includes('1.5k tokens')")
        page.wait_for("document.querySelector('.card')?.innerText?.includes('context 84k')")
        page.wait_for_text("1.5k tokens today")
        page.close()
