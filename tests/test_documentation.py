"""The documentation: every page is there, and every link leads somewhere."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from commonplace.edges.documentation import list_page_routes
from documentation.markdown_page import MarkdownPage, render_page
from documentation.page_tree import PageTree, load_page_tree, name_file, resolve_link
from documentation.write_site import render_all, write_site

TOP = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def tree() -> PageTree:
    return load_page_tree()


@pytest.fixture(scope="module")
def pages(tree: PageTree) -> Mapping[str, MarkdownPage]:
    return render_all(tree)


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
    assert len({name_file(path) for path in pages}) == len(pages)


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
    assert size < 8_000_000
    for file in files:
        for link in re.findall(r'(?:href|src)="([^"#]+)', file.read_text()):
            assert link.startswith(("http", "mailto")) or (file.parent / link).exists(), (file.name, link)


def test_server_sends_every_page_of_docs_as_markdown(tree: PageTree, tmp_path: Path):
    pages = {path for path in tree.paths if path.startswith("docs/")}
    assert list_page_routes().keys() == {f"/{path}" for path in pages}
    assert list_page_routes((tmp_path,)) == {}
