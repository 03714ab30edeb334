"""The files of the web page: the shell at every view's path, and scripts and styles below /assets.

Everything is in the wheel and works offline. Scripts import each other by relative paths, so all of them live below one
folder whose name is the digest of their contents: browsers may keep them for ever. The shell of a view names every script
that the view needs, so that a browser asks for all of them at once.
"""

import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Final

from commonplace.edges.http.request import Request
from commonplace.edges.http.response import Header, Response
from commonplace.edges.http.router import Route

VIEWS: Final = ("now", "work", "knowledge", "messages", "sessions", "code", "time", "admin")
"""The first is also the page at /."""
CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " manifest-src 'self'; font-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self';"
    " require-trusted-types-for 'script'"
)
_SECURITY: Final[tuple[Header, ...]] = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_TYPES: Final = {
    "html": b"text/html; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "svg": b"image/svg+xml",
    "webmanifest": b"application/manifest+json",
}
_SHELL: Final = "index.html"
_ICON: Final = "icon.svg"
_FIRST_SCRIPT: Final = "app.js"
_IMPORT: Final = re.compile(rb'^import [^;]* from "\./([\w.-]+)";', re.MULTILINE)
_IMMUTABLE: Final = b"public, max-age=31536000, immutable"
_NOT_MODIFIED: Final = 304


@dataclass(frozen=True)
class PageFile:
    name: str
    body: bytes
    cache_control: bytes

    @property
    def content_type(self) -> bytes:
        return _TYPES[self.name.rpartition(".")[2]]

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.body).hexdigest()[:20]

    @cached_property
    def gzipped(self) -> bytes:
        return gzip.compress(self.body, 9, mtime=0)

    async def send(self, request: Request, response: Response) -> None:
        """A strong ETag names the bytes that are sent, so it differs between the plain and the compressed form."""
        is_gzip = "gzip" in request.headers.get("accept-encoding", "")
        etag = f'"{self.digest}{"-gz" if is_gzip else ""}"'
        headers: list[Header] = [
            *_SECURITY,
            (b"etag", etag.encode()),
            (b"vary", b"accept-encoding"),
            (b"cache-control", self.cache_control),
        ]
        if etag in [part.strip() for part in request.headers.get("if-none-match", "").split(",")]:
            await response.send(_NOT_MODIFIED, b"", *headers, content_type=self.content_type)
            return
        if is_gzip:
            headers.append((b"content-encoding", b"gzip"))
        body = self.gzipped if is_gzip else self.body
        await response.send(200, body, *headers, content_type=self.content_type)


class WebPage:
    """Serves the shell and its files without a key: they contain nothing of anybody."""

    def __init__(self) -> None:
        folder = resources.files(__package__) / "assets"
        sources = {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.startswith(".")}
        shell = sources.pop(_SHELL)
        self.version = _hash_all(sources)
        self.files = {
            f"/assets/{self.version}/{name}": PageFile(name, body, _IMMUTABLE)
            for name, body in sources.items()
            if name.rpartition(".")[2] in _TYPES
        }
        self.icon = PageFile(_ICON, sources[_ICON], b"no-cache")
        self.shells = {view: self._build_shell(shell, sources, view) for view in VIEWS}

    def _build_shell(self, shell: bytes, sources: dict[str, bytes], view: str) -> PageFile:
        names = _list_scripts(sources, _FIRST_SCRIPT) | _list_scripts(sources, f"view-{view}.js")
        links = "\n".join(
            f'<link rel="modulepreload" href="/assets/{{{{version}}}}/{name}">' for name in sorted(names)
        )
        body = shell.replace(b"{{scripts}}", links.encode()).replace(b"{{version}}", self.version.encode())
        return PageFile(_SHELL, body, b"no-cache")

    def public_routes(self) -> dict[str, Route]:
        routes: dict[str, Route] = {f"/{view}": shell.send for view, shell in self.shells.items()}
        files = {path: file.send for path, file in self.files.items()}
        # Browsers ask for this name beside pages that name no icon, such as the documentation.
        return {"/": self.shells[VIEWS[0]].send, "/favicon.ico": self.icon.send} | routes | files


def _list_scripts(sources: dict[str, bytes], first: str) -> set[str]:
    """A script and what it imports, directly or through others."""
    found: set[str] = set()
    waiting = [first]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [imported.decode() for imported in _IMPORT.findall(sources[name])]
    return found


def _hash_all(sources: dict[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, body in sorted(sources.items()):
        digest.update(f"{name}\0{len(body)}\0".encode() + body)
    return digest.hexdigest()[:12]
