"""SQL of journals, and of what they teach others. A journal of a session may exist twice, from hooks and from its
transcript: the one that knows more is read."""

import hashlib
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec import structs

from commonplace import errors, zstd
from commonplace.clock import DAY
from commonplace.identity.session import AgentSession
from commonplace.journal.model import Journal
from commonplace.journal.resume import is_finished, list_working_commands
from commonplace.search import index
from commonplace.search.source import SearchItem
from commonplace.shortening import shorten_line
from commonplace.store.database import Row, Tx

HOW_KIND, FIX_KIND = "how", "fix"
RESUMABLE_MICROSECONDS = 14 * DAY
_TASK_CHARACTERS = 200
_MAX_CANDIDATES = 40
_HEAD_COLUMNS = "id, source, tool, agent, session, directory, branch, task, state, earlier, started_at, updated_at, version"
_ACTIVITY_WORDS = (
    ("test", "run tests"),
    ("lint", "check style lint"),
    ("fmt", "format code"),
    ("format", "format code"),
    ("build", "build compile"),
    ("install", "install dependencies set up"),
    ("dev", "start development server"),
    ("serve", "start server"),
    ("migrate", "database migrations"),
    ("tsc", "check types"),
    ("mypy", "check types"),
    ("typecheck", "check types"),
)
"""What people call what these words of an invocation do."""

JournalSource = Literal["hooks", "transcript"]


class JournalHead(msgspec.Struct, frozen=True):
    """Where a journal is from. `state` is open, ended or finished; `earlier` is the journal that its session was shown."""

    project: str
    id: str
    source: JournalSource
    tool: str = ""
    agent: str = ""
    session: str = ""
    directory: str = ""
    branch: str = ""
    task: str = ""
    state: str = "open"
    earlier: str = ""
    started_at: int = 0
    updated_at: int = 0
    version: int = 0


async def load_journal(
    tx: Tx, project: str, identity: str, source: JournalSource
) -> tuple[JournalHead, Journal] | None:
    row = await tx.one(
        f"select {_HEAD_COLUMNS}, body from journal where project = $1 and id = $2 and source = $3",
        project,
        identity,
        source,
    )
    return (_head_from_row(project, row), _decode_body(row)) if row else None


async def find_journal(tx: Tx, project: str, identity: str) -> tuple[JournalHead, Journal] | None:
    """The journal of a session from the source that knows the latest; of two equal ones the transcript's."""
    rows = await tx.all(
        f"select {_HEAD_COLUMNS}, body from journal where project = $1 and id = $2", project, identity
    )
    row = max(rows, key=lambda row: (row["updated_at"], row["source"]), default=None)
    return (_head_from_row(project, row), _decode_body(row)) if row else None


async def list_latest_heads(tx: Tx, project: str, since: int, agent: str = "") -> list[JournalHead]:
    """Of each session that was asked something since then the head that knows the latest, newest first."""
    rows = await tx.all(
        f"select {_HEAD_COLUMNS} from journal where project = $1 and updated_at >= $2 and task <> ''"
        " and (CAST($3 as text) = '' or agent = $3) order by updated_at desc, source desc limit $4",
        project,
        since,
        agent,
        _MAX_CANDIDATES,
    )
    heads: dict[str, JournalHead] = {}
    for row in rows:
        heads.setdefault(row["id"], _head_from_row(project, row))
    return list(heads.values())


async def list_heads_of_session(tx: Tx, project: str, session: str) -> list[JournalHead]:
    """The journals of one of our sessions, newest first."""
    rows = await tx.all(
        f"select {_HEAD_COLUMNS} from journal where project = $1 and session = $2 order by updated_at desc, source desc",
        project,
        session,
    )
    return [_head_from_row(project, row) for row in rows]


async def load_key_of_session(tx: Tx, project: str, session: str) -> str:
    """The key that a session was started with; empty if there is none."""
    row = await tx.one("select key_id from session where project = $1 and id = $2", project, session)
    return row["key_id"] if row else ""


async def list_sessions_of_item(tx: Tx, project: str, item: str) -> set[str]:
    """Our sessions that worked on this backlog item."""
    rows = await tx.all("select session from work where project = $1 and item = $2", project, item)
    return {row["session"] for row in rows}


