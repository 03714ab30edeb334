"""Tables of archived sessions: the archives, their frames, and the addresses of bodies outside of the database.

What was parsed out of the sessions is in `study_store.py`.
"""

from collections.abc import Sequence
from dataclasses import asdict, astuple, fields, replace
from functools import partial

from commonplace.rooms.archives.hashed_rows import HASHED_ARCHIVES, HASHED_FRAMES
from commonplace.store.database import Database, Row, Tx, Value
from commonplace.store.ids import MIN_PREFIX_CHARACTERS, pick_id_by_prefix
from commonplace.store.row_hashes import ROW_HASH, set_hash_if_unchanged
from commonplace.transcripts.archive.frames import ArchivedSession, FramePosition, SessionBytes, StoredFrame

_COLUMNS = ", ".join(field.name for field in fields(ArchivedSession))
_FRAME_COLUMNS = "first_byte, raw_bytes, lines_before, lines_through, sha256, stored_bytes, address, body"
_MAX_CANDIDATES = 5
_WHERE_KEY = "project = $1 and workspace = $2 and session = $3"


async def find_archive(tx: Tx, project: str, workspace: str, session: str) -> ArchivedSession | None:
    row = await tx.one(f"select {_COLUMNS} from archive where {_WHERE_KEY}", project, workspace, session)
    return ArchivedSession(**row) if row else None


async def find_session_id(tx: Tx, project: str, workspace: str, prefix: str) -> str | None:
    """The only session whose id begins with this prefix; several are refused."""
    if len(prefix) < MIN_PREFIX_CHARACTERS:
        return None
    rows = await tx.all(
        "select session from archive where project = $1 and workspace = $2 and session >= $3 and session < $4"
        " order by session limit $5",
        project,
        workspace,
        prefix,
        prefix + "\x7f",
        _MAX_CANDIDATES,
    )
    return pick_id_by_prefix(prefix, [row["session"] for row in rows])


async def list_archives_of_workspace(
    tx: Tx, project: str, workspace: str, since: int, until: int, limit: int, offset: int
) -> tuple[int, list[ArchivedSession]]:
    """The total count and one page of the sessions that were active in that time, latest first."""
    during = "project = $1 and workspace = $2 and ended_at >= $3 and started_at <= $4"
    count = await tx.one(
        f"select count(*) as n from archive where {during}", project, workspace, since, until
    )
    rows = await tx.all(
        f"select {_COLUMNS} from archive where {during} order by ended_at desc, session limit $5 offset $6",
        project,
        workspace,
        since,
        until,
        limit,
        offset,
    )
    return (int(count["n"]) if count else 0), [ArchivedSession(**row) for row in rows]


async def list_archives(
    tx: Tx, projects: Sequence[str], workspace: str | None, since: int, until: int, limit: int
) -> list[ArchivedSession]:
    """The sessions of these projects that were active in that time, latest first."""
    rows = await tx.all(
        f"select {_COLUMNS} from archive where project = any($1) and (CAST($2 as text) is null or workspace = $2)"
        " and ended_at >= $3 and started_at <= $4 order by ended_at desc, session limit $5",
        list(projects),
        workspace,
        since,
        until,
        limit,
    )
    return [ArchivedSession(**row) for row in rows]


async def insert_archive(tx: Tx, archive: ArchivedSession) -> bool:
    """False if the session exists."""
    placeholders = ", ".join(f"${n}" for n in range(1, len(fields(ArchivedSession)) + 1))
    added = await tx.run(
        f"insert into archive ({_COLUMNS}) values ({placeholders}) on conflict (project, workspace, session) do nothing",
        *astuple(replace(archive, row_hash=HASHED_ARCHIVES.compute_hash(asdict(archive)))),
    )
    return added == 1


async def update_archive(tx: Tx, before: ArchivedSession, after: ArchivedSession) -> bool:
    """False if another upload extended it meanwhile."""
    after = replace(after, ended_at=max(before.ended_at, after.ended_at))
    changed = await tx.run(
        f"update archive set bytes = $4, lines = $5, line_start = $6, compressed_bytes = $7, sha256 = $8,"
        f" updated_at = $9, ended_at = case when ended_at < $10 then $10 else ended_at end,"
        f" masking_version = $13, masked_lines = $14, {set_hash_if_unchanged(16, 17)}"
        f" where {_WHERE_KEY} and bytes = $11 and sha256 = $12 and masking_version = $15",
        *before.key,
        after.bytes,
        after.lines,
        after.line_start,
        after.compressed_bytes,
        after.sha256,
        after.updated_at,
        after.ended_at,
        before.bytes,
        before.sha256,
        after.masking_version,
        after.masked_lines,
        before.masking_version,
        before.row_hash,
        HASHED_ARCHIVES.hash_after(asdict(before), asdict(after)),
    )
    return changed == 1


async def find_archive_to_mask(tx: Tx, version: int, damaged_version: int) -> ArchivedSession | None:
    """One session that these rules have not masked, unless they found it damaged."""
    row = await tx.one(
        f"select {_COLUMNS} from archive where masking_version < $1 and masking_version <> $2 limit 1",
        version,
        damaged_version,
    )
    return ArchivedSession(**row) if row else None


