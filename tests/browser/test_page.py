"""The stories of the web page, in a real browser against a real server."""

import json

import pytest
from chromium import Chromium, Page
from page_stage import PROJECT, TRANSCRIPT, VIEWS, WORKSPACE, PageStage, fill, upload_transcript
from test_page_types import HERE

import nodejs
from patience import wait_until

pytestmark = pytest.mark.slow

HOSTILE = (
    "<script>window.ran=1</script><img src=x onerror='window.ran=2'><svg onload='window.ran=3'></svg>"
    "[a](javascript:window.ran=4) <a href='javascript:window.ran=5'>x</a> \u202edesrever\u202c"
)
HUGE_WORD = "w" * 5_000
HOSTILE_TRANSCRIPT = "6f1c2d3e-0000-4000-8000-00000000000e"


def test_person_signs_in_by_link_once_and_the_empty_page_teaches(stage: PageStage):
    link = stage.link()
    page = stage.chromium.open_page(link, stage.chromium.open_context())
    page.wait_for_text("Begin in three steps")
    assert page.run("location.hash") == ""
    assert page.run("document.querySelectorAll('.tick[aria-label=\"done\"]').length") == 0
    stage.act("ann", "memory_lock_files", files=["src/first.py"])
    page.wait_for_text("ann said hello")
    page.wait_for_text("files locked")
    done = "document.querySelectorAll('.tick[aria-label=\"done\"]').length"
    page.wait_for(f"{done} === 2")
    stage.act("ann", "memory_report_checkout", machine="laptop", root="/shop", repository="/shop", branch="main")  # fmt: skip
    stage.act("ann", "memory_heartbeat", status="busy", current_task="tax")
    page.wait_for(f"{done} === 3")
    page.wait_for_text("You are set up")
    page.click(".tutorial h2 .button")
    page.wait_for("!document.querySelector('.tutorial')")
    assert page.list_problems() == []
    stranger = stage.chromium.open_page(link, stage.chromium.open_context())
    stranger.wait_for_text("expired or was used already")
    stranger.wait_for_text("Sign in")
    page.close()
    stranger.close()


def test_change_of_another_client_appears_without_reload(stage: PageStage):
    page = stage.open(f"/work?project={PROJECT}")
    page.run("window.notReloaded = true")
    stage.act("ann", "memory_add_backlog_item", title="Appears by itself")
    page.wait_for_text("Appears by itself")
    assert page.run("window.notReloaded") is True
    page.close()


def test_person_writes_a_message_and_sees_who_received_it(stage: PageStage):
    stage.act("ben", "memory_heartbeat")
    page = stage.open(f"/messages?project={PROJECT}&to=ben")
    page.wait_for("Boolean(document.querySelector('.composer textarea'))")
    page.run("document.querySelector('.composer textarea').focus()")
    page.type("Please look at **the cart**.")
    page.press("Enter", control=True)
    page.wait_for_text("Sent.")
    page.wait_for("Boolean(document.querySelector('.bubble strong'))")
    (mail,) = [m for m in stage.act("ben", "memory_get_messages")["messages"] if m["from"] == "eve"]
    assert mail["message"] == "Please look at **the cart**."
    stage.act("ben", "memory_acknowledge_message", message_id=mail["id"])
    page.wait_for_text("ben received")
    page.close()


def _column_of(stage: PageStage, title: str) -> str:
    items = stage.call("memory_list_backlog", project=PROJECT, include_done=True, limit=100)["items"]
    return next(item["status"] for item in items if item["title"] == title)


def _drag(page: Page, source: str, target: str) -> None:
    page.call("Input.setInterceptDrags", enabled=True)
    start, end = page.find_middle(source), page.find_middle(target)
    start = page.find_middle(source)
    page.move_mouse("mousePressed", *start)
    page.move_mouse("mouseMoved", start[0] + 20, start[1] + 5)
    wait_until(lambda: any(event["method"] == "Input.dragIntercepted" for event in page.browser.events))
    data = next(e for e in page.browser.events if e["method"] == "Input.dragIntercepted")["params"]["data"]
    for kind in ("dragEnter", "dragOver", "drop"):
        page.call("Input.dispatchDragEvent", type=kind, x=end[0], y=end[1], data=data)
    page.move_mouse("mouseReleased", *end)
    page.call("Input.setInterceptDrags", enabled=False)


