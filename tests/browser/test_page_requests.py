"""Somebody who waits for a person, on the page: what is asked, the answer that reaches the agent, where else to answer."""

import json
from typing import Any

import pytest
from chromium import Page
from page_stage import PROJECT, PageStage

from patience import wait_until

pytestmark = pytest.mark.slow


def _report(stage: PageStage, agent: str, **more: Any) -> str:
    given = {"kind": "permission", "title": "Bash", "tool": "claude", "is_awaited": True} | more
    request_id: str = stage.act(agent, "memory_report_request", **given)["request_id"]
    return request_id


def _open(stage: PageStage, *requests: str) -> Page:
    page = stage.open(f"/?project={PROJECT}")
    for request in requests:
        page.wait_for(f"Boolean(document.querySelector({json.dumps(_row(request))}))")
    return page


def _row(request: str, below: str = "") -> str:
    return f"[data-request='{request}'] {below}".strip()


def _click_button(page: Page, request: str, text: str) -> None:
    rows = json.dumps(_row(request, "button"))
    page.run(
        f"[...document.querySelectorAll({rows})].find(b => b.textContent === {json.dumps(text)}).click()"
    )


def _answer(stage: PageStage, agent: str, request: str) -> dict[str, Any]:
    return stage.act(agent, "memory_wait_for_answer", request_id=request)


def test_person_answers_an_agent_that_waits(stage: PageStage):
    request = _report(stage, "ann", text="git push origin main")
    page = _open(stage, request)
    page.wait_for("/^\\(\\d+\\) /.test(document.title)")
    assert page.run(f"document.querySelector({json.dumps(_row(request, 'pre'))}).textContent") == (
        "git push origin main"
    )
    page.run(f"document.querySelector({json.dumps(_row(request, '.answer input'))}).focus()")
    page.type("not on Fridays")
    page.press("Enter")  # decides nothing
    assert _answer(stage, "ann", request)["status"] == "open"
    _click_button(page, request, "Deny")
    page.wait_for_text("Denied.")
    wait_until(lambda: _answer(stage, "ann", request)["status"] == "answered")
    answer = _answer(stage, "ann", request)
    assert (answer["decision"], answer["note"], answer["answered_by"]) == ("deny", "not on Fridays", "eve")
    page.wait_for(f"!document.querySelector({json.dumps(_row(request))})")
    page.close()


def test_person_chooses_an_option_of_a_question(stage: PageStage):
    request = stage.act(
        "ann", "memory_ask_person", question="Ship it?", options=["now", "later"], wait_seconds=0
    )
    page = _open(stage, request["request_id"])
    _click_button(page, request["request_id"], "later")
    page.wait_for_text("Answered.")
    again = stage.act(
        "ann", "memory_ask_person", question="Ship it?", options=["now", "later"], wait_seconds=0
    )
    assert (again["answer"], again["answered_by"]) == ("later", "eve")
    page.close()


def test_person_answers_several_questions_at_once(stage: PageStage):
    questions = [
        {"question": "Which db?", "options": [{"label": "lite"}, {"label": "pg"}]},
        {"question": "Which tests?", "options": [{"label": "unit"}, {"label": "browser"}], "multiple": True},
        {"question": "Which port?"},
    ]
    request = _report(stage, "ann", kind="question", questions=questions)
    page = _open(stage, request)
    for selector in ("[value='lite']", "[value='unit']", "[value='browser']"):
        page.run(f"document.querySelector({json.dumps(_row(request, selector))}).click()")
    page.run(f"document.querySelector({json.dumps(_row(request, '[name=text2]'))}).value = '5432'")
    _click_button(page, request, "Answer")
    page.wait_for_text("Answered.")
    wait_until(lambda: _answer(stage, "ann", request)["status"] == "answered")
    assert _answer(stage, "ann", request)["answers"] == ["lite", "unit, browser", "5432"]
    page.close()


def test_page_says_where_to_answer_what_it_cannot(stage: PageStage):
    request = _report(
        stage, "ann", is_awaited=False, tool="gemini", machine="laptop", directory="/home/ann/shop"
    )
    page = _open(stage, request)
    text = page.run(f"document.querySelector({json.dumps(_row(request))}).innerText")
    assert "Answer in its window: gemini on laptop in /home/ann/shop" in text
    assert page.run(f"document.querySelectorAll({json.dumps(_row(request, '.answer'))}).length") == 0
    stage.act("ann", "memory_close_requests")
    page.wait_for(f"!document.querySelector({json.dumps(_row(request))})")
    page.close()


def test_answer_that_came_second_is_refused_and_the_row_goes(stage: PageStage):
    request = _report(stage, "ann", text="ls")
    page = _open(stage, request)
    page.press(".")  # paused: what happens elsewhere is not shown
    page.wait_for_text("paused")
    shown = next(
        row["shown"]
        for row in stage.call("memory_list_requests", project=PROJECT)["requests"]
        if row["id"] == request
    )
    stage.call("memory_answer_request", project=PROJECT, request_id=request, shown=shown, decision="allow")
    _click_button(page, request, "Deny")
    page.wait_for_text("was already answered by operator")
    page.press(".")
    page.wait_for(f"!document.querySelector({json.dumps(_row(request))})")
    page.close()


def test_agent_that_ended_its_turn_is_shown_and_not_counted(stage: PageStage):
    stage.act("zoe", "memory_report_request", kind="idle", tool="codex", machine="laptop")
    page = stage.open(f"/?project={PROJECT}")
    page.wait_for_text("has ended its turn")
    rows, counted = page.run(
        "[document.querySelectorAll('.needs > li:not(.is-idle)').length, document.querySelector('#needs .count').textContent]"
    )
    assert counted == (str(rows) if rows else "")
    page.close()


def test_standup_is_a_tab_of_time_and_can_be_copied(stage: PageStage):
    item = stage.act("ann", "memory_add_backlog_item", title="Reverse <b>charge")["id"]
    stage.act("ann", "memory_complete_backlog_item", item_id=item, resolution="41 tests passed at 1f2e3d4c")
    page = stage.open(f"/time?project={PROJECT}&tab=standup")
    page.wait_for_text("Reverse <b>charge")
    page.wait_for_text("41 tests passed")
    page.wait_for_text("1f2e3d4c")
    assert page.list_problems() == []
    page.close()