async def update_masked_archive(
    tx: Tx, before: ArchivedSession, after: ArchivedSession, added_stored_bytes: int
) -> bool:
    """False if an upload changed the session meanwhile."""
    changed = await tx.run(
        "update archive set masking_version = $4, masked_lines = $5, compressed_bytes = compressed_bytes + $6,"
        f" {ROW_HASH} = null"
        f" where {_WHERE_KEY} and bytes = $7 and sha256 = $8 and masking_version = $9",
        *before.key,
        after.masking_version,
        after.masked_lines,
        added_stored_bytes,
        before.bytes,
        before.sha256,
        before.masking_version,
    )
    return changed == 1


async def write_frames(tx: Tx, archive: ArchivedSession, frames: Sequence[StoredFrame]) -> None:
    """Insert frames; the last frame, if it was not full, is overwritten."""
    await tx.many(
        f"insert into archive_frame (project, workspace, session, {_FRAME_COLUMNS}, {ROW_HASH})"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
        " on conflict (project, workspace, session, first_byte) do update set raw_bytes = excluded.raw_bytes,"
        " lines_before = excluded.lines_before, lines_through = excluded.lines_through, sha256 = excluded.sha256,"
        " stored_bytes = excluded.stored_bytes, address = excluded.address, body = excluded.body,"
        f" {ROW_HASH} = excluded.{ROW_HASH}",
        [_frame_values(archive, frame) for frame in frames],
    )


def _frame_values(archive: ArchivedSession, frame: StoredFrame) -> list[Value]:
    stored = (frame.sha256, frame.stored_bytes, frame.address, frame.body)
    values = [*archive.key, *astuple(frame.position), *stored]
    return [*values, HASHED_FRAMES.compute_hash(dict(zip(HASHED_FRAMES.columns, values, strict=True)))]


async def list_frames(tx: Tx, archive: ArchivedSession, first_byte: int, count: int) -> list[StoredFrame]:
    """The frame that contains this byte, and those after it."""
    rows = await tx.all(
        f"select {_FRAME_COLUMNS} from archive_frame where {_WHERE_KEY} and first_byte >= coalesce((select first_byte"
        f" from archive_frame where {_WHERE_KEY} and first_byte <= $4 order by first_byte desc limit 1), 0)"
        " order by first_byte limit $5",
        *archive.key,
        first_byte,
        count,
    )
    return [_frame_from_row(row) for row in rows]


def session_bytes(database: Database, storage: str, archive: ArchivedSession) -> SessionBytes:
    """The stored bytes of a session; each batch of frames is loaded in a transaction of its own."""

    async def load_frames(first_byte: int, count: int) -> list[StoredFrame]:
        return await database.read(partial(list_frames, archive=archive, first_byte=first_byte, count=count))

    return SessionBytes(archive, storage, load_frames)


async def list_frames_of_line(tx: Tx, archive: ArchivedSession, line: int, count: int) -> list[StoredFrame]:
    """The frame in which this line begins or the one before it ends, and those after it."""
    row = await tx.one(
        f"select first_byte from archive_frame where {_WHERE_KEY} and lines_through >= $4"
        " order by lines_through, first_byte limit 1",
        *archive.key,
        line,
    )
    return await list_frames(tx, archive, row["first_byte"], count) if row else []


async def find_last_frame(tx: Tx, archive: ArchivedSession) -> StoredFrame | None:
    row = await tx.one(
        f"select {_FRAME_COLUMNS} from archive_frame where {_WHERE_KEY} order by first_byte desc limit 1",
        *archive.key,
    )
    return _frame_from_row(row) if row else None


def _frame_from_row(row: Row) -> StoredFrame:
    position = FramePosition(row["first_byte"], row["raw_bytes"], row["lines_before"], row["lines_through"])
    return StoredFrame(position, row["sha256"], row["address"], bytes(row["body"]), row["stored_bytes"])


async def insert_announced_bodies(tx: Tx, project: str, addresses: Sequence[str], now: int) -> None:
    """Record bodies before they are written; they are orphans until a transaction claims them."""
    await tx.many(
        "insert into archive_body (project, address, written_at, unwanted) values ($1, $2, $3, 0)",
        [(project, address, now) for address in addresses],
    )


async def insert_unwanted_bodies(tx: Tx, project: str, replaced: Sequence[StoredFrame]) -> None:
    """Leave the bodies of frames that were replaced to the next run of retention."""
    addresses = [frame.address for frame in replaced if frame.address]
    if addresses:
        await insert_announced_bodies(tx, project, addresses, 0)


async def claim_bodies(tx: Tx, project: str, addresses: Sequence[str]) -> bool:
    """Claim bodies for stored frames; False if retention has taken one of them."""
    claimed = await tx.run(
        "delete from archive_body where project = $1 and address = any($2) and unwanted = 0",
        project,
        list(addresses),
    )
    return claimed == len(addresses)


async def mark_orphaned_bodies(tx: Tx, before: int) -> list[tuple[str, str]]:
    """Mark bodies that nobody claimed in time, so that nobody can any more; return them as (project, address)."""
    rows = await tx.all(
        "update archive_body set unwanted = 1 where written_at < $1 returning project, address", before
    )
    return [(row["project"], row["address"]) for row in rows]


async def delete_bodies(tx: Tx, removed: Sequence[tuple[str, str]]) -> None:
    await tx.many("delete from archive_body where project = $1 and address = $2", removed)