def test_card_moves_by_mouse_and_by_key_and_back_by_undo(stage: PageStage):
    item = stage.act("ann", "memory_add_backlog_item", title="A card to move", priority="critical")["id"]
    page = stage.open(f"/work?project={PROJECT}", width=1280, height=900)
    card = f"[data-item='{item}']"
    page.wait_for(f"Boolean(document.querySelector({json.dumps(card)}))")
    _drag(page, card, "section[aria-label='In progress']")
    wait_until(lambda: _column_of(stage, "A card to move") == "in_progress")
    page.wait_for_text("is in progress.")
    moved = json.dumps(f"section[aria-label='In progress'] {card}")
    page.wait_for(f"Boolean(document.querySelector({moved}))")
    page.run(f"document.querySelector({json.dumps(card)}).focus()")
    page.press("m")
    page.wait_for("Boolean(document.querySelector('dialog[open] .menu'))")
    page.click("dialog .menu button:last-child")
    wait_until(lambda: _column_of(stage, "A card to move") == "done")
    page.wait_for_text("is done.")
    page.press("u")
    wait_until(lambda: _column_of(stage, "A card to move") == "in_progress")
    page.close()


def test_refused_item_stays_in_its_form_with_the_sentence_of_the_server(stage: PageStage):
    page = stage.open(f"/work?project={PROJECT}")
    page.press("c")
    page.wait_for("Boolean(document.querySelector('dialog[open] input[name=title]'))")
    page.run("document.querySelector('dialog input[name=title]').value = 'An item with a wrong tag'")
    page.run(f"document.querySelector('dialog input[name=tags]').value = '{'x' * 100}'")
    page.run("document.querySelector('dialog form').requestSubmit()")
    page.wait_for("Boolean(document.querySelector('dialog .problem').innerText)")
    assert "tags" in page.run("document.querySelector('dialog .problem').innerText")
    page.run("document.querySelector('dialog input[name=tags]').value = 'tax'")
    page.run("document.querySelector('dialog form').requestSubmit()")
    page.wait_for("!document.querySelector('dialog')")
    page.wait_for_text("An item with a wrong tag")
    page.close()


def test_search_opens_a_document_and_its_boot_pack_is_previewed(stage: PageStage):
    stage.act("ann", "memory_store", title="Idle connections are closed", content="Set `pool_recycle`.", memory_type="learning")  # fmt: skip
    page = stage.open(f"/knowledge?project={PROJECT}")
    page.press("k", control=True)
    page.wait_for("Boolean(document.querySelector('dialog[open].palette'))")
    page.type("idle connections")
    page.wait_for(
        "[...document.querySelectorAll('.palette li')].some(row => row.innerText.includes('Idle connections'))"
    )
    page.press("Enter")
    page.wait_for("Boolean(document.querySelector('.reader .prose code'))")
    page.goto(f"{stage.server.url}/knowledge?project={PROJECT}&tab=boot&agent=ben&task=database%20pool")
    page.wait_for_text("tokens of 2000")
    page.wait_for_text("Left out for lack of room")
    page.close()


def test_transcript_opens_at_the_hit(stage: PageStage):
    upload_transcript(stage)
    page = stage.open("/sessions?q=PyYAML")
    hit = (
        "[...document.querySelectorAll('.thread')].find(row => row.innerText.includes('PyYAML was missing'))"
    )
    page.wait_for(f"Boolean({hit})")
    page.run(f"{hit}.click()")
    page.wait_for("Boolean(document.querySelector('.turn.is-hit'))")
    page.wait_for("document.querySelector('.turn.is-hit').textContent.includes('PyYAML was missing')")
    page.wait_for("document.querySelector('.turn.is-hit').getBoundingClientRect().top < innerHeight")
    page.close()


