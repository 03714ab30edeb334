"""The page by keys alone: rows that open, buttons that are not pressed by accident, addresses that are copied."""

import pytest
from page_stage import PROJECT, PageStage
from test_page import fill_once

pytestmark = pytest.mark.slow


def test_enter_opens_the_row_that_j_moved_to(stage: PageStage):
    fill_once(stage)
    for mode in ("", "&mode=list"):
        page = stage.open(f"/work?project={PROJECT}{mode}")
        page.wait_for_text("Rates of 2027")
        page.press("j")
        focused = page.run("document.activeElement.dataset.item")
        page.press("Enter")
        page.wait_for(f"new URLSearchParams(location.search).get('item') === '{focused}'")
        page.press("Escape")
        page.wait_for("!new URLSearchParams(location.search).has('item')")
        page.run("history.back()")
        page.wait_for("new URLSearchParams(location.search).has('item')")
        page.close()


def test_enter_on_a_request_answers_nothing(stage: PageStage):
    fill_once(stage)
    asked = stage.act("ann", "memory_ask_person", question="Delete the archive?", options=["yes", "no"], wait_seconds=0)  # fmt: skip
    page = stage.open(f"/?project={PROJECT}")
    page.wait_for_text("Delete the archive?")
    page.run(f"document.querySelector('[data-request=\"{asked['request_id']}\"]').focus()")
    page.press("Enter")
    assert page.run("document.activeElement.innerText") == "yes"
    page.press("k")
    page.press("Enter")
    found = stage.call("memory_get_live_state", project=PROJECT)["needs_you"]
    assert asked["request_id"] in [need["id"] for need in found]
    page.close()


def test_y_copies_the_address_of_what_is_shown(stage: PageStage):
    fill_once(stage)
    page = stage.open(f"/knowledge?project={PROJECT}&type=adr")
    page.wait_for_text("Money is rounded per line")
    stage.chromium.call(
        "Browser.grantPermissions",
        origin=stage.server.url,
        browserContextId=stage.context,
        permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
    )
    page.call("Page.bringToFront")
    page.press("y")
    page.wait_for_text("The address is copied.")
    assert (
        page.run("navigator.clipboard.readText()")
        == f"{stage.server.url}/knowledge?project={PROJECT}&type=adr"
    )
    page.close()


def test_name_of_an_agent_leads_to_what_it_did(stage: PageStage):
    fill_once(stage)
    page = stage.open(f"/?project={PROJECT}")
    page.click(".card-name")
    page.wait_for("location.pathname === '/time' && new URLSearchParams(location.search).has('actor')")
    page.wait_for("Boolean(document.querySelector('.event'))")
    page.close()
