"""Hostile text in every field that agents can write is shown as text and runs nothing, on every view and at phone width."""

from typing import Any

import pytest
from chromium import Page
from page_stage import PROJECT, VIEWS, WORKSPACE, PageStage, upload_transcript
from test_page import HOSTILE, HUGE_WORD, TABS

from product import Refused

pytestmark = pytest.mark.slow

TRANSCRIPT = "6f1c2d3e-0000-4000-8000-00000000000f"
TEXT = f"{HOSTILE} {HUGE_WORD}"
PATH = "src/<img src=x onerror='window.ran=6'>.py"
CHECKS = (
    "[window.ran ?? null,"
    " document.querySelectorAll('body script, main img, main svg[onload], [onerror], iframe, object').length,"
    " [...document.querySelectorAll('a[href]')].filter(a => !/^https?:/.test(a.href)).length,"
    " document.documentElement.scrollWidth <= innerWidth + 1]"
)


def write_everywhere(stage: PageStage) -> dict[str, str]:
    """Every field of agents, but names of agents, projects and keys, whose letters the server limits."""
    act = stage.act
    ids: dict[str, str] = {}
    started = stage.call(
        "memory_start_session",
        project=PROJECT,
        claude_instance="mallory",
        task_description=TEXT,
        role_description=TEXT[:1_900],
        working_directory=f"/home/{HOSTILE}",
        tmux_target=HOSTILE,
    )
    stage.sessions["mallory"] = started["session_id"]
    act("mallory", "memory_heartbeat", status="busy", current_task=HOSTILE[:490])
    act("mallory", "memory_report_checkout", machine=HOSTILE[:190], root=f"/r/{HOSTILE}", repository=f"/r/{HOSTILE}", branch=HOSTILE[:290], files=[PATH], shelved=[HOSTILE[:200]])  # fmt: skip
    act("mallory", "memory_update_work", title=HOSTILE[:190], notes=TEXT[:1_900], status="blocked", blocked_by="ann", blocked_reason=HOSTILE[:400], files_touched=[PATH])  # fmt: skip
    act("mallory", "memory_lock_files", files=[f"{PATH}:3-9", "src/<b>.py"], reason=HOSTILE[:400])
    kinds = ("edit_denied", "command_denied", "commit_refused", "conflict_predicted", "rule_fired")
    for kind in kinds:
        act("mallory", "memory_report_prevented", kind=kind, what=f"{PATH} {HOSTILE}"[:480], files=[PATH])
    ids["doc"] = act("mallory", "memory_store", title=HOSTILE[:290], content=f"{TEXT} everywhere", memory_type="adr", tags=["<b>tag"], files_related=[f"{PATH}:3"])["id"]  # fmt: skip
    act("mallory", "memory_store", title=HOSTILE[:290], content=TEXT + " again", memory_type="adr", force_store=True)  # fmt: skip
    for state, text in (("fresh", TEXT), ("drifted", f"now {TEXT}")):
        found = {
            "document": ids["doc"],
            "place": f"{PATH}:3",
            "state": state,
            "fingerprint": state,
            "text": text,
        }
        stage.call("memory_report_citations", project=PROJECT, findings=[found])
    act(
        "mallory",
        "memory_record_learning",
        topic=HOSTILE[:290],
        content=f"{TEXT} learned",
        files_related=[PATH],
    )
    ids["item"] = act("mallory", "memory_add_backlog_item", title=HOSTILE[:290], description=TEXT, tags=["<i>x"], milestone=HOSTILE[:90])["id"]  # fmt: skip
    waits = act("mallory", "memory_add_backlog_item", title=HOSTILE[:290], depends_on=[ids["item"]])["id"]
    act("mallory", "memory_update_backlog_item", item_id=waits, deferred_reason=HOSTILE[:400])
    done = act("mallory", "memory_add_backlog_item", title=HOSTILE[:290])["id"]
    act("mallory", "memory_complete_backlog_item", item_id=done, resolution=f"41 tests passed {HOSTILE}")
    ids["thread"] = act("mallory", "memory_send_message", to_instance="ben", subject=HOSTILE[:190], message=TEXT, category="blocker", priority="urgent", require_human=True)["thread_id"]  # fmt: skip
    board = act("mallory", "create_session", purpose=HOSTILE[:400])["session_id"]
    act("mallory", "add_message", session_id=board, content=TEXT)
    ids["board"] = board
    ids["function"] = act("mallory", "memory_register_function", name="evil_one", file_path=f"{PATH}:3", purpose=TEXT[:900])["id"]  # fmt: skip
    act("mallory", "memory_register_function", name="evil_two", file_path="src/<script>.py", purpose=TEXT[:900])  # fmt: skip
    act("mallory", "memory_enrich_function", func_id=ids["function"], signature=HOSTILE, additional_gotchas=[HOSTILE], returns=HOSTILE, calls=[HOSTILE[:200]], called_by=[HOSTILE[:200]], side_effects=[HOSTILE], search_summary=HOSTILE)  # fmt: skip
    _ask(stage)
    stage.call("memory_guidelines", action="set", name="evil", rule=TEXT[:3_900], scope=PROJECT)
    upload_transcript(stage, HOSTILE + "x" * 1_000_000, TRANSCRIPT)
    act("mallory", "memory_define_spec", name="evil-spec", spec_type="api", content=f"{TEXT} specification")
    act("mallory", "memory_checklist", action="create", name="evil list", items=[HOSTILE[:400]])
    stage.call("upload_knowledge", workspace_id=WORKSPACE, write_token=stage.write_token, path="evil/notes.md", content=f"# {HOSTILE}\n\n{'x' * 1_000_000}")  # fmt: skip
    return ids


