"""The documentation at /docs: every page is there, every link leads somewhere, and search finds what is written."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import httpx2
import pytest

from commonplace.edges.documentation.documentation_routes import DocumentationRoutes, render_all
from commonplace.edges.documentation.markdown_page import MarkdownPage, render_page
from commonplace.edges.documentation.page_tree import PageTree, load_page_tree, name_url, resolve_link
from commonplace.edges.documentation.section_search import SectionIndex
from commonplace.edges.documentation.write_site import write_site
from commonplace.edges.http.router import HttpApplication
from patience import PATIENCE_SECONDS
from quick_server import QuickServer

TOP = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tree() -> PageTree:
    found = load_page_tree(TOP)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def pages(tree: PageTree) -> Mapping[str, MarkdownPage]:
    return render_all(tree)


@pytest.fixture(scope="module")
async def site(tree: PageTree) -> AsyncIterator[httpx2.AsyncClient]:
    async def nobody(*_: object, is_safe: bool = True) -> None:
        raise AssertionError(is_safe)

    app = HttpApplication(nobody, {}, DocumentationRoutes(tree).public_routes())
    listening = socket.create_server(("127.0.0.1", 0))
    server = QuickServer(app)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    async with httpx2.AsyncClient(base_url=address, timeout=PATIENCE_SECONDS) as client:
        yield client
    server.end()
    await task


def test_every_link_of_every_page_leads_to_a_file_and_a_heading(pages: Mapping[str, MarkdownPage]):
    broken = [
        f"{page.path}: {link}"
        for page in pages.values()
        for link in page.links
        if not leads(pages, page, link)
    ]
    assert broken == []


def leads(pages: Mapping[str, MarkdownPage], page: MarkdownPage, link: str) -> bool:
    target, _, anchor = link.partition("#")
    path = resolve_link(page.path, target) if target else page.path
    if path not in pages:
        return (TOP / path).exists() and not anchor
    return not anchor or anchor in {section.anchor for section in pages[path].sections}


def test_navigation_has_every_page_of_docs_once(tree: PageTree):
    listed = tree.list_in_order()
    assert len(listed) == len(set(listed))
    assert {path for path in tree.paths if path.startswith("docs/")} <= set(listed)
    assert [section.title for section in tree.sections][:2] == ["Start", "Work together"]


def test_every_page_has_a_title_and_an_address_of_its_own(pages: Mapping[str, MarkdownPage]):
    assert [path for path, page in pages.items() if page.title == path] == []
    assert len({name_url(path) for path in pages}) == len(pages)


@pytest.mark.parametrize(
    ("question", "page"),
    [
        ("restore a backup", "docs/guides/backup.md"),
        ("oauth issuer audience", "docs/guides/oauth.md"),
        ("memory_lock_files", "docs/operations/locks.md"),
        ("what to write into CLAUDE.md", "docs/guides/templates.md"),
        ("key leaked", "docs/guides/handbook.md"),
    ],
)
def test_search_finds_the_page_among_the_first_three(
    pages: Mapping[str, MarkdownPage], question: str, page: str
):
    found = SectionIndex(pages.values()).find(question)
    assert page in [each.page.path for each in found[:3]]


async def test_pages_are_public_and_run_no_script(site: httpx2.AsyncClient, tree: PageTree):
    front = await site.get("/docs")
    assert front.status_code == 200
    assert "script-src 'self'" in front.headers["content-security-policy"]
    assert "<script" not in front.text
    assert 'href="/docs/guides/locks"' in front.text
    for path in (
        "docs/guides/locks.md",
        "docs/operations/locks.md",
        "docs/decisions/README.md",
        "SECURITY.md",
    ):
        assert path in tree.paths
        assert (await site.get(name_url(path))).status_code == 200, path
    assert (await site.get("/docs/documentation.css")).headers["content-type"].startswith("text/css")
    assert not re.search(r'(src|href)="(https?:)?//(?!github\.com)', (await site.get("/docs")).text)


async def test_search_page_shows_results_and_quotes_what_was_asked(site: httpx2.AsyncClient):
    answer = await site.get("/docs/search", params={"q": 'lease "><script>alert(1)</script>'})
    assert "<script>" not in answer.text
    assert "/docs/guides/locks" in answer.text
    assert "Nothing found" in (await site.get("/docs/search", params={"q": "zzzzqqq"})).text
    assert (await site.get("/docs/search")).status_code == 200
    assert (await site.get("/docs/search", params={"q": "x " * 5000})).status_code == 200


def test_html_in_a_source_is_left_out():
    source = (
        '# T\n\n<!-- note -->\n<script>x</script>\n\ntext <b onclick="x">bold</b> [a](javascript:alert(1))'
    )
    page = render_page("docs/x.md", source, lambda _: None)
    assert "<script" not in page.html
    assert "onclick" not in page.html
    assert "note" not in page.html
    assert "href" not in page.html


def test_site_folder_has_every_page_with_links_that_work_in_it(tree: PageTree, tmp_path: Path):
    size = write_site(tree, tmp_path)
    files = list(tmp_path.rglob("*.html"))
    assert len(files) == len(tree.paths)
    assert size < 4_000_000
    for file in files:
        for link in re.findall(r'(?:href|src)="([^"#]+)', file.read_text()):
            assert link.startswith(("http", "mailto")) or (file.parent / link).exists(), (file.name, link)


def test_an_installation_without_pages_has_no_routes(tmp_path: Path):
    assert DocumentationRoutes(load_page_tree(tmp_path)).public_routes() == {}