def test_keys_move_between_views_and_browser_back_returns(stage: PageStage):
    page = stage.open(f"/work?project={PROJECT}")
    for key, view in (("k", "knowledge"), ("m", "messages"), ("n", "")):
        page.press("g")
        page.press(key)
        page.wait_for(f"location.pathname === '/{view}'")
    page.run("history.back()")
    page.wait_for("location.pathname === '/messages'")
    page.press("?")
    page.wait_for(
        "Boolean(document.querySelector('dialog[open]')) && document.body.innerText.includes('go to a view')"
    )
    page.close()


def test_seven_tabs_have_one_stream_and_all_see_what_happens(stage: PageStage):
    context = stage.sign_in()
    tabs = [stage.chromium.open_page(stage.server.url, context) for _ in range(7)]
    for tab in tabs:
        tab.wait_for("Boolean(document.querySelector('.live-live'))")
    stage.act("ann", "memory_lock_files", files=["src/seven.py"], reason="seven tabs")
    for tab in tabs:
        tab.call("Page.bringToFront")
        tab.wait_for_text("seven.py")
    sessions = {tab._session for tab in tabs}
    streams = [
        event
        for event in stage.chromium.events
        if event["method"] == "Network.requestWillBeSent"
        and event.get("sessionId") in sessions
        and "/events" in event["params"]["request"]["url"]
    ]
    assert len(streams) == 1
    for tab in tabs:
        tab.close()


def test_hostile_text_runs_nothing_on_any_view(stage: PageStage):
    text = f"{HOSTILE} {HUGE_WORD}"
    stage.act("ben", "memory_heartbeat")
    stage.act(
        "ann", "memory_store", title=HOSTILE[:290], content=text, memory_type="learning", tags=["<b>tag"]
    )
    item = stage.act("ann", "memory_add_backlog_item", title=HOSTILE[:290], description=text, tags=["<i>x"])[
        "id"
    ]
    sent = stage.act("ann", "memory_send_message", to_instance="ben", subject=HOSTILE[:190], message=text, require_human=True)  # fmt: skip
    stage.act("ann", "memory_update_work", title=HOSTILE[:190], status="blocked", blocked_reason=HOSTILE[:400], files_touched=["<svg onload=alert(1)>.py"])  # fmt: skip
    stage.act("ann", "memory_lock_files", files=["<img src=x>.py"], reason=HOSTILE[:400])
    stage.act("ann", "memory_register_function", name="evil", file_path="<script>.py", purpose=HOSTILE)
    board = stage.act("ann", "create_session", purpose=HOSTILE[:400])["session_id"]
    stage.act("ann", "add_message", session_id=board, content=text)
    stage.act("ann", "memory_report_request", kind="permission", title=HOSTILE[:190], text=text, directory=HOSTILE, is_awaited=True)  # fmt: skip
    stage.act(
        "ann", "memory_report_request", kind="plan", text=text, machine=HOSTILE[:190], directory=HOSTILE
    )
    stage.act(
        "ann", "memory_ask_person", question=text[:4_000], options=[HOSTILE[:490], "<b>"], wait_seconds=0
    )
    stage.call("memory_guidelines", action="set", name="evil", rule=HOSTILE, scope=PROJECT)
    upload_transcript(stage, HOSTILE + "x" * 1_000_000, HOSTILE_TRANSCRIPT)
    document = stage.call("memory_list_documents", project=PROJECT, limit=1)["documents"][0]["id"]
    paths = [
        *(f"/{view}?project={PROJECT}" for view in VIEWS),
        f"/knowledge?project={PROJECT}&doc={document}",
        f"/knowledge?project={PROJECT}&q={'script'}",
        f"/work?project={PROJECT}&item={item}",
        f"/messages?project={PROJECT}&thread={sent['thread_id']}",
        f"/messages?project={PROJECT}&tab=boards&board={board}",
        f"/sessions?workspace={WORKSPACE}&session={HOSTILE_TRANSCRIPT}",
        f"/admin?project={PROJECT}&tab=guidelines",
        f"/admin?project={PROJECT}&tab=audit",
        f"/code?project={PROJECT}&q=evil",
    ]
    page = stage.open("/")
    for path in paths:
        page.goto(stage.server.url + path)
        page.wait_for("Boolean(document.querySelector('main.view')) && !document.querySelector('.skeleton')")
        found = page.run(
            "[window.ran ?? null, document.querySelectorAll('main script, main img, main svg[onload], [onerror]').length,"
            " [...document.querySelectorAll('a[href]')].filter(a => !/^https?:/.test(a.href)).length,"
            " document.documentElement.scrollWidth <= innerWidth + 1]"
        )
        wide = page.run(
            "[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1"
            " && e.checkVisibility()).slice(0, 8).map(e => `${e.tagName}.${e.className}`)"
        )
        assert (path, found, wide if not found[3] else []) == (path, [None, 0, 0, True], [])
    assert page.list_problems() == []
    page.close()


