"""The HTML around a page: navigation and table of contents. Every text is escaped here."""

from collections.abc import Callable
from html import escape

from documentation.markdown_page import MarkdownPage, list_navigated_sections
from documentation.page_tree import FRONT_PAGE, PageTree

TitleOf = Callable[[str], str]
UrlOf = Callable[[str], str]


class PageLayout:
    """`url_of` gives the address of a page by its path."""

    def __init__(self, tree: PageTree, title_of: TitleOf, url_of: UrlOf, style_url: str) -> None:
        self._tree, self._title_of, self._url_of = tree, title_of, url_of
        self._style_url = style_url

    def render_page(self, page: MarkdownPage) -> str:
        body = f"<article>{page.html}{self._render_neighbours(page.path)}</article>{_render_contents(page)}"
        return self._render_shell(page.title, page.path, body)

    def _render_shell(self, title: str, path: str, body: str) -> str:
        front = escape(self._url_of(FRONT_PAGE))
        return (
            f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)} · Commonplace</title>"
            '<meta name=viewport content="width=device-width, initial-scale=1">'
            f'<link rel=stylesheet href="{escape(self._style_url)}">'
            f'<header><a class=home href="{front}">Commonplace</a></header>'
            f"<main>{self._render_navigation(path)}{body}</main></html>"
        )

    def _render_navigation(self, current: str) -> str:
        sections = []
        for section in self._tree.sections:
            is_open = " open" if current in section.pages or section is self._tree.sections[0] else ""
            items = "".join(self._render_entry(page, current) for page in section.pages)
            sections.append(
                f"<details{is_open}><summary>{escape(section.title)}</summary><ul>{items}</ul></details>"
            )
        return f"<nav aria-label=Pages>{''.join(sections)}</nav>"

    def _render_entry(self, page: str, current: str) -> str:
        mark = ' aria-current="page"' if page == current else ""
        label = self._tree.labels.get(page) or self._title_of(page)
        return f'<li><a href="{escape(self._url_of(page))}"{mark}>{escape(label)}</a></li>'

    def _render_neighbours(self, path: str) -> str:
        order = self._tree.list_in_order()
        if path not in order:
            return ""
        at = order.index(path)
        before, after = (order[at - 1] if at else ""), (order[at + 1] if at + 1 < len(order) else "")
        links = [
            f'<a rel={rel} href="{escape(self._url_of(page))}">{escape(self._title_of(page))}</a>'
            if page
            else "<span></span>"
            for rel, page in (("prev", before), ("next", after))
        ]
        return f"<footer>{''.join(links)}</footer>"


def _render_contents(page: MarkdownPage) -> str:
    shown = list_navigated_sections(page)
    if len(shown) < 2:  # noqa: PLR2004 - one heading needs no table
        return ""
    items = "".join(
        f'<li class=level{section.level}><a href="#{escape(section.anchor)}">{escape(section.title)}</a></li>'
        for section in shown
    )
    return f"<aside aria-label='On this page'><ul>{items}</ul></aside>"
