"""Tables of what was parsed out of sessions: how far each was studied, its passages, its prompts, and its errors.

The id of a passage is workspace/session/number, that of a prompt ends in q and its line, that of an error in its
fingerprint.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import msgspec

from commonplace.rooms.archives import store
from commonplace.rooms.archives.hashed_rows import HASHED_ARCHIVES
from commonplace.rooms.sessions import store as sessions
from commonplace.search import index
from commonplace.shortening import shorten_text
from commonplace.store.database import Row, Tx
from commonplace.store.row_hashes import set_hash_if_unchanged
from commonplace.transcripts.archive.frames import ArchivedSession
from commonplace.transcripts.archive.study import STUDY_VERSION, PassagePiece, StudyResult, unpack_passage
from commonplace.transcripts.work_log import LoggedError

_WHERE_KEY = "project = $1 and workspace = $2 and session = $3"
_ERROR_COLUMNS = "id, workspace, fingerprint, line, at, times, text, command, fixed_line, followed"
_FINGERPRINT_CHARACTERS = 16
_TITLE_CHARACTERS = 200
_SEPARATOR = "/"
_AFTER_SEPARATOR = "0"
"""The character after the separator: the ids of one session sort between the two."""


@dataclass(frozen=True, slots=True)
class StoredStudy:
    parser: int
    lines: int
    state: bytes


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


async def load_study_state(tx: Tx, archive: ArchivedSession) -> bytes:
    """The state from which the study of a session continues; empty if another version made it."""
    study = await _find_study(tx, archive)
    return study.state if study and study.parser == STUDY_VERSION else b""


async def _find_study(tx: Tx, archive: ArchivedSession) -> StoredStudy | None:
    row = await tx.one(f"select parser, lines, state from session_study where {_WHERE_KEY}", *archive.key)
    return StoredStudy(row["parser"], row["lines"], bytes(row["state"])) if row else None


async def reset_study(tx: Tx, archive: ArchivedSession, parser: int) -> None:
    """Start the study of a session from its beginning."""
    await tx.run(
        "insert into session_study (project, workspace, session, parser, behind, lines, state)"
        " values ($1, $2, $3, $4, 1, 0, $5) on conflict (project, workspace, session)"
        " do update set parser = excluded.parser, behind = 1, lines = 0, state = excluded.state",
        *archive.key,
        parser,
        b"",
    )


async def mark_study_behind(tx: Tx, archive: ArchivedSession) -> bool:
    """Record that there are lines that were not studied; False if the session has no study yet."""
    return await tx.run(f"update session_study set behind = 1 where {_WHERE_KEY}", *archive.key) > 0


async def skip_study(tx: Tx, archive: ArchivedSession) -> None:
    """Stop studying a damaged session until more of it is uploaded or the version changes."""
    await tx.run(f"update session_study set behind = 0 where {_WHERE_KEY}", *archive.key)


async def advance_study(tx: Tx, archive: ArchivedSession, before: int, after: StoredStudy) -> bool:
    """Save the progress; False if the study was not at line `before`."""
    changed = await tx.run(
        "insert into session_study (project, workspace, session, parser, behind, lines, state)"
        " values ($1, $2, $3, $4, $5, $6, $7) on conflict (project, workspace, session)"
        " do update set behind = excluded.behind, lines = excluded.lines, state = excluded.state"
        " where session_study.lines = $8 and session_study.parser = excluded.parser",
        *archive.key,
        after.parser,
        int(after.lines < archive.lines),
        after.lines,
        after.state,
        before,
    )
    return changed == 1


async def list_studies_since(tx: Tx, projects: Sequence[str], since: int, limit: int) -> Sequence[Row]:
    """The studies of transcripts that grew since then, the latest first, with the agent whose session each is of."""
    return await tx.all(
        "select archive.project, archive.tool, session_study.agent_session, session_study.state, session.agent from archive"
        " join session_study on session_study.project = archive.project"
        "  and session_study.workspace = archive.workspace and session_study.session = archive.session"
        " left join session on session.project = archive.project and session.id = session_study.agent_session"
        " where archive.project = any($1) and archive.ended_at >= $2"
        " order by archive.ended_at desc, archive.session limit $3",
        list(projects),
        since,
        limit,
    )


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
    before = await store.find_archive(tx, *archive.key)
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
    first = build_entry_id(archive, "")
    span = first, first[: -len(_SEPARATOR)] + _AFTER_SEPARATOR
    for table in ("session_passage", "session_error"):
        deleted = await tx.all(
            f"delete from {table} where project = $1 and id >= $2 and id < $3 returning id",
            archive.project,
            *span,
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
    first = build_entry_id(archive, "")
    return await tx.all(
        f"select {_ERROR_COLUMNS} from session_error where project = $1 and id >= $2 and id < $3 order by line limit $4",
        archive.project,
        first,
        first[: -len(_SEPARATOR)] + _AFTER_SEPARATOR,
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


async def save_study(tx: Tx, archive: ArchivedSession, result: StudyResult | None) -> None:
    """Save what was studied together with the lines themselves; lines that were not studied are marked for later."""
    if result is None:
        return
    after = StoredStudy(STUDY_VERSION, result.lines, result.state)
    if result.state and await advance_study(tx, archive, result.first_line, after):
        await _save_result(tx, archive, result)
        await _save_agent_session(tx, archive, result.session_id)
    elif not await mark_study_behind(tx, archive):
        await reset_study(tx, archive, STUDY_VERSION)


async def _save_result(tx: Tx, archive: ArchivedSession, result: StudyResult) -> None:
    title = _title_of_session(archive, result)
    if result.summary and result.summary.format:
        await update_session_description(
            tx, archive, title, result.summary.started_at, result.summary.ended_at
        )
    await write_passages(tx, archive, [(str(passage.number), body) for passage, body, _ in result.passages])
    await write_passages(tx, archive, [(_name_prompt(prompt), body) for prompt, body, _ in result.prompts])
    await write_errors(tx, archive, [error for error, _ in result.errors])
    if result.dropped_fingerprints:
        await delete_errors(tx, archive, result.dropped_fingerprints)
    await index.put_entries(tx, _build_index_entries(archive, result, title))


async def _save_agent_session(tx: Tx, archive: ArchivedSession, session_id: str) -> None:
    """Record whose transcript this is, if it shows a session of the archive's own project."""
    session = await sessions.find_session_digest(tx, archive.project, session_id) if session_id else ""
    if session:
        await tx.run(f"update session_study set agent_session = $4 where {_WHERE_KEY}", *archive.key, session)


