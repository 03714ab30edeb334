"""/archives/{workspace_id}/{session_id}: transcripts as bytes, in parts, for programs that do not wrap them in JSON."""

import contextlib
import logging
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import parse_qsl

from commonplace import errors
from commonplace.call import Calls
from commonplace.edges.http import Request, Route, Send, respond_json, respond_refusal, start
from commonplace.rooms.archives.operations import put_bytes, read_bytes, stored
from commonplace.session_archive.archive import MAX_PART_BYTES

_log = logging.getLogger(__name__)

_ENCODINGS = ("identity", "gzip", "zstd")
_AT_ONCE = 4 * MAX_PART_BYTES
_CONTENT_RANGE = re.compile(r"bytes (\d{1,12})-(\d{1,12})/(\*|\d{1,12})")
_RANGE = re.compile(r"bytes=(\d{1,12})-(\d{0,12})")


def _described(name: str, place: str, description: str) -> dict[str, Any]:
    return {"name": name, "in": place, "description": description, "schema": {"type": "string"}}


_REFUSED = {"4XX": {"description": "A refusal: error, message, hint. A conflict names the stored `bytes`."}}
OPENAPI: dict[str, Any] = {
    "/archives/{workspace_id}/{session_id}": {
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in ("workspace_id", "session_id")
        ],
        "put": {
            "operationId": "put_archive",
            "description": "Add a part of a transcript: raw bytes, or gzip or zstd by Content-Encoding.",
            "parameters": [
                _described("X-Write-Token", "header", "The workspace's token."),
                _described(
                    "Content-Range", "header", "bytes FIRST-LAST/*: where the part belongs; else at 0."
                ),
                _described("X-Sha256", "header", "Of the part's raw bytes, or of the whole session with it."),
                _described("X-Tool", "header", "Which agent wrote it."),
                _described("X-Started-At", "header", "When the session began, ISO 8601."),
            ],
            "requestBody": {"content": {"application/octet-stream": {}}},
            "responses": {"200": {"description": "What is stored now; Upload-Offset says how far."}}
            | _REFUSED,
        },
        "get": {
            "operationId": "get_archive",
            "description": "How much is stored; with a range, its exact bytes.",
            "parameters": [
                _described("Range", "header", "bytes=FIRST-LAST"),
                _described("from", "query", "The first byte, in place of Range."),
                _described("to", "query", "The byte after the last."),
            ],
            "responses": {"200": {"description": "Size and digest."}, "206": {"description": "The bytes."}}
            | _REFUSED,
        },
        "head": {
            "operationId": "head_archive",
            "description": "Upload-Offset and ETag alone.",
            "responses": {"200": {"description": "It is there."}} | _REFUSED,
        },
    }
}


