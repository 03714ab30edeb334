"""The page under conditions that are not the usual ones: zoom, reduced motion, a server that goes away and comes back."""

import pytest
from chromium import Chromium
from page_stage import PROJECT, VIEWS, PageStage
from test_page import fill_once

import product
from commonplace.beacon import read_beacon

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
