"""Tables of archived sessions: the archives and their frames, bodies outside of the database, and what was parsed out of them.

The id of a passage is workspace/session/number, that of a prompt ends in q and its line, that of an error in its
fingerprint.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, fields, replace

import msgspec

from commonplace import errors
from commonplace.call import Call
from commonplace.journal.model import LoggedError
from commonplace.rooms.archives import model
from commonplace.rooms.workspaces import store as workspaces
from commonplace.search import index
from commonplace.store.database import Database, Row, Tx, Value
from commonplace.store.ids import MIN_PREFIX_CHARACTERS, pick_id_by_prefix
from commonplace.store.row_hashes import ROW_HASH, HashedTable, set_hash_if_unchanged
from commonplace.transcripts.archive.frames import ArchivedSession, FramePosition, SessionBytes, StoredFrame
from commonplace.transcripts.archive.study import STUDY_VERSION, PassagePiece, StudyResult, unpack_passage

_HASHED_OF_ARCHIVE = (
    "project, workspace, session, tool, title, bytes, lines, line_start, compressed_bytes, sha256, started_at, ended_at,"
    " created_at, updated_at, masking_version, masked_lines"
)
_HASHED_OF_FRAME = "project, workspace, session, first_byte, raw_bytes, lines_before, lines_through, sha256, stored_bytes, address, body"

HASHED_ARCHIVES = HashedTable("archive", ("workspace", "session"), tuple(_HASHED_OF_ARCHIVE.split(", ")))
HASHED_FRAMES = HashedTable(
    "archive_frame",
    ("workspace", "session", "first_byte"),
    tuple(_HASHED_OF_FRAME.split(", ")),
    number_keys=("first_byte",),
    batch_rows=8,
)


_COLUMNS = ", ".join(field.name for field in fields(ArchivedSession))
_FRAME_COLUMNS = "first_byte, raw_bytes, lines_before, lines_through, sha256, stored_bytes, address, body"
LATEST_TIME = 2**62
_ERROR_COLUMNS = "id, workspace, fingerprint, line, at, times, text, command, fixed_line, followed"
_FINGERPRINT_CHARACTERS = 16
_SEPARATOR = "/"
_MAX_CANDIDATES = 5
_DEFAULT_LIMIT = 20
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


async def load_session(
    call: Call, workspace_id: str, session_id: str, *, exactly: bool = False
) -> ArchivedSession:
    """A session by its id or a unique prefix of it, if the caller may read its project, to which the call is assigned.

    `exactly`: a program that continues an upload must not get another session.
    """
    workspace = await workspaces.load_workspace(call.tx, workspace_id, call.caller)
    key = workspace.project, workspace.id
    call.project = workspace.project
    archive = await find_archive(call.tx, *key, session_id)
    if archive is None and not exactly and (full_id := await find_session_id(call.tx, *key, session_id)):
        archive = await find_archive(call.tx, *key, full_id)
    if archive is None:
        raise errors.NotFound(
            f"There is no session '{session_id}' in '{workspace.id}'.",
            hint="Call list_sessions with this workspace_id to see its sessions.",
        )
    return archive


async def list_archives_of_workspace(
    call: Call, workspace_id: str, since: int | None, until: int | None, limit: int | None, offset: int
) -> model.ArchivedSessions:
    """The sessions of a workspace that were active in that time, latest first; the call is assigned to its project."""
    workspace = await workspaces.load_workspace(call.tx, workspace_id, call.caller)
    call.project = workspace.project
    during = "project = $1 and workspace = $2 and ended_at >= $3 and started_at <= $4"
    values = (workspace.project, workspace.id, since or 0, LATEST_TIME if until is None else until)
    count = await call.tx.one(f"select count(*) as n from archive where {during}", *values)
    rows = await call.tx.all(
        f"select {_COLUMNS} from archive where {during} order by ended_at desc, session limit $5 offset $6",
        *values,
        limit or _DEFAULT_LIMIT,
        offset,
    )
    sessions = [model.ListedSession.from_archive(ArchivedSession(**row)) for row in rows]
    return model.ArchivedSessions(total=int(count["n"]) if count else 0, sessions=sessions)


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
    return SessionBytes(
        archive,
        storage,
        lambda first, count: database.read(lambda tx: list_frames(tx, archive, first, count)),
    )


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


def build_entry_id(archive: ArchivedSession, rest: object) -> str:
    return _SEPARATOR.join((archive.workspace, archive.session, str(rest)))


def session_from_entry_id(entry_id: str) -> tuple[str, str]:
    """The workspace and session of an entry."""
    workspace, session, _ = entry_id.split(_SEPARATOR)
    return workspace, session


def fingerprint_from_entry_id(entry_id: str) -> str:
    """The fingerprint of an error, or empty for a passage, whose number is always shorter."""
    rest = entry_id.rpartition(_SEPARATOR)[2]
    return rest if len(rest) == _FINGERPRINT_CHARACTERS else ""


def _span_of_ids(archive: ArchivedSession) -> tuple[str, str]:
    """The ids of one session sort between the separator and the character after it."""
    name = f"{archive.workspace}{_SEPARATOR}{archive.session}"
    return name + _SEPARATOR, name + chr(ord(_SEPARATOR) + 1)


async def load_study_state(tx: Tx, archive: ArchivedSession) -> bytes:
    """The state from which the study of a session continues; empty if another version made it."""
    row = await tx.one(
        f"select state from session_study where {_WHERE_KEY} and parser = $4", *archive.key, STUDY_VERSION
    )
    return bytes(row["state"]) if row else b""


async def reset_study(tx: Tx, archive: ArchivedSession, parser: int | None = None) -> None:
    """Start the study of a session from its beginning."""
    await tx.run(
        "insert into session_study (project, workspace, session, parser, behind, lines, state)"
        " values ($1, $2, $3, $4, 1, 0, $5) on conflict (project, workspace, session)"
        " do update set parser = excluded.parser, behind = 1, lines = 0, state = excluded.state",
        *archive.key,
        STUDY_VERSION if parser is None else parser,
        b"",
    )


async def update_study_behind(tx: Tx, archive: ArchivedSession, *, is_behind: bool) -> bool:
    """Record whether there are lines that have to be studied; False if the session has no study yet."""
    changed = await tx.run(
        f"update session_study set behind = $4 where {_WHERE_KEY}", *archive.key, int(is_behind)
    )
    return changed > 0


async def advance_study(tx: Tx, archive: ArchivedSession, result: StudyResult) -> bool:
    """Save the progress; False if the study was not where these lines begin."""
    changed = await tx.run(
        "insert into session_study (project, workspace, session, parser, behind, lines, state)"
        " values ($1, $2, $3, $4, $5, $6, $7) on conflict (project, workspace, session)"
        " do update set behind = excluded.behind, lines = excluded.lines, state = excluded.state"
        " where session_study.lines = $8 and session_study.parser = excluded.parser",
        *archive.key,
        STUDY_VERSION,
        int(result.lines < archive.lines),
        result.lines,
        result.state,
        result.first_line,
    )
    return changed == 1


async def update_agent_session(tx: Tx, archive: ArchivedSession, session: str) -> None:
    """Record whose transcript this is."""
    await tx.run(f"update session_study set agent_session = $4 where {_WHERE_KEY}", *archive.key, session)


async def find_session_to_study(tx: Tx, parser: int) -> tuple[str, str, str] | None:
    """One session that an older version studied, or that was not studied to its end."""
    columns = "select project, workspace, session from session_study"
    row = await tx.one(f"{columns} where parser < $1 limit 1", parser) or await tx.one(
        f"{columns} where behind = 1 limit 1"
    )
    return (row["project"], row["workspace"], row["session"]) if row else None


async def update_session_description(
    tx: Tx, archive: ArchivedSession, title: str, started_at: int | None, ended_at: int | None
) -> None:
    """Replace what the upload claimed by what the transcript itself says."""
    before = await find_archive(tx, *archive.key)
    if before is None:
        return
    after = replace(
        before,
        title=title,
        started_at=before.started_at if started_at is None else started_at,
        ended_at=before.ended_at if ended_at is None else ended_at,
    )
    await tx.run(
        "update archive set title = $4, started_at = coalesce(CAST($5 as bigint), started_at),"
        f" ended_at = coalesce(CAST($6 as bigint), ended_at), {set_hash_if_unchanged(7, 8)} where {_WHERE_KEY}",
        *archive.key,
        title,
        started_at,
        ended_at,
        before.row_hash,
        HASHED_ARCHIVES.hash_after(asdict(before), asdict(after)),
    )


async def write_passages(tx: Tx, archive: ArchivedSession, bodies: Sequence[tuple[str, bytes]]) -> None:
    await tx.many(
        "insert into session_passage (project, id, body) values ($1, $2, $3)"
        " on conflict (project, id) do update set body = excluded.body",
        [(archive.project, build_entry_id(archive, name), body) for name, body in bodies],
    )


async def write_errors(tx: Tx, archive: ArchivedSession, errors: Sequence[LoggedError]) -> None:
    await tx.many(
        f"insert into session_error (project, {_ERROR_COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
        " on conflict (project, id) do update set times = excluded.times, fixed_line = excluded.fixed_line,"
        " followed = excluded.followed",
        [
            (
                archive.project,
                build_entry_id(archive, error.fingerprint),
                archive.workspace,
                error.fingerprint,
                error.line,
                archive.ended_at if error.at is None else error.at,
                error.times,
                error.text,
                error.command,
                error.fixed_line,
                msgspec.json.encode(error.followed_by).decode(),
            )
            for error in errors
        ],
    )


async def delete_errors(tx: Tx, archive: ArchivedSession, fingerprints: Sequence[str]) -> None:
    ids = [build_entry_id(archive, fingerprint) for fingerprint in fingerprints]
    await tx.run("delete from session_error where project = $1 and id = any($2)", archive.project, ids)
    await index.remove_entries(tx, archive.project, index.TRANSCRIPT_KIND, ids)


async def delete_study_results(tx: Tx, archive: ArchivedSession) -> None:
    """Delete everything that was parsed out of the session; the session itself stays."""
    for table in ("session_passage", "session_error"):
        deleted = await tx.all(
            f"delete from {table} where project = $1 and id >= $2 and id < $3 returning id",
            archive.project,
            *_span_of_ids(archive),
        )
        for kind in (index.TRANSCRIPT_KIND, index.PROMPT_KIND):
            await index.remove_entries(tx, archive.project, kind, [row["id"] for row in deleted])


async def load_passages(tx: Tx, project: str, ids: Sequence[str]) -> Mapping[str, list[PassagePiece]]:
    rows = await tx.all(
        "select id, body from session_passage where project = $1 and id = any($2)", project, list(ids)
    )
    return {row["id"]: unpack_passage(bytes(row["body"])) for row in rows}


async def load_errors(tx: Tx, project: str, ids: Sequence[str]) -> Mapping[str, Row]:
    rows = await tx.all(
        f"select {_ERROR_COLUMNS} from session_error where project = $1 and id = any($2)", project, list(ids)
    )
    return {row["id"]: row for row in rows}


async def list_errors_of_session(tx: Tx, archive: ArchivedSession, limit: int) -> Sequence[Row]:
    """The errors of one session, by line."""
    return await tx.all(
        f"select {_ERROR_COLUMNS} from session_error where project = $1 and id >= $2 and id < $3 order by line limit $4",
        archive.project,
        *_span_of_ids(archive),
        limit,
    )


async def list_errors_by_fingerprint(
    tx: Tx,
    project: str,
    fingerprints: Sequence[str],
    workspace: str | None,
    since: int,
    until: int,
    limit_each: int,
) -> Sequence[Row]:
    """Occurrences of these errors, at most `limit_each` of each: fixed ones first, then the latest."""
    order = "order by case when fixed_line > 0 then 0 else 1 end, at desc"
    return await tx.all(
        f"select {_ERROR_COLUMNS} from (select {_ERROR_COLUMNS}, row_number() over (partition by fingerprint {order}) as place"
        " from session_error where project = $1 and fingerprint = any($2)"
        " and (CAST($3 as text) is null or workspace = $3) and at >= $4 and at <= $5) as each_error"
        f" where place <= $6 {order}",
        project,
        list(fingerprints),
        workspace,
        since,
        until,
        limit_each,
    )


async def load_agent_session(tx: Tx, archive: ArchivedSession) -> str:
    """The digest of the session that a transcript is of; empty if unknown."""
    row = await tx.one(f"select agent_session from session_study where {_WHERE_KEY}", *archive.key)
    return row["agent_session"] if row else ""
