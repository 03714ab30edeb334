"""GET /docs and below: the documentation of this version, public, rendered when it is first asked for."""

import asyncio
from functools import cache, cached_property
from importlib import resources
from urllib.parse import parse_qs

from commonplace.edges.documentation.markdown_page import MarkdownPage, render_page
from commonplace.edges.documentation.page_layout import PageLayout
from commonplace.edges.documentation.page_tree import PageTree, name_url
from commonplace.edges.documentation.section_search import SectionIndex
from commonplace.edges.http.request import Request
from commonplace.edges.http.response import Response
from commonplace.edges.http.router import Route
from commonplace.edges.web.page_files import PageFile

SEARCH_URL = "/docs/search"
STYLE_URL = "/docs/documentation.css"
_MAX_QUESTION_CHARACTERS = 200
_UNCACHED = b"no-cache"


class DocumentationRoutes:
    """An installation without pages (`tree` None) has no routes."""

    def __init__(self, tree: PageTree | None) -> None:
        self._tree = tree
        self._files: dict[str, PageFile] = {}

    def public_routes(self) -> dict[str, Route]:
        if self._tree is None:
            return {}
        routes: dict[str, Route] = {name_url(path): self._build_route(path) for path in self._tree.paths}
        return routes | {
            SEARCH_URL: self._search,
            STYLE_URL: PageFile("documentation.css", read_style(), _UNCACHED).send,
        }

    def _build_route(self, path: str) -> Route:
        async def send_page(request: Request, response: Response) -> None:
            if path not in self._files:
                html = await asyncio.to_thread(self._render, path)
                self._files[path] = PageFile("page.html", html, _UNCACHED)
            await self._files[path].send(request, response)

        return send_page

    async def _search(self, request: Request, response: Response) -> None:
        asked = parse_qs(request.query.decode("latin-1"), max_num_fields=5).get("q", [""])[0]
        question = asked.strip()[:_MAX_QUESTION_CHARACTERS]
        html = await asyncio.to_thread(self._render_results, question)
        await PageFile("search.html", html, _UNCACHED).send(request, response)

    def _render(self, path: str) -> bytes:
        return self._layout.render_page(self._pages[path]).encode()

    def _render_results(self, question: str) -> bytes:
        return self._layout.render_results(question, self._index.find(question)).encode()

    @cached_property
    def _pages(self) -> dict[str, MarkdownPage]:
        assert self._tree is not None  # noqa: S101 - there are no routes without pages
        return render_all(self._tree)

    @cached_property
    def _index(self) -> SectionIndex:
        return SectionIndex(self._pages.values())

    @cached_property
    def _layout(self) -> PageLayout:
        assert self._tree is not None  # noqa: S101 - the same
        return PageLayout(self._tree, lambda path: self._pages[path].title, name_url, STYLE_URL, SEARCH_URL)


@cache
def read_style() -> bytes:
    return (resources.files(__package__) / "assets" / "documentation.css").read_bytes()


def render_all(tree: PageTree) -> dict[str, MarkdownPage]:
    def link_to(path: str) -> str | None:
        if path in tree.paths:
            return name_url(path)
        return name_url(f"{path}/README.md") if f"{path}/README.md" in tree.paths else None

    return {path: render_page(path, tree.read(path), link_to) for path in sorted(tree.paths)}