TABS = (
    "/work?mode=list",
    "/knowledge?tab=look",
    "/knowledge?tab=boot&agent=ann&task=tax",
    "/messages?tab=boards",
    "/messages?to=ben",
    "/code?file=src/cart.py",
    "/time?tab=standup",
    "/admin?tab=guidelines",
    "/admin?tab=audit",
    "/admin?tab=health",
)


@pytest.mark.parametrize(("mode", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)])
def test_views_have_no_accessibility_violations(stage: PageStage, mode: str, width: int):
    nodejs.install_packages(HERE)
    axe = (HERE / "node_modules/axe-core/axe.min.js").read_text()
    fill_once(stage)
    page = stage.open("/", width=width, height=844)
    page.emulate(prefers_color_scheme=mode)
    found = {}
    for path in (*(f"/{view}" for view in VIEWS), *TABS, *list_opened(stage)):
        page.goto(f"{stage.server.url}{path}{'&' if '?' in path else '?'}project={PROJECT}")
        page.wait_for("Boolean(document.querySelector('main.view')) && !document.querySelector('.skeleton')")
        page.run(axe + ";0")
        results = page.run(
            "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => [v.id, v.nodes.slice(0, 3).map(n => n.html.slice(0, 160))]))"
        )
        if results:
            found[path] = results
    assert found == {}
    page.close()


def list_opened(stage: PageStage) -> list[str]:
    """Views with something opened beside their list."""
    listed = {
        "/knowledge?doc": stage.call("memory_list_documents", project=PROJECT)["documents"][-1]["id"],
        "/work?item": stage.call("memory_list_backlog", project=PROJECT)["items"][0]["id"],
        "/messages?thread": stage.call("memory_list_threads", project=PROJECT)["threads"][0]["thread_id"],
        "/code?function": stage.call("memory_browse_functions", project=PROJECT)["functions"][0]["id"],
    }
    opened = [f"{path}={identity}" for path, identity in listed.items()]
    return [*opened, f"/sessions?workspace={WORKSPACE}&session={TRANSCRIPT}"]


def fill_once(stage: PageStage) -> None:
    if "mia" not in stage.sessions:
        fill(stage)


def test_sign_out_ends_the_session_in_every_tab(stage: PageStage, chromium: Chromium):
    context = chromium.open_context()
    page = chromium.open_page(stage.link(), context)
    page.wait_for("Boolean(document.querySelector('.me'))")
    page.click(".me")
    page.wait_for("Boolean(document.querySelector('dialog[open]'))")
    page.run("[...document.querySelectorAll('dialog button')].find(b => b.innerText === 'Sign out').click()")
    page.wait_for_text("Or sign in with a key")
    page.goto(stage.server.url)
    page.wait_for_text("Or sign in with a key")
    page.close()