def list_found(stage: PageStage) -> list[str]:
    """The ids of everything that a search finds, of every kind."""
    hits = []
    for asked in ("evil spec specification", "evil list", "evil notes", "script window ran"):
        reply = stage.call("memory_query", query=asked, project=PROJECT, limit=30, detail="snippet", max_tokens=12_000)  # fmt: skip
        hits += reply["results"]
    assert len({hit["type"] for hit in hits}) > 3
    return sorted({hit["id"] for hit in hits})


def _ask(stage: PageStage) -> None:
    asked: list[dict[str, Any]] = [
        {"question": HOSTILE[:400], "options": [{"label": HOSTILE[:190], "description": HOSTILE[:400]}], "multiple": True},
        {"question": HOSTILE[:400]},
    ]  # fmt: skip
    place = {"tool": "<b>tool", "machine": HOSTILE[:190], "directory": HOSTILE}
    stage.act("mallory", "memory_report_request", kind="question", questions=asked, is_awaited=True, **place)
    stage.act("mallory", "memory_report_request", kind="permission", title=HOSTILE[:190], text=TEXT, is_awaited=True, **place)  # fmt: skip
    stage.act("mallory", "memory_report_request", kind="plan", text=TEXT, subagent=HOSTILE[:190], **place)
    stage.act("mallory", "memory_ask_person", question=TEXT[:4_000], options=[HOSTILE[:490]], wait_seconds=0)


def _check(page: Page, stage: PageStage, path: str) -> None:
    page.goto(stage.server.url + path)
    page.wait_for("Boolean(document.querySelector('main.view')) && !document.querySelector('.skeleton')")
    page.run("document.querySelectorAll('main details').forEach(each => (each.open = true))")
    assert (path, page.run(CHECKS)) == (path, [None, 0, 0, True])


def test_hostile_text_in_every_field_runs_nothing(stage: PageStage):
    ids = write_everywhere(stage)
    paths = [
        *(f"/{view}" for view in VIEWS),
        *TABS,
        f"/?kind={'DocumentStored'}",
        f"/knowledge?doc={ids['doc']}",
        f"/knowledge?doc={ids['doc']}&version=1",
        "/knowledge?q=script",
        "/knowledge?tab=boot&agent=mallory&task=script",
        f"/work?item={ids['item']}",
        f"/messages?thread={ids['thread']}",
        f"/messages?tab=boards&board={ids['board']}",
        f"/sessions?workspace={WORKSPACE}&session={TRANSCRIPT}",
        "/sessions?q=script",
        f"/code?function={ids['function']}",
        "/code?file=src/%3Cimg%20src%3Dx%20onerror%3D%27window.ran%3D6%27%3E.py",
        "/code?q=evil",
        "/time?span=1h",
        *(f"/knowledge?doc={found}" for found in list_found(stage)),
    ]
    page = stage.open("/")
    for width in (390, 1280):
        page.resize(width, 844)
        for path in paths:
            _check(page, stage, f"{path}{'&' if '?' in path else '?'}project={PROJECT}")
    page.press("k", control=True)
    page.wait_for("Boolean(document.querySelector('dialog[open].palette'))")
    page.type("script")
    page.wait_for("document.querySelectorAll('.palette li').length > 2")
    assert page.run(CHECKS)[:3] == [None, 0, 0]
    assert page.list_problems() == []
    page.close()


def test_markup_is_not_accepted_as_the_name_of_an_agent(stage: PageStage):
    for name in ("<img src=x onerror=1>", "<script>", "ann\u202e"):
        with pytest.raises(Refused):
            stage.call("memory_start_session", project=PROJECT, claude_instance=name)


def test_hostile_text_in_the_address_runs_nothing(stage: PageStage):
    page = stage.open("/")
    fields = {
        "knowledge": ("q", "doc", "tag"),
        "work": ("item", "tag"),
        "messages": ("thread", "board", "to"),
        "code": ("q", "file", "function"),
        "sessions": ("q", "session"),
        "time": ("actor", "project"),
    }
    for view, names in fields.items():
        for name in names:
            page.goto(
                f"{stage.server.url}/{view}?{name}=%3Cimg%20src%3Dx%20onerror%3D%22window.ran%3D7%22%3E"
            )
            page.wait_for("Boolean(document.querySelector('main.view'))")
            assert (view, name, page.run(CHECKS)[:3]) == (view, name, [None, 0, 0])
    page.close()
