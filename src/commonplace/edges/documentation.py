"""The documentation of this version as Markdown, offline: docs/README.md of the repository is at /docs/README.md.

`make site` renders the same files as HTML (tools/documentation/).
"""

import asyncio
from functools import partial
from pathlib import Path

from commonplace.edges.http.request import Request
from commonplace.edges.http.response import Response
from commonplace.edges.http.router import Route

_OK = 200
_PACKAGE = Path(__file__).resolve().parents[1]
# In the wheel, and in a clone of the repository.
_FOLDERS = (_PACKAGE / "docs", _PACKAGE.parents[1] / "docs")


def list_page_routes(folders: tuple[Path, ...] = _FOLDERS) -> dict[str, Route]:
    """A route for each page; none if this installation has no pages."""
    folder = next((folder for folder in folders if (folder / "README.md").is_file()), None)
    pages = sorted(folder.rglob("*.md")) if folder else []
    return {
        f"/docs/{page.relative_to(folder).as_posix()}": partial(_send_page, page) for page in pages if folder
    }


async def _send_page(page: Path, request: Request, response: Response) -> None:
    del request
    body = await asyncio.to_thread(page.read_bytes)
    await response.send(_OK, body, content_type=b"text/markdown; charset=utf-8")