async def save_transcript_journal(
    tx: Tx, project: str, identity: str, tool: str, session: str, journal: Journal
) -> None:
    """Write what a transcript tells. Whose session it is, its hooks know, else the transcript itself if it shows that."""
    rows = await tx.all(
        f"select {_HEAD_COLUMNS} from journal where project = $1 and id = $2 order by source desc",
        project,
        identity,
    )
    heads = [_head_from_row(project, row) for row in rows]
    head = next(
        (head for head in heads if head.source == "transcript"), JournalHead(project, identity, "transcript")
    )
    hooks = next((head for head in heads if head.source == "hooks"), head)
    session = hooks.session or session or head.session
    agent = hooks.agent or head.agent
    if session and not agent:
        row = await tx.one("select agent from session where project = $1 and id = $2", project, session)
        agent = row["agent"] if row else ""
    head = structs.replace(
        head,
        tool=tool,
        session=session,
        agent=agent,
        directory=hooks.directory,
        branch=hooks.branch,
        earlier=hooks.earlier,
    )
    await save_journal(tx, head, journal)


async def save_journal(tx: Tx, head: JournalHead, journal: Journal) -> None:
    """Write the journal and what it teaches; refused if somebody else wrote it since `head` was loaded."""
    body = zstd.compress(msgspec.msgpack.encode(journal), level=3)
    values = (
        head.tool,
        head.agent,
        head.session,
        head.directory or journal.cwd,
        head.branch or journal.branch,
        shorten_line(journal.task, _TASK_CHARACTERS),
        describe_state(journal),
        head.earlier,
        journal.started_at or head.started_at,
        journal.ended_at or head.updated_at,
        body,
    )
    saved = await tx.run(
        "insert into journal (project, id, source, tool, agent, session, directory, branch, task, state, earlier,"
        " started_at, updated_at, body, version) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 1)"
        " on conflict (project, id, source) do update set tool = excluded.tool, agent = excluded.agent,"
        " session = excluded.session, directory = excluded.directory, branch = excluded.branch, task = excluded.task,"
        " state = excluded.state, earlier = excluded.earlier, started_at = excluded.started_at,"
        " updated_at = excluded.updated_at, body = excluded.body, version = journal.version + 1"
        " where journal.version = $15",
        head.project,
        head.id,
        head.source,
        *values,
        head.version,
    )
    if not saved:
        raise errors.Conflict(
            "The journal was written by another call meanwhile.", hint="Send the events again."
        )
    await _save_facts(tx, head, journal)


class JournalFact(NamedTuple):
    kind: str
    id: str
    title: str
    folder: str
    runs: int
    failures: int
    at: int
    body: str = ""

    @property
    def entry(self) -> str:
        return f"{self.kind}_{self.id}"


def _list_facts(journal: Journal, at: int) -> list[JournalFact]:
    """What worked, and what overcame an error."""
    works = [
        JournalFact(
            HOW_KIND,
            hash_text(f"{command.folder}\n{command.command}"),
            command.command,
            command.folder,
            command.runs,
            command.failures,
            command.at or at,
        )
        for command in list_working_commands(journal)
    ]
    fixes = [
        JournalFact(
            FIX_KIND,
            error.fingerprint,
            error.text,
            "",
            error.times,
            0,
            error.at or at,
            msgspec.json.encode([error.command, error.fixed_by, *error.followed_by]).decode(),
        )
        for error in journal.errors.values()
        if error.of_command and error.fixed_line
    ]
    return works + fixes


async def _save_facts(tx: Tx, head: JournalHead, journal: Journal) -> None:
    rows = await tx.all(
        "select kind, id, runs, failures, body from journal_fact where project = $1 and journal = $2",
        head.project,
        head.id,
    )
    stored = {(row["kind"], row["id"]): (row["runs"], row["failures"], row["body"]) for row in rows}
    facts = _list_facts(journal, journal.ended_at or head.updated_at)
    changed = [
        fact for fact in facts if stored.get((fact.kind, fact.id)) != (fact.runs, fact.failures, fact.body)
    ]
    await tx.many(
        "insert into journal_fact (project, journal, agent, kind, id, title, folder, runs, failures, at, body)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict (project, kind, id, journal) do update"
        " set runs = excluded.runs, failures = excluded.failures, at = excluded.at, body = excluded.body",
        [(head.project, head.id, head.agent, *fact) for fact in changed],
    )
    entries = [
        index.IndexEntry(
            head.project,
            fact.kind,
            fact.entry,
            fact.kind,
            fact.title,
            _name_activities(fact.title) if fact.kind == HOW_KIND else fact.body,
            fact.at,
        )
        for fact in changed
    ]
    await index.put_entries(tx, entries)


