"""SQL of the `checkout` table, and of who changed which file of a working tree last."""

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.identity.liveness import is_live
from commonplace.identity.session import AgentSession
from commonplace.store.database import Row, Tx

_MAX_SESSIONS = 50
_MAX_SESSIONS_OF_PROJECT = 20
_MAX_TOUCHED_FILES = 500
_LIVE = "session.ended_at is null and api_key.revoked_at is null"
_SELECT_CHECKOUTS = (
    "select checkout.session, checkout.root, checkout.branch, checkout.head, checkout.dirty, checkout.shelved,"
    " checkout.at, checkout.moving_at, session.agent, session.task, session.active_at from checkout"
    " join session on session.project = $1 and session.id = checkout.session"
    " left join api_key on api_key.id = session.key_id"
    f" where checkout.project = $1 and {_LIVE} and session.active_at > $2"
)


@dataclass(frozen=True, slots=True)
class CheckoutPlace:
    """A working tree on a machine, and the repository that it belongs to."""

    machine: str
    root: str
    repository: str


@dataclass(frozen=True, slots=True)
class CheckoutState:
    """What a hook saw: names that it did not look up are None and stay as they were."""

    branch: str
    head: str
    dirty: str | None = None
    shelved: str | None = None
    is_moving: bool = False


async def load_checkout(tx: Tx, session: AgentSession) -> Row | None:
    return await tx.one(
        "select machine, root, repository, branch, head, dirty, shelved, at, moving_at from checkout"
        " where project = $1 and session = $2",
        session.project,
        session.id,
    )


async def upsert_checkout(
    tx: Tx, session: AgentSession, place: CheckoutPlace, state: CheckoutState, now: int
) -> None:
    """Write the row of the session; what the hook did not look up stays as it was."""
    await tx.run(
        "insert into checkout (project, session, machine, root, repository, branch, head, dirty, shelved, at, moving_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, coalesce(cast($8 as text), '[]'), coalesce(cast($9 as text), '[]'),"
        " case when cast($8 as text) is null then 0 else cast($10 as bigint) end, $11)"
        " on conflict (project, session) do update set machine = excluded.machine, root = excluded.root,"
        " repository = excluded.repository, branch = excluded.branch, head = excluded.head,"
        " dirty = case when cast($8 as text) is null then checkout.dirty else excluded.dirty end,"
        " shelved = case when cast($9 as text) is null then checkout.shelved else excluded.shelved end,"
        " at = case when cast($8 as text) is null then checkout.at else excluded.at end,"
        " moving_at = case when excluded.moving_at = 0 then checkout.moving_at else excluded.moving_at end",
        session.project,
        session.id,
        place.machine,
        place.root,
        place.repository,
        state.branch,
        state.head,
        state.dirty,
        state.shelved,
        now,
        now if state.is_moving else 0,
    )


async def list_sessions_in_repository(
    tx: Tx, session: AgentSession, place: CheckoutPlace, since: int
) -> Sequence[Row]:
    """List the other live sessions in the working trees of a repository, the last active first."""
    return await tx.all(
        f"{_SELECT_CHECKOUTS} and checkout.machine = $3 and checkout.repository = $4 and checkout.session <> $5"
        " order by session.active_at desc, checkout.session limit $6",
        session.project,
        since,
        place.machine,
        place.repository,
        session.id,
        _MAX_SESSIONS,
    )


async def list_sessions_without_hooks(tx: Tx, session: AgentSession, root: str, since: int) -> Sequence[Row]:
    """List live sessions of agents without hooks that named this folder and changed or leased something."""
    return await tx.all(
        "select session.id as session, session.working_directory as root, session.branch, session.agent, session.task,"
        " session.active_at, 0 as moving_at from session left join api_key on api_key.id = session.key_id"
        f" where session.project = $1 and {_LIVE} and session.active_at > $2 and session.id <> $3"
        " and session.working_directory = $4"
        " and not exists (select 1 from checkout where checkout.project = $1 and checkout.session = session.id)"
        " and (exists (select 1 from touched where touched.project = $1 and touched.session = session.id)"
        " or exists (select 1 from lease where lease.project = $1 and lease.session = session.id))"
        " order by session.active_at desc, session.id limit $5",
        session.project,
        since,
        session.id,
        root,
        _MAX_SESSIONS,
    )


async def list_sessions_of_project(tx: Tx, session: AgentSession, since: int) -> Sequence[Row]:
    """List the other live sessions of the project: those in the same folder first, then the last active."""
    root = "coalesce(checkout.root, session.working_directory)"
    return await tx.all(
        f"select session.id as session, {root} as root, coalesce(checkout.branch, session.branch) as branch,"
        " session.agent, session.task, session.active_at"
        " from session left join api_key on api_key.id = session.key_id"
        " left join checkout on checkout.project = $1 and checkout.session = session.id"
        f" where session.project = $1 and {_LIVE} and session.id <> $3 and {is_live('$2')}"
        f" order by case when {root} = $4 then 0 else 1 end, session.active_at desc, session.id limit $5",
        *(session.project, since, session.id, session.working_directory, _MAX_SESSIONS_OF_PROJECT),
    )


async def list_touched_files(tx: Tx, project: str, sessions: Sequence[str], since: int) -> Sequence[Row]:
    """List what these sessions reported as changed, the newest first."""
    return await tx.all(
        "select session, path from touched where project = $1 and session = any($2) and at > $3"
        " order by at desc, path limit $4",
        *(project, list(sessions), since, _MAX_TOUCHED_FILES),
    )


async def list_all_checkouts(tx: Tx, project: str, since: int) -> Sequence[Row]:
    return await tx.all(
        f"{_SELECT_CHECKOUTS} order by session.active_at desc, checkout.session limit $3",
        project,
        since,
        _MAX_SESSIONS,
    )


async def list_editors(
    tx: Tx, project: str, place: CheckoutPlace, files: Sequence[str], since: int
) -> dict[str, Row]:
    """The last reported edit of each file in this working tree; the same path in another one is another file."""
    rows = await tx.all(
        "select touched.path, touched.session, touched.agent, touched.at,"
        f" case when {_LIVE} and session.active_at > $5 then 1 else 0 end as live"
        " from touched join session on session.project = $1 and session.id = touched.session"
        " left join api_key on api_key.id = session.key_id"
        " left join checkout on checkout.project = $1 and checkout.session = touched.session"
        " where touched.project = $1 and touched.path = any($2)"
        " and case when touched.root = '' then session.working_directory else touched.root end = $3"
        " and coalesce(checkout.machine, $4) = $4 order by touched.at, touched.session",
        project,
        list(files),
        place.root,
        place.machine,
        since,
    )
    return {row["path"]: row for row in rows}