class Archives:
    """How much of a session is stored (GET, HEAD), its exact bytes (GET with Range), and more of them (PUT)."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._coming = 0

    def routes(self) -> dict[str, dict[str, Route]]:
        return {"/archives/*/*": {"PUT": self.put, "GET": self.get, "HEAD": self.get}}

    async def put(self, request: Request, send: Send) -> None:
        with self._room_for(request):
            given = await _part(request)
            try:
                answer = await self._calls.read(put_bytes, given, _caller(request))
            except errors.Conflict as conflict:
                await respond_refusal(send, conflict, *_stored_so_far(conflict.details.get("bytes")))
                return
        await respond_json(send, 200, answer.text(), *_stored_so_far(answer.reply.bytes))

    async def get(self, request: Request, send: Send) -> None:
        answer = await self._calls.read(stored, _named(request), _caller(request))
        asked = _asked(request, answer.reply.bytes) if request.method == "GET" else None
        marks = (*_stored_so_far(answer.reply.bytes), (b"etag", f'"{answer.reply.sha256}"'.encode()))
        if asked is None:
            await respond_json(send, 200, answer.text(), *marks)
            return
        await self._send_bytes(request, send, *asked, answer.reply.bytes, marks)

    async def _send_bytes(
        self, request: Request, send: Send, first: int, end: int, whole: int, marks: tuple[Any, ...]
    ) -> None:
        """A few frames at a time, so that a whole session costs no more memory than its beginning."""
        shown = (b"content-range", f"bytes {first}-{end - 1}/{whole}".encode())
        pieces = self._bytes(request, first, end)
        piece = await anext(pieces)
        await start(send, 206, end - first, b"application/octet-stream", shown, *marks)
        while piece:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            piece = await anext(pieces, b"")
        await send({"type": "http.response.body", "body": b""})

    async def _bytes(self, request: Request, first: int, end: int) -> AsyncIterator[bytes]:
        while first < end:
            given = _named(request) | {"first": first, "end": end}
            answer = await self._calls.read(read_bytes, given, _caller(request))
            yield answer.reply
            first += len(answer.reply)

    @contextlib.contextmanager
    def _room_for(self, request: Request) -> Iterator[None]:
        """Bodies are held whole until they are kept, so all that are coming together have a bound too."""
        length = request.headers.get("content-length", "")
        size = int(length) if length.isdigit() else MAX_PART_BYTES
        if self._coming + size > _AT_ONCE:
            raise errors.TooMany(
                "Too many uploads at once.", hint="Try again in a few seconds.", retry_after=3
            )
        self._coming += size
        try:
            yield
        finally:
            self._coming -= size


def _caller(request: Request) -> Any:
    assert request.caller is not None  # noqa: S101 - the application identified it
    return request.caller


def _named(request: Request) -> dict[str, Any]:
    _, _, workspace, session = request.path.split("/")
    return {"workspace_id": workspace, "session_id": session}


async def _part(request: Request) -> dict[str, Any]:
    """The bytes, where they belong, and what else is said of them; what is refused here leaves its line in the log too."""
    given = _named(request)
    for name in ("write_token", "tool", "started_at", "sha256"):
        if value := request.headers.get(f"x-{name.replace('_', '-')}"):
            given[name] = value
    try:
        if "write_token" not in given:
            raise errors.Forbidden(
                "The header X-Write-Token is missing.",
                hint="Send the write_token that register_workspace returned for this workspace.",
            )
        if "content-range" in request.headers:
            given |= _content_range(request.headers["content-range"])
        given |= {
            "encoding": request.encoding,
            "body": await request.body(MAX_PART_BYTES, _ENCODINGS),
        }
    except errors.Refusal as refusal:
        key = _caller(request).key
        _log.info("refused", extra={"operation": put_bytes.name, "code": refusal.code, "key": key})
        raise
    return given


def _content_range(text: str) -> dict[str, int]:
    found = _CONTENT_RANGE.fullmatch(text.strip())
    first, last = (int(found[1]), int(found[2])) if found else (0, -1)
    if found is None or last < first:
        raise errors.Invalid("This is no Content-Range.", hint="Use: Content-Range: bytes 0-1023/*")
    if found[3] != "*" and int(found[3]) <= last:
        raise errors.Invalid(
            f"In Content-Range byte {last} is beyond the total of {found[3]}.",
            hint="Bytes are counted from 0, so the total is at least one more than the last; or send * for it.",
        )
    return {"offset": first, "length": last - first + 1}


def _asked(request: Request, stored_bytes: int) -> tuple[int, int] | None:
    """Which bytes, from the Range header or ?from=&to=; none = only how many there are."""
    query = dict(parse_qsl(request.query.decode("latin-1")))
    text = request.headers.get("range")
    if text is None and not {"from", "to"} & query.keys():
        return None
    if text is None:
        text = f"bytes={query.get('from', '0')}-{_last(query.get('to', ''))}"
    found = _RANGE.fullmatch(text.strip())
    if found is None:
        raise errors.Invalid("This is no range of bytes.", hint="Use: Range: bytes=0-1023")
    first, end = int(found[1]), min(int(found[2]) + 1 if found[2] else stored_bytes, stored_bytes)
    if first >= end:
        raise Unsatisfiable(
            hint=f"Ask for bytes below {stored_bytes}.",
            bytes=stored_bytes,
            content_range=f"bytes */{stored_bytes}",
        )
    return first, end


def _last(to: str) -> str:
    """?to= is where the range ends, a Range names its last byte."""
    return str(int(to) - 1) if to.isdigit() and int(to) else to


class Unsatisfiable(errors.Refusal):
    """No such bytes are stored."""

    code = "range_not_satisfiable"
    status = 416


def _stored_so_far(count: int | None) -> tuple[tuple[bytes, bytes], ...]:
    return () if count is None else ((b"upload-offset", str(count).encode()),)
