"""What single views show: evidence, dependencies, long lists, the record of a file, times past, health; and their JSON."""

import json

import pytest
from chromium import Page
from page_stage import PROJECT, VIEWS, PageStage

from patience import wait_until

pytestmark = pytest.mark.slow


def test_changed_evidence_is_shown_as_it_was_beside_what_it_is(stage: PageStage):
    made = stage.act("ann", "memory_store", title="Size of the pool", content="Ten.", memory_type="adr", files_related=["src/pool.py:3"])  # fmt: skip
    place = {"document": made["id"], "place": "src/pool.py:3"}
    for state, text in (("fresh", "SIZE = 10"), ("drifted", "SIZE = 20")):
        found = place | {"state": state, "fingerprint": state, "text": text}
        stage.call("memory_report_citations", project=PROJECT, findings=[found])
    page = stage.open(f"/knowledge?project={PROJECT}&doc={made['id']}")
    page.wait_for("document.querySelectorAll('.sides figure').length === 2")
    sides = page.run("[...document.querySelectorAll('.sides figure')].map(e => e.innerText)")
    assert [side.split("\n", 1)[0] for side in sides] == ["as it was", "as it is now"]
    assert ["SIZE = 10" in sides[0], "SIZE = 20" in sides[1]] == [True, True]
    page.close()


def test_arrows_show_what_a_card_waits_for(stage: PageStage):
    first = stage.act("ann", "memory_add_backlog_item", title="Rates first")["id"]
    second = stage.act("ann", "memory_add_backlog_item", title="Then the report", depends_on=[first])["id"]
    page = stage.open(f"/work?project={PROJECT}")
    card = json.dumps(f"[data-item='{second}']")
    page.wait_for(f"Boolean(document.querySelector({card}))")
    assert "waits for 1" in page.run(f"document.querySelector({card}).innerText")
    page.run(f"document.querySelector({card}).focus()")
    page.wait_for("document.querySelector('.arrows path')?.getAttribute('d').length > 20")
    related = "[...document.querySelectorAll('.is-related')].map(e => e.dataset.item)"
    assert page.run(related) == [first]
    page.run("document.activeElement.blur()")
    page.wait_for("!document.querySelector('.arrows')")
    page.close()


def _list_titles(page: Page) -> list[str]:
    titles: list[str] = page.run("[...document.querySelectorAll('.window-row .grow')].map(e => e.innerText)")
    return titles


def test_list_of_many_items_draws_and_fetches_what_is_in_view(stage: PageStage):
    for start in range(0, 400, 50):
        items = [{"title": f"Item {n:04d}", "project": "long"} for n in range(start, start + 50)]
        stage.act("ann", "memory_batch_backlog", action="create", items=items)
    page = stage.open("/work?project=long&mode=list")
    page.wait_for("document.querySelectorAll('.window-row').length > 10")
    assert len(_list_titles(page)) < 80
    page.run("scrollTo(0, document.documentElement.scrollHeight)")
    page.wait_for("[...document.querySelectorAll('.window-row')].some(e => e.ariaPosInSet === '400' && e.innerText.includes('Item'))")  # fmt: skip
    assert len(_list_titles(page)) < 80
    page.close()


def test_file_is_shown_with_who_holds_it_and_what_cites_it(stage: PageStage):
    stage.act("ann", "memory_lock_files", files=["src/known.py:10-20"], reason="a region")
    stage.act("ann", "memory_store", title="Known file", content="It is known.", memory_type="adr", files_related=["src/known.py"])  # fmt: skip
    page = stage.open(f"/?project={PROJECT}")
    link = "[...document.querySelectorAll('.file .path')].find(e => e.innerText === 'known.py')"
    page.wait_for(f"Boolean({link})")
    page.run(f"{link}.click()")
    page.wait_for_text("Held now")
    text = page.run("document.querySelector('.panel').innerText")
    assert ["a region" in text, "lines 10-20" in text, "Known file" in text] == [True, True, True]
    page.close()


def test_person_releases_a_lock_and_takes_it_back_by_undo(stage: PageStage):
    stage.act("zoe", "memory_lock_files", files=["src/held.py"], reason="rename")
    page = stage.open(f"/?project={PROJECT}")
    button = "[...document.querySelectorAll('.release')].find(e => e.innerText.includes('zoe'))"
    page.wait_for(f"Boolean({button})")
    page.run(f"{button}.click()")
    page.wait_for("document.activeElement?.name === 'reason'")
    page.type("she is away")
    page.press("Enter")
    page.wait_for_text("src/held.py is free.")
    held = [lock["held_by"] for lock in stage.call("memory_list_locks", project=PROJECT)["locks"]]
    assert "zoe" not in held
    page.press("u")
    page.wait_for_text("zoe has it again.")
    page.wait_for(f"Boolean({button})")
    notices = stage.act("zoe", "memory_heartbeat")["_notice"]
    assert any("she is away" in notice for notice in notices)
    assert page.list_problems() == []
    page.close()


