"""/archives/{workspace_id}/{session_id}: transcripts as bytes, in parts, for programs that do not wrap them in JSON.

It reads headers and bytes; what is stored and who may read it is decided in rooms/archives.
"""

import contextlib
import logging
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import parse_qsl

from commonplace import errors
from commonplace.call import Calls
from commonplace.edges.http.refusals import RangeNotSatisfiable
from commonplace.edges.http.request import Request, parse_integer
from commonplace.edges.http.response import Header, Response
from commonplace.rooms.archives.operations import get_stored_session, read_bytes, upload_bytes
from commonplace.transcripts.archive.frames import MAX_PART_BYTES

_log = logging.getLogger(__name__)

_ENCODINGS = ("identity", "gzip", "zstd")
_MAX_UPLOAD_BYTES_AT_ONCE = 4 * MAX_PART_BYTES
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,12})-([0-9]{1,12})/(\*|[0-9]{1,12})")
_RANGE = re.compile(r"bytes=([0-9]{1,12})-([0-9]{0,12})")


def _describe_parameter(name: str, location: str, description: str) -> dict[str, Any]:
    return {"name": name, "in": location, "description": description, "schema": {"type": "string"}}


_REFUSAL = {
    "4XX": {
        "description": "A refusal: error, message, hint. A conflict also has the number of stored `bytes`."
    }
}
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
                _describe_parameter("X-Write-Token", "header", "The workspace's token."),
                _describe_parameter(
                    "Content-Range", "header", "bytes FIRST-LAST/*: the position of the part; without it 0."
                ),
                _describe_parameter(
                    "X-Sha256",
                    "header",
                    "SHA-256 of the part's raw bytes, or of the whole session including it.",
                ),
                _describe_parameter("X-Tool", "header", "The agent that wrote it."),
                _describe_parameter("X-Started-At", "header", "When the session started, ISO 8601."),
            ],
            "requestBody": {"content": {"application/octet-stream": {}}},
            "responses": {
                "200": {"description": "What is stored now. Upload-Offset is the number of stored bytes."}
            }
            | _REFUSAL,
        },
        "get": {
            "operationId": "get_archive",
            "description": "The stored size and digest; with a range, those bytes.",
            "parameters": [
                _describe_parameter("Range", "header", "bytes=FIRST-LAST"),
                _describe_parameter("from", "query", "The first byte, in place of Range."),
                _describe_parameter("to", "query", "The byte after the last."),
            ],
            "responses": {"200": {"description": "Size and digest."}, "206": {"description": "The bytes."}}
            | _REFUSAL,
        },
        "head": {
            "operationId": "head_archive",
            "description": "Upload-Offset and ETag without a body.",
            "responses": {"200": {"description": "It is stored."}} | _REFUSAL,
        },
    }
}


