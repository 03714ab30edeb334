"""The files of the web page: headers, caching, size, and `.json` beside each view."""

import gzip
import re

import pytest
from test_sign_in import Browser, WebDoor

from commonplace.catalogue import CATALOGUE
from commonplace.edges.web.page_files import CONTENT_SECURITY_POLICY, VIEWS, WebPage
from commonplace.edges.web.view_json import VIEW_OPERATIONS

MAX_COMPRESSED_BYTES = 150_000
PAGE = WebPage()


@pytest.fixture
async def browser(database, clock):
    door = await WebDoor(database, clock, "off").open()
    yield Browser(door)
    await door.close()


@pytest.mark.parametrize("path", ["/", *(f"/{view}" for view in VIEWS)])
async def test_every_view_is_the_shell_with_the_strict_policy(browser, path):
    answer = await browser.request("GET", path)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert answer.headers["cache-control"] == "no-cache"


def test_policy_allows_no_inline_script_and_requires_trusted_types():
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert "require-trusted-types-for 'script'" in CONTENT_SECURITY_POLICY
    shell = PAGE.shells["now"].body.decode()
    assert re.findall(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=", shell) == []


@pytest.mark.parametrize("view", VIEWS)
def test_shell_names_the_scripts_of_its_view_and_only_files_that_exist(view):
    named = set(re.findall(r'"(/assets/[^"]+)"', PAGE.shells[view].body.decode()))
    assert named <= PAGE.files.keys()
    views = {path.rpartition("/")[2] for path in named if "/view-" in path}
    assert f"view-{view}.js" in views
    assert {f"view-{other}.js" for other in VIEWS} - views


def test_scripts_import_only_files_that_exist():
    names = {path.rpartition("/")[2] for path in PAGE.files}
    for file in PAGE.files.values():
        imported = re.findall(r'(?:from |import\()"\./([\w.-]+)"', file.body.decode())
        assert set(imported) <= names, file.name


def test_nothing_is_loaded_from_elsewhere():
    for file in [*PAGE.shells.values(), *PAGE.files.values()]:
        addresses = set(re.findall(rb"https?://[\w./-]+", file.body))
        assert addresses <= {b"http://www.w3.org/2000/svg"}, file.name


def test_page_is_small():
    total = sum(len(file.gzipped) for file in [PAGE.shells["now"], *PAGE.files.values()])
    assert total < MAX_COMPRESSED_BYTES


async def test_assets_are_immutable_and_compressed_with_strong_tags(browser):
    path = next(path for path in PAGE.files if path.endswith("/dom.js"))
    plain = await browser.request("GET", path)
    packed = await browser.request("GET", path, **{"accept-encoding": "br, gzip"})
    assert plain.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert gzip.decompress(packed.body) == plain.body
    assert packed.headers["content-encoding"] == "gzip"
    tags = {plain.headers["etag"], packed.headers["etag"]}
    assert len(tags) == 2
    assert all(tag.startswith('"') for tag in tags)
    again = await browser.request("GET", path, **{"if-none-match": plain.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


async def test_unknown_assets_are_not_found(browser):
    assert (await browser.request("GET", "/assets/000000000000/dom.js")).status == 404


def test_every_view_has_its_operation():
    assert tuple(VIEW_OPERATIONS) == VIEWS
    assert {name for name, _ in VIEW_OPERATIONS.values()} <= CATALOGUE.tools.keys()


@pytest.mark.parametrize("view", VIEWS)
async def test_json_beside_a_view_is_the_reply_of_its_operation(browser, view):
    await browser.sign_in()
    answer = await browser.request("GET", f"/{view}.json{'' if view == 'admin' else '?project=shop'}")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")


async def test_json_without_a_project_is_of_those_that_the_view_shows(browser):
    await browser.sign_in()
    for view in VIEW_OPERATIONS:
        assert (await browser.request("GET", f"/{view}.json")).status == 200, view
    project = {"x-commonplace-project": "shop"}
    lesson = {"title": "One", "content": "Round per line.", "memory_type": "learning"}
    await browser.request("POST", "/api/memory_add_backlog_item", {"title": "One"}, **project)
    stored = await browser.request("POST", "/api/memory_store", lesson, **project)
    assert stored.status == 200
    assert (await browser.request("GET", "/work.json")).json["count"] == 1
    assert (await browser.request("GET", "/knowledge.json")).json["count"] == 1


async def test_json_takes_the_filters_of_the_address(browser):
    await browser.sign_in()
    await browser.request(
        "POST",
        "/api/memory_add_backlog_item",
        {"title": "One", "priority": "low"},
        **{"x-commonplace-project": "shop"},
    )
    assert (await browser.request("GET", "/work.json?project=shop&priority=low&limit=1")).json["count"] == 1
    assert (await browser.request("GET", "/work.json?project=shop&priority=high")).json["count"] == 0
    assert (await browser.request("GET", "/work.json?project=shop&colour=red")).json[
        "error"
    ] == "unknown_argument"
    assert (await browser.request("GET", "/work.json?%ff")).json["error"] == "invalid"