async def load_agent_session(tx: Tx, archive: ArchivedSession) -> str:
    """The digest of the session that a transcript is of; empty if unknown."""
    row = await tx.one(f"select agent_session from session_study where {_WHERE_KEY}", *archive.key)
    return row["agent_session"] if row else ""


def _title_of_session(archive: ArchivedSession, result: StudyResult) -> str:
    title = result.summary.title if result.summary else ""
    return shorten_text(title or archive.title, _TITLE_CHARACTERS)


def _build_index_entries(archive: ArchivedSession, result: StudyResult, title: str) -> list[index.IndexEntry]:
    passages = [
        _build_index_entry(archive, build_entry_id(archive, passage.number), title, passage.at, counted)
        for passage, _, counted in result.passages
    ]
    prompts = [
        replace(
            _build_index_entry(
                archive, build_entry_id(archive, _name_prompt(prompt)), "", prompt.at, counted
            ),
            kind=index.PROMPT_KIND,
        )
        for prompt, _, counted in result.prompts
    ]
    return [*passages, *prompts] + [
        _build_index_entry(
            archive,
            build_entry_id(archive, error.fingerprint),
            error.text[:_TITLE_CHARACTERS],
            error.at,
            counted,
        )
        for error, counted in result.errors
    ]


def _name_prompt(prompt: PassagePiece) -> str:
    return f"q{prompt.line}"


def _build_index_entry(
    archive: ArchivedSession, entry_id: str, title: str, at: int | None, counted: Counter[str]
) -> index.IndexEntry:
    """The type of an entry is its workspace, so that a search in one workspace reads no other entries."""
    changed_at = archive.ended_at if at is None else at
    return index.IndexEntry(
        archive.project,
        index.TRANSCRIPT_KIND,
        entry_id,
        archive.workspace,
        title,
        "",
        changed_at,
        counted=counted,
    )