class ArchiveRoutes:
    """GET and HEAD: how much of a session is stored. GET with Range: its bytes. PUT: add a part."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._upload_bytes = 0

    async def put_part(self, request: Request, response: Response) -> None:
        with self._reserve_upload(request):
            arguments = await _read_part(request)
            try:
                answer = await self._calls.run_operation(upload_bytes, arguments, request.caller)
            except errors.Conflict as conflict:
                await response.send_refusal(conflict, *_offset_headers(conflict.details.get("bytes")))
                return
        await response.send(200, answer.to_text(), *_offset_headers(answer.reply.bytes))

    async def send_archive(self, request: Request, response: Response) -> None:
        answer = await self._calls.run_operation(get_stored_session, _read_path(request), request.caller)
        span = _read_range(request, answer.reply.bytes) if request.method == "GET" else None
        headers = (*_offset_headers(answer.reply.bytes), (b"etag", f'"{answer.reply.sha256}"'.encode()))
        if span is None:
            await response.send(200, answer.to_text(), *headers)
            return
        first, end = span
        content_range = (b"content-range", f"bytes {first}-{end - 1}/{answer.reply.bytes}".encode())
        await self._send_bytes(request, response, first, end, content_range, *headers)

    async def _send_bytes(
        self, request: Request, response: Response, first: int, end: int, *headers: Header
    ) -> None:
        """Send a few frames at a time, so that a whole session costs no more memory than its beginning."""
        chunks = self._read_chunks(request, first, end)
        chunk = await anext(chunks)
        await response.start_body(206, end - first, b"application/octet-stream", *headers)
        while chunk:
            await response.send_chunk(chunk)
            chunk = await anext(chunks, b"")
        await response.end_body()

    async def _read_chunks(self, request: Request, first: int, end: int) -> AsyncIterator[bytes]:
        while first < end:
            arguments = _read_path(request) | {"first": first, "end": end}
            answer = await self._calls.run_operation(read_bytes, arguments, request.caller)
            yield answer.reply
            first += len(answer.reply)

    @contextlib.contextmanager
    def _reserve_upload(self, request: Request) -> Iterator[None]:
        """Bodies stay in memory until they are stored, so their sum is bounded too."""
        announced = parse_integer(request.headers.get("content-length", ""))
        size = MAX_PART_BYTES if announced is None else announced
        if self._upload_bytes + size > _MAX_UPLOAD_BYTES_AT_ONCE:
            raise errors.TooMany(
                "Too many uploads at once.", hint="Try again in a few seconds.", retry_after=3
            )
        self._upload_bytes += size
        try:
            yield
        finally:
            self._upload_bytes -= size


def _read_path(request: Request) -> dict[str, Any]:
    _, _, workspace, session = request.path.split("/")
    return {"workspace_id": workspace, "session_id": session}


async def _read_part(request: Request) -> dict[str, Any]:
    """The arguments of `upload_bytes`. A refusal here is logged like a refusal of the operation."""
    arguments = _read_path(request)
    for name in ("write_token", "tool", "started_at", "sha256"):
        if value := request.headers.get(f"x-{name.replace('_', '-')}"):
            arguments[name] = value
    try:
        if "write_token" not in arguments:
            raise errors.Forbidden(
                "The header X-Write-Token is missing.",
                hint="Send the write_token that register_workspace returned for this workspace.",
            )
        if "content-range" in request.headers:
            arguments |= _parse_content_range(request.headers["content-range"])
        arguments |= {
            "encoding": request.content_encoding,
            "body": await request.read_body(MAX_PART_BYTES, _ENCODINGS),
        }
    except errors.Refusal as refusal:
        extra = {"operation": upload_bytes.name, "code": refusal.code, "key": request.caller.key}
        _log.info("refused", extra=extra)
        raise
    return arguments


def _parse_content_range(text: str) -> dict[str, int]:
    match = _CONTENT_RANGE.fullmatch(text.strip())
    first, last = (int(match[1]), int(match[2])) if match else (0, -1)
    if match is None or last < first:
        raise errors.Invalid("The Content-Range is not valid.", hint="Use: Content-Range: bytes 0-1023/*")
    if match[3] != "*" and int(match[3]) <= last:
        raise errors.Invalid(
            f"Content-Range: byte {last} lies beyond the total of {match[3]}.",
            hint="Bytes count from 0, so the total is at least LAST + 1. Send * if the total is unknown.",
        )
    return {"offset": first, "length": last - first + 1}


def _read_range(request: Request, stored_bytes: int) -> tuple[int, int] | None:
    """The first byte and the end, from the Range header or ?from=&to=; None if no range is requested."""
    query = dict(parse_qsl(request.query.decode("latin-1")))
    text = request.headers.get("range")
    if text is None and not {"from", "to"} & query.keys():
        return None
    if text is None:
        text = f"bytes={query.get('from', '0')}-{_last_byte(query.get('to', ''))}"
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        raise errors.Invalid("The range is not valid.", hint="Use: Range: bytes=0-1023")
    first, end = int(match[1]), min(int(match[2]) + 1 if match[2] else stored_bytes, stored_bytes)
    if first >= end:
        raise RangeNotSatisfiable(
            hint=f"Ask for bytes below {stored_bytes}.",
            bytes=stored_bytes,
            content_range=f"bytes */{stored_bytes}",
        )
    return first, end


def _last_byte(to: str) -> str:
    """`?to=` names the byte after the last, a Range names the last."""
    end = parse_integer(to)
    return str(end - 1) if end else to


def _offset_headers(count: int | None) -> tuple[Header, ...]:
    return () if count is None else ((b"upload-offset", str(count).encode()),)