async def load_facts(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    """What these entries of the search index say, added up over all sessions."""
    by_kind: dict[str, list[str]] = {}
    for entry in ids:
        kind, _, identity = entry.partition("_")
        by_kind.setdefault(kind, []).append(identity)
    rows = [
        row
        for kind, identities in by_kind.items()
        for row in await tx.all(
            "select kind, id, title, folder, agent, runs, failures, at, body from journal_fact"
            " where project = $1 and kind = $2 and id = any($3) order by at desc",
            project,
            kind,
            identities,
        )
    ]
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(f"{row['kind']}_{row['id']}", []).append(row)
    return [_build_item(entry, found) for entry, found in grouped.items()]


def _build_item(entry: str, rows: Sequence[Row]) -> SearchItem:
    latest = rows[0]
    runs, failures = sum(row["runs"] for row in rows), sum(row["failures"] for row in rows)
    if latest["kind"] == HOW_KIND:
        place = f" in {latest['folder']}" if latest["folder"] else ""
        text = f"{latest['title']}\nworked {runs - failures} of {runs} times{place}"
    else:
        command, fixed_by, *steps = msgspec.json.decode(latest["body"], type=list[str])
        done = "; ".join(steps)
        text = f"{latest['title']}\nran: {command}\nthen: {done}" + (
            f"\nwent through: {fixed_by}" if fixed_by else ""
        )
    return SearchItem(
        id=entry,
        title=latest["title"],
        text=text,
        changed_at=latest["at"],
        created_at=rows[-1]["at"],
        updated_at=latest["at"],
        type=latest["kind"],
        author=latest["agent"],
    )


async def delete_journals(tx: Tx, project: str, ids: Sequence[str]) -> None:
    """Delete journals, and what nobody else taught."""
    rows = await tx.all(
        "delete from journal_fact where project = $1 and journal = any($2) returning kind, id",
        project,
        list(ids),
    )
    for kind in (HOW_KIND, FIX_KIND):
        taught = [row["id"] for row in rows if row["kind"] == kind]
        kept = {
            row["id"]
            for row in await tx.all(
                "select distinct id from journal_fact where project = $1 and kind = $2 and id = any($3)",
                project,
                kind,
                taught,
            )
        }
        await index.remove_entries(
            tx, project, kind, [f"{kind}_{identity}" for identity in taught if identity not in kept]
        )
    await tx.run("delete from journal where project = $1 and id = any($2)", project, list(ids))


def describe_state(journal: Journal) -> str:
    return "finished" if is_finished(journal) else "ended" if journal.end_reason else "open"


async def show_task(tx: Tx, session: AgentSession, task: str) -> None:
    """What a session was asked is what its agent works on, unless the agent has said so itself."""
    await tx.run(
        "update session set task = $3 where project = $1 and id = $2 and task = ''",
        session.project,
        session.id,
        task,
    )
    await tx.run(
        "update agent set current_task = $3, last_task = $3 where project = $1 and name = $2 and current_task = ''",
        session.project,
        session.agent,
        task,
    )


def hash_text(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _name_activities(command: str) -> str:
    return " ".join(words for part, words in _ACTIVITY_WORDS if part in command)


def _head_from_row(project: str, row: Row) -> JournalHead:
    return JournalHead(project, **{name: row[name] for name in _HEAD_COLUMNS.split(", ")})


def _decode_body(row: Row) -> Journal:
    """PostgreSQL writes bytes as hexadecimal text where several reads travel together (`store/shared_reads.py`)."""
    body = row["body"]
    compressed = bytes.fromhex(body.removeprefix("\\x")) if isinstance(body, str) else bytes(body)
    return msgspec.msgpack.decode(zstd.decompress(compressed), type=Journal)
