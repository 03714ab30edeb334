"""One page of the documentation: Markdown to HTML with anchors, links that work in the site, and its sections.

Anchors are spelled as GitHub spells them, so the same links work there. HTML in the sources is left out: they contain only
comments.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from documentation.page_tree import resolve_link

LinkTo = Callable[[str], str | None]
"""The address of a path in the repository; None if the site does not have it."""

_NOT_IN_SLUG: Final = re.compile(r"[^\w\- ]")
_OUTSIDE: Final = ("http://", "https://", "mailto:", "cursor:", "vscode:")
_MAX_NAVIGATED_LEVEL: Final = 3


@dataclass
class PageSection:
    """A heading and the plain text below it, up to the next heading."""

    level: int
    title: str
    anchor: str
    text: str = ""


@dataclass
class MarkdownPage:
    path: str
    title: str
    html: str
    sections: list[PageSection] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    """The relative links as they are written."""


def render_page(path: str, source: str, link_to: LinkTo) -> MarkdownPage:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = parser.parse(source)
    page = MarkdownPage(path, path, "")
    _read_sections(page, tokens)
    for token in tokens:
        for child in token.children or ():
            if child.type == "link_open":
                _rewrite_link(page, child, link_to)
        token.children = [child for child in token.children or () if child.type != "html_inline"]
    shown = [token for token in tokens if token.type != "html_block"]
    page.html = _wrap_tables(parser.renderer.render(shown, parser.options, {}))
    page.title = next((section.title for section in page.sections if section.level == 1), path)
    return page


def _read_sections(page: MarkdownPage, tokens: Sequence[Token]) -> None:
    used: Counter[str] = Counter()
    for position, token in enumerate(tokens):
        if token.type == "heading_open":
            title = _plain_text(tokens[position + 1])
            anchor = _make_anchor(title, used)
            token.attrSet("id", anchor)
            page.sections.append(PageSection(int(token.tag[1:]), title, anchor))
        elif page.sections and token.type in ("inline", "fence", "code_block"):
            is_title = position > 0 and tokens[position - 1].type == "heading_open"
            page.sections[-1].text += "" if is_title else _plain_text(token) + "\n"


def _plain_text(token: Token) -> str:
    if token.children is None:
        return token.content
    breaks = {"softbreak": " ", "hardbreak": " "}
    return "".join(
        breaks.get(child.type, child.content) for child in token.children if child.type != "html_inline"
    )


def _make_anchor(title: str, used: Counter[str]) -> str:
    slug = _NOT_IN_SLUG.sub("", title.lower()).replace(" ", "-")
    used[slug] += 1
    return slug if used[slug] == 1 else f"{slug}-{used[slug] - 1}"


def _rewrite_link(page: MarkdownPage, link: Token, link_to: LinkTo) -> None:
    href = str(link.attrGet("href") or "")
    if href.startswith(_OUTSIDE):
        link.attrSet("rel", "noreferrer")
        return
    page.links.append(href)
    target, mark, anchor = unquote(href).partition("#")
    if not target:
        return
    address = link_to(resolve_link(page.path, target))
    if address is None:
        link.attrs.pop("href", None)  # a file that only the repository has; its name stays
    else:
        link.attrSet("href", f"{address}{mark}{anchor}")


def _wrap_tables(html: str) -> str:
    """A wide table scrolls in its own box, and not the page."""
    return html.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")


def list_navigated_sections(page: MarkdownPage) -> list[PageSection]:
    """The headings that the page's own table of contents shows."""
    return [section for section in page.sections if 1 < section.level <= _MAX_NAVIGATED_LEVEL]