def test_time_shows_the_state_as_of_a_moment(stage: PageStage):
    stage.act("ann", "memory_lock_files", files=["src/then.py"])
    page = stage.open(f"/time?project={PROJECT}&span=1h")
    page.wait_for("Boolean(document.querySelector('.event'))")
    page.run("document.querySelector('.axis-frame').focus()")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowLeft", windowsVirtualKeyCode=37)
    page.wait_for("document.querySelector('.as-of')?.innerText.includes('src/then.py')")
    page.press("Escape")
    page.wait_for("!document.querySelector('.as-of')")
    page.close()


def test_health_says_what_is_wrong_and_plots_what_is_measured(stage: PageStage):
    page = stage.open("/admin?tab=health")
    page.wait_for_text("there is no backup of this store")
    page.wait_for("document.querySelectorAll('.plot').length === 6")
    page.wait_for("document.querySelector('.plot .line').getAttribute('d').length > 10")
    page.close()


@pytest.mark.parametrize("view", VIEWS)
def test_json_of_a_view_is_named_by_its_keys_and_answers(stage: PageStage, view: str):
    page = stage.open(f"/{view}?project={PROJECT}")
    page.press("?")
    page.wait_for("Boolean(document.querySelector('dialog a[href*=json]'))")
    status = page.run("fetch(document.querySelector('dialog a[href*=json]').href).then(r => [r.status, r.headers.get('content-type')])")  # fmt: skip
    assert (status[0], status[1].split(";")[0]) == (200, "application/json")
    page.close()


def test_page_can_be_installed(stage: PageStage):
    page = stage.open("/")
    manifest = page.call("Page.getAppManifest")
    assert (manifest["errors"], json.loads(manifest["data"])["start_url"]) == ([], "/")
    assert page.list_problems() == []
    page.close()


def test_palette_finds_files_and_acts(stage: PageStage):
    stage.act("ann", "memory_lock_files", files=["src/palette_file.py"])
    page = stage.open(f"/?project={PROJECT}")
    page.wait_for_text("palette_file.py")
    page.press("k", control=True)
    page.wait_for("Boolean(document.querySelector('dialog[open].palette'))")
    page.type("palette_file")
    page.wait_for("document.querySelector('.palette li')?.innerText.includes('src/palette_file.py')")
    page.press("Enter")
    page.wait_for("location.pathname === '/code' && location.search.includes('palette_file')")
    page.close()


def test_document_is_superseded_by_one_that_was_searched_for(stage: PageStage):
    old = stage.act("ann", "memory_store", title="Walrus pool of ten", content="Ten walrus.", memory_type="adr")["id"]  # fmt: skip
    new = stage.act("ann", "memory_store", title="Walrus pool of twenty", content="Twenty walrus.", memory_type="adr", force_store=True)["id"]  # fmt: skip
    page = stage.open(f"/knowledge?project={PROJECT}&doc={old}")
    page.wait_for("Boolean(document.querySelector('.reader h2'))")
    page.press("s")
    page.wait_for("Boolean(document.querySelector('dialog[open] input'))")
    page.run("document.querySelector('dialog input').focus()")
    page.type("walrus twenty")
    page.wait_for("document.querySelector('dialog .menu button')?.innerText.includes('twenty')")
    page.click("dialog .menu button")
    read = lambda: stage.call("memory_get_by_id", doc_id=old, project=PROJECT)  # noqa: E731
    wait_until(lambda: read()["status"] == "superseded")
    assert read()["links"]["superseded_by"] == new
    page.close()


def test_results_of_a_search_are_narrowed_by_type_and_tag(stage: PageStage):
    for title, kind, tag in (("Walrus rounding", "adr", "tax"), ("Walrus retries", "learning", "net")):
        stage.act("ann", "memory_store", title=title, content=f"{title} of the walrus.", memory_type=kind, tags=[tag])  # fmt: skip
    page = stage.open(f"/knowledge?project={PROJECT}&q=walrus")
    page.wait_for_text("Walrus rounding")
    page.wait_for_text("Walrus retries")
    facets = "[...document.querySelectorAll('.facet')].map(each => each.innerText.replace(/\\s+/g, ' ').trim()).sort()"
    assert {"learning 1", "net 1", "tax 1"} <= set(page.run(facets))
    page.run(
        "[...document.querySelectorAll('.facet')].find(each => each.innerText.startsWith('adr')).click()"
    )
    page.wait_for("!document.querySelector('.results').innerText.includes('Walrus retries')")
    assert page.run("document.querySelector('.results').innerText.includes('Walrus rounding')")
    page.close()


def test_done_card_shows_the_proof_it_was_closed_with(stage: PageStage):
    item = stage.act("ann", "memory_add_backlog_item", title="Closed with a proof")["id"]
    stage.act("ann", "memory_complete_backlog_item", item_id=item, resolution="41 tests passed at 1f2e3d4c")
    page = stage.open(f"/work?project={PROJECT}")
    page.wait_for(
        f"document.querySelector(\"[data-item='{item}'] .receipt\")?.textContent.includes('41 tests')"
    )
    page.run(f"document.querySelector(\"[data-item='{item}']\").click()")
    page.wait_for("document.querySelector('.panel .receipt')?.innerText.includes('by ann')")
    page.close()
