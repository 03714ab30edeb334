"""What people do on the page beside reading: make keys, edit, archive, play time back; and what is refused to them."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from page_stage import PROJECT, PageStage
from test_page import fill_once

from patience import wait_until

pytestmark = pytest.mark.slow


def test_key_is_made_shown_once_and_revoked_at_the_second_press(stage: PageStage):
    fill_once(stage)
    page = stage.open("/admin")
    page.wait_for("Boolean(document.querySelector('form input[name=name]'))")
    page.run("document.querySelector('input[name=name]').value = 'wall-screen'")
    page.run("document.querySelector('input[name=projects]').value = 'shop'")
    page.run("document.querySelector('form.inline').requestSubmit()")
    page.wait_for("document.querySelector('.secret code')?.innerText.startsWith('smk_')")
    secret = page.run("document.querySelector('.secret code').innerText")
    page.goto(f"{stage.server.url}/admin")
    page.wait_for_text("wall-screen")
    assert secret not in page.run("document.body.innerText")
    row = "[...document.querySelectorAll('.key')].find(each => each.innerText.includes('wall-screen'))"
    page.run(f"{row}.querySelector('button').click()")
    page.wait_for(f"{row}.querySelector('button')?.innerText === 'Revoke for good'")
    assert stage.server.call("memory_health", key=secret)["status"] == "ok"
    page.run(f"{row}.querySelector('button').click()")
    page.wait_for(f"{row}.innerText.includes('revoked')")
    page.close()


def test_who_may_only_read_sees_the_move_taken_back(stage: PageStage):
    fill_once(stage)
    item = stage.act("ann", "memory_add_backlog_item", title="Stays where it is", priority="critical")["id"]
    made = stage.call("memory_admin", action="create_key", name="reader", role="readonly", projects=[PROJECT])
    page = stage.chromium.open_page(f"{stage.server.url}/work?project={PROJECT}", stage.chromium.open_context())  # fmt: skip
    page.wait_for("Boolean(document.querySelector('input[name=key]'))")
    page.run(f"document.querySelector('input[name=key]').value = {json.dumps(made['key'])}")
    page.run("document.querySelector('form').requestSubmit()")
    card = f"section[aria-label='Ready'] [data-item='{item}']"
    page.wait_for(f'Boolean(document.querySelector("{card}"))')
    page.run(f'document.querySelector("{card}").focus()')
    page.press("m")
    page.wait_for("Boolean(document.querySelector('dialog[open] .menu'))")
    page.click("dialog .menu button:last-child")
    page.wait_for("Boolean(document.querySelector('.toast.refused'))")
    page.wait_for(f'Boolean(document.querySelector("{card}"))')
    page.close()


def test_document_is_edited_compared_archived_and_taken_back(stage: PageStage):
    text = "Ask twice.\nThen answer."
    document = stage.act("ann", "memory_store", title="How to answer", content=text, memory_type="pattern")["id"]  # fmt: skip
    page = stage.open(f"/knowledge?project={PROJECT}&doc={document}")
    page.wait_for_text("Then answer.")
    page.press("e")
    page.wait_for("Boolean(document.querySelector('.reader textarea'))")
    page.run("document.querySelector('.reader textarea').value = 'Ask once.\\nThen answer.'")
    page.run("document.querySelector('.reader form').requestSubmit()")
    page.wait_for_text("Saved as a new version.")
    page.wait_for("document.querySelectorAll('.reader .history li').length === 2")
    page.run("[...document.querySelectorAll('.history button')].find(each => each.innerText === '1').click()")
    page.wait_for("document.querySelector('.diff .removed')?.innerText.includes('Ask twice.')")
    page.wait_for("document.querySelector('.diff .added')?.innerText.includes('Ask once.')")
    page.press("x")
    stored = lambda: stage.call("memory_get_by_id", doc_id=document, project=PROJECT)["status"]  # noqa: E731
    wait_until(lambda: stored() == "archived")
    page.wait_for("Boolean(document.querySelector('.toast .button'))")
    page.press("u")
    wait_until(lambda: stored() == "active")
    page.close()


def test_prevented_acts_are_counted_and_listed_and_the_tab_counts_who_waits(stage: PageStage):
    fill_once(stage)
    stage.act("mia", "memory_report_prevented", kind="commit_refused", what="src/tax.py belongs to ann", files=["src/tax.py"])  # fmt: skip
    page = stage.open(f"/?project={PROJECT}")
    page.wait_for("document.querySelector('.prevented')?.innerText.includes('commit')")
    page.click(".prevented summary")
    page.wait_for("document.querySelector('.prevented ul')?.innerText.includes('src/tax.py belongs to ann')")
    page.wait_for(r"/^\(\d+\) Now/.test(document.title)")
    page.close()


def test_updates_are_paused_and_caught_up(stage: PageStage):
    page = stage.open(f"/work?project={PROJECT}")
    page.wait_for("Boolean(document.querySelector('.live-live'))")
    page.press(".")
    page.wait_for("Boolean(document.querySelector('.live-paused'))")
    stage.act("ann", "memory_add_backlog_item", title="Behind the pause")
    page.wait_for("document.querySelector('.live-text')?.innerText.includes('behind')")
    assert not page.run("document.body.textContent.includes('Behind the pause')")
    page.press(".")
    page.wait_for("document.body.textContent.includes('Behind the pause')")
    page.close()


def test_selection_of_time_is_in_the_address_and_time_is_played(stage: PageStage):
    stage.act("ann", "memory_lock_files", files=["src/played.py"])
    page = stage.open(f"/time?project={PROJECT}&span=1h")
    page.wait_for("Boolean(document.querySelector('.event'))")
    page.run("document.querySelector('.axis').scrollIntoView()")
    box = page.run("(({x, y, width, height}) => [x, y, width, height])(document.querySelector('.axis').getBoundingClientRect())")  # fmt: skip
    middle = box[1] + box[3] / 2
    page.move_mouse("mousePressed", box[0] + box[2] * 0.5, middle)
    page.move_mouse("mouseMoved", box[0] + box[2] + 4, middle)
    page.move_mouse("mouseReleased", box[0] + box[2] + 4, middle)
    page.wait_for("new URLSearchParams(location.search).has('until')")
    again = stage.open("/time" + page.run("location.search"))
    again.wait_for_text("in the selection")
    again.wait_for("document.querySelector('.as-of')?.innerText.includes('src/played.py')")
    again.press(" ")
    again.wait_for("Boolean(document.querySelector('.playhead'))")
    again.press(" ")
    again.wait_for("!document.querySelector('.playhead')")
    page.close()
    again.close()


def test_selection_of_long_ago_opens_the_span_that_it_lies_in(stage: PageStage):
    fill_once(stage)
    began = datetime.now(UTC) - timedelta(days=3)
    times = [(began + timedelta(hours=n)).strftime("%Y-%m-%dT%H:%M:%SZ") for n in (0, 1)]
    page = stage.open(f"/time?project={PROJECT}&from={times[0]}&until={times[1]}")
    page.wait_for_text("in the selection")
    assert 0 < page.run("document.querySelector('.brush').x.baseVal.value") < 960
    page.close()
