"""One part of a session on its way in: unpacked, compared, packed and hashed before the transaction that keeps it."""

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from commonplace import errors
from commonplace.access import Caller
from commonplace.config import Settings
from commonplace.rooms.archives import bodies, digests, encodings, frames, learning, model, reading, store
from commonplace.rooms.archives.model import Archive
from commonplace.rooms.archives.store import Kept
from commonplace.rooms.workspaces import store as workspaces
from commonplace.rooms.workspaces.model import Workspace
from commonplace.store.database import Database, Tx

# A longer line is kept, and not studied.
_LONGEST_STUDIED = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Known:
    """What the store knows of the session before this part."""

    workspace: Workspace
    archive: Archive | None
    last: Kept | None
    studied: bytes

    @property
    def bytes(self) -> int:
        return self.archive.bytes if self.archive else 0


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the transaction has to write; without frames it is all there already."""

    before: Archive | None
    kept: list[Kept]
    sha256: str = ""
    line_start: int = 0
    more_stored: int = 0
    lesson: Any = None

    @property
    def addresses(self) -> list[str]:
        return [each.address for each in self.kept if each.address]


@dataclass(frozen=True, slots=True)
class Raw:
    """The bytes of a part, and where they belong."""

    offset: int
    content: bytes | bytearray

    @property
    def end(self) -> int:
        return self.offset + len(self.content)


async def prepare(calls: Any, arguments: Mapping[str, Any], caller: Caller) -> Prepared:
    """Everything that takes long. What it refuses, the transaction would refuse; what it allows is checked again."""
    database: Database = calls.database
    known = await database.read(lambda tx: _known(tx, arguments, caller))
    if arguments["offset"] > known.bytes:
        raise model.misplaced(known.bytes)
    raw = Raw(arguments["offset"], await asyncio.to_thread(_unpacked, arguments))
    _refuse_wrong_size(raw, arguments)
    if known.archive and raw.offset < known.archive.bytes:
        _refuse_other_hash(arguments["sha256"], raw, known.archive.sha256)
        await _refuse_other_bytes(database, calls.settings, known.archive, raw)
        return Prepared(known.archive, [])
    sha256 = await digests.extended(database, calls.settings.archives, known.archive, raw.content)
    _refuse_other_hash(arguments["sha256"], raw, sha256)
    packed = await _packed(calls.settings, known, raw)
    kept = await _put_outside(calls, known.workspace.project, packed)
    line_start = raw.content.rfind(b"\n") + 1
    lesson = await _studied(database, calls.settings, known, raw)
    start = raw.offset + line_start if line_start else (known.archive.line_start if known.archive else 0)
    rewritten = known.last.stored_bytes if known.last and not known.last.place.full else 0
    more_stored = sum(each.stored_bytes for each in kept) - rewritten
    return Prepared(known.archive, kept, sha256, start, more_stored, lesson)


async def _known(tx: Tx, arguments: Mapping[str, Any], caller: Caller) -> Known:
    workspace = await workspaces.workspace(tx, arguments["workspace_id"], caller)
    await workspaces.check_token(tx, workspace, arguments["write_token"])
    archive = await store.archive(tx, workspace.project, workspace.id, arguments["session_id"])
    if archive is None:
        return Known(workspace, None, None, b"")
    last = await store.last_frame(tx, archive)
    return Known(workspace, archive, last, await learning.remembered(tx, archive))


def _unpacked(arguments: Mapping[str, Any]) -> bytes | bytearray:
    if arguments.get("body") is not None:
        return encodings.unpacked(arguments["body"], arguments["encoding"], model.PART_BYTES)
    text, packed = arguments["content"], arguments["content_gzip_base64"]
    if (text is None) == (packed is None):
        raise errors.Invalid("Give content or content_gzip_base64.", hint="One of them, not both.")
    if packed is not None:
        return encodings.unpacked(encodings.from_base64(packed), "gzip", model.PART_BYTES)
    return encodings.unpacked(text.encode(), "identity", model.PART_BYTES)


def _refuse_wrong_size(raw: Raw, arguments: Mapping[str, Any]) -> None:
    if not raw.content:
        raise errors.Invalid("There is nothing to store.", hint="Send at least one byte.")
    if arguments.get("length") not in (None, len(raw.content)):
        raise errors.Invalid(
            f"Content-Range names {arguments['length']} bytes; {len(raw.content)} came, unpacked.",
            hint="It counts the bytes of the session, not those of the compressed body.",
        )
    if raw.end > model.SESSION_BYTES:
        raise errors.TooLarge(
            f"A session has at most {model.SESSION_BYTES} bytes.", hint="Go on under another session_id."
        )


def _refuse_other_hash(given: str | None, raw: Raw, whole: str) -> None:
    """It may be that of the part or, as both are useful to clients, that of the session with it."""
    if given is None or given == whole:
        return
    own = hashlib.sha256(raw.content).hexdigest()
    if given != own:
        raise errors.Invalid(
            "sha256 is not that of these bytes.", hint="It is taken of the raw bytes, unpacked.", sha256=own
        )


async def _refuse_other_bytes(database: Database, settings: Settings, archive: Archive, raw: Raw) -> None:
    """A part that was sent before is welcome again; anything else must go on where the stored bytes end."""
    if raw.end > archive.bytes:
        raise model.misplaced(archive.bytes)
    at = 0
    async for piece in reading.pieces(database, settings.archives, archive, raw.offset, raw.end):
        if raw.content[at : at + len(piece)] != piece:
            raise model.misplaced(archive.bytes)
        at += len(piece)


async def _packed(settings: Settings, known: Known, raw: Raw) -> list[frames.Frame]:
    lines = known.archive.lines if known.archive else 0
    if known.last is None or known.last.place.full:
        return await asyncio.to_thread(frames.packed, b"", raw.offset, lines, raw.content)
    place = known.last.place
    last = await reading.opened(known.last, settings.archives)
    return await asyncio.to_thread(frames.packed, last, place.first_byte, place.lines_before, raw.content)


async def _put_outside(calls: Any, project: str, packed: list[frames.Frame]) -> list[Kept]:
    """Full frames go where the setting says; the last one, which is written again and again, stays in the store."""
    outside = bodies.outside(calls.settings.archives)
    kept = [
        Kept(
            each.place,
            each.sha256,
            bodies.name(project, each.sha256) if outside and each.place.full else "",
            each.body,
            len(each.body),
        )
        for each in packed
    ]
    leaving = {each.address: each.body for each in kept if each.address}
    if outside is None or not leaving:
        return kept
    now = calls.clock()
    await calls.database.write(lambda tx: store.announce_bodies(tx, project, list(leaving), now))
    for address, body in leaving.items():
        await asyncio.to_thread(outside.put, address, body)
    return [Kept(k.place, k.sha256, k.address, b"" if k.address else k.body, k.stored_bytes) for k in kept]


async def _studied(database: Database, settings: Settings, known: Known, raw: Raw) -> Any:
    """What the lines say that end in this part; the first may have begun in an earlier one, or be known already, if
    only its newline was missing."""
    archive, start = known.archive, 0
    begun: bytes | None = b""
    first_line = archive.lines if archive else 0
    if archive and learning.progress(known.studied).lines > first_line:
        start, first_line = raw.content.find(b"\n") + 1, first_line + 1
        if not start:
            return None
    if raw.content.find(b"\n", start) < 0 and not raw.content.rstrip().endswith(b"}"):
        return None
    if archive and not start and archive.line_start < archive.bytes:
        begun = await _begun(database, settings, archive)
    tool = archive.tool if archive else known.workspace.tool
    return await asyncio.to_thread(
        _study, known.studied, tool, first_line, begun, memoryview(raw.content)[start:]
    )


async def _begun(database: Database, settings: Settings, archive: Archive) -> bytes | None:
    if archive.bytes - archive.line_start > _LONGEST_STUDIED:
        return None
    found = reading.pieces(database, settings.archives, archive, archive.line_start, archive.bytes)
    return b"".join([piece async for piece in found])


def _study(state: bytes, tool: str, first_line: int, begun: bytes | None, rest: memoryview) -> Any:
    lines = learning.lines_of((begun or b"") + rest)
    if lines and begun is None:
        lines[0] = b""
    return learning.studied(state, tool, first_line, lines) if lines else None
