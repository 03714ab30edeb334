"""The leases of a project in the store.

Whoever grants holds the project's `lease` counter until commit, so grants come one after another on every replica.
Renewals and releases do not wait for it: they change only rows that are still there.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from commonplace import activity, errors
from commonplace.clock import DAY
from commonplace.config import Settings
from commonplace.rooms.locks import paths, prefixes
from commonplace.rooms.locks.lease import DELAY, Lease, Wish
from commonplace.store.database import Row, Tx

_FORGET_AFTER = DAY
_FIRST_EPOCH = 1
_READ = (
    "select lease.path, lease.prefix, lease.session, lease.agent, lease.mode, lease.token, lease.reason, lease.ttl,"
    " lease.granted_at, lease.expires_at, session.active_at, coalesce(api_key.revoked_at, session.ended_at) as ended_at"
    " from lease left join session on session.project = $1 and session.id = lease.session"
    " left join api_key on api_key.id = session.key_id"
    " where lease.project = $1"
)
_IN_THE_WAY = "lease.session <> $2 and lease.expires_at > $3 and session.ended_at is null and api_key.revoked_at is null"


@dataclass(frozen=True, slots=True)
class Ground:
    """What holds for every lease of the project, and how many this session has."""

    epoch: int
    fold: bool
    held: int


async def ground(tx: Tx, project: str, session: str) -> Ground:
    row = await tx.one(
        "select (select value from setting where name = 'epoch') as epoch,"
        " (select ignore_case from project where name = $1) as ignore_case,"
        " (select count(*) from lease where project = $1 and session = $2) as held",
        project,
        session,
    )
    if row is None:
        return Ground(_FIRST_EPOCH, False, 0)
    return Ground(int(row["epoch"] or _FIRST_EPOCH), bool(row["ignore_case"]), row["held"])


async def ignores_case(tx: Tx, project: str) -> bool:
    row = await tx.one("select ignore_case from project where name = $1", project)
    return bool(row and row["ignore_case"])


async def around(tx: Tx, project: str, wishes: Sequence[Wish], fold: bool) -> Iterator[Lease]:
    """Every lease that can overlap one of these; the exact comparison is the caller's."""
    texts = [wish.prefix for wish in wishes]
    below = [wish.prefix for wish in wishes if wish.has_below]
    found: dict[int, Row] = {}
    for where, values in prefixes.conditions("lease.prefix", 2, texts, below):
        found |= {row["token"]: row for row in await tx.all(f"{_READ} and {where}", project, *values)}
    return (Lease.of(row, fold) for row in found.values())


async def of_session(tx: Tx, project: str, session: str, fold: bool) -> list[Lease]:
    """The leases of a session that is known to be alive."""
    rows = await tx.all(
        "select path, prefix, session, agent, mode, token, reason, ttl, granted_at, expires_at,"
        " granted_at as active_at, null as ended_at from lease where project = $1 and session = $2 order by path",
        project,
        session,
    )
    return [Lease.of(row, fold) for row in rows]


async def of_others(tx: Tx, project: str, session: str, fold: bool, now: int, limit: int) -> list[Lease]:
    """What stands in the way of this session, newest first."""
    rows = await tx.all(
        f"{_READ} and {_IN_THE_WAY} order by lease.token desc limit $4",
        project,
        session,
        now - DELAY,
        limit,
    )
    return [Lease.of(row, fold) for row in rows]


async def count_of_others(tx: Tx, project: str, session: str, now: int) -> int:
    row = await tx.one(
        "select count(*) as n from lease join session on session.project = $1 and session.id = lease.session"
        f" left join api_key on api_key.id = session.key_id where lease.project = $1 and {_IN_THE_WAY}",
        project,
        session,
        now - DELAY,
    )
    return row["n"] if row else 0


async def hold_lapsed(tx: Tx, project: str, leases: Iterable[Lease], now: int) -> bool:
    """Keep the holders of these from renewing them before we are done; whether none did so already."""
    lapsed = [lease for lease in leases if not lease.ended]
    if not lapsed:
        return True
    held = await tx.run(
        "update lease set reason = reason"
        " where project = $1 and path = any($2) and token = any($3) and expires_at <= $4",
        project,
        [lease.path for lease in lapsed],
        [lease.token for lease in lapsed],
        now - DELAY,
    )
    return held == len(lapsed)


async def remove(tx: Tx, project: str, leases: Sequence[Lease]) -> None:
    await tx.run(
        "delete from lease where project = $1 and path = any($2) and token = any($3)",
        project,
        [lease.path for lease in leases],
        [lease.token for lease in leases],
    )


async def put(tx: Tx, project: str, leases: Sequence[Lease]) -> None:
    await tx.many(
        "insert into lease (project, path, session, prefix, mode, agent, token, reason, ttl, granted_at, expires_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
        " on conflict (project, path, session) do update set mode = excluded.mode, token = excluded.token,"
        " reason = excluded.reason, ttl = excluded.ttl, granted_at = excluded.granted_at,"
        " expires_at = excluded.expires_at",
        [
            (
                project,
                lease.path,
                lease.session,
                lease.prefix,
                lease.mode,
                lease.agent,
                lease.token,
                lease.reason,
                lease.ttl,
                lease.granted_at,
                lease.expires_at,
            )
            for lease in leases
        ],
    )


async def renew(tx: Tx, session: activity.Session, now: int) -> int:
    """Give every lease of the session its whole time again, unless it lapsed too long ago."""
    return await tx.run(
        "update lease set expires_at = case when expires_at < $3 + ttl then $3 + ttl else expires_at end"
        " where project = $1 and session = $2 and expires_at > $4",
        session.project,
        session.id,
        now,
        now - DELAY,
    )


async def renew_on_activity(tx: Tx, session: activity.Session, now: int) -> None:
    """Every call renews; what lapsed before it is lost, and its holder is told once."""
    if not await tx.one(
        "select 1 as yes from lease where project = $1 and session = $2 limit 1", session.project, session.id
    ):
        return
    leases_now = await tx.clock()
    await renew(tx, session, leases_now)
    lost = await tx.all(
        "delete from lease where project = $1 and session = $2 and expires_at <= $3 returning session, path",
        session.project,
        session.id,
        leases_now - DELAY,
    )
    await _tell_lost(tx, session.project, lost, now)


async def release_all(tx: Tx, project: str, session: str, now: int) -> list[str]:
    """Let go of everything; the paths that were still held."""
    rows = await tx.all(
        "delete from lease where project = $1 and session = $2 returning path, expires_at", project, session
    )
    return sorted(row["path"] for row in rows if row["expires_at"] > now - DELAY)


async def forget_lapsed(tx: Tx, now: int, _settings: Settings) -> None:
    """Leases that nobody renewed or took over for a day."""
    projects = [row["name"] for row in await tx.all("select name from project")]
    lost: dict[str, list[Row]] = defaultdict(list)
    for row in await tx.all(
        "delete from lease where project = any($1) and expires_at <= $2 returning project, session, path",
        projects,
        await tx.clock() - _FORGET_AFTER,
    ):
        lost[row["project"]].append(row)
    for project, rows in lost.items():
        await _tell_lost(tx, project, rows, now)


async def _tell_lost(tx: Tx, project: str, rows: Sequence[Row], now: int) -> None:
    lost: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        lost[row["session"]].append(row["path"])
    for session, files in lost.items():
        text = f"Your lock lapsed on {named(files)}; lock again before you go on there."
        await activity.tell(tx, project, [session], text, now)


def named(files: Sequence[str]) -> str:
    """A few names, then how many more."""
    shown = sorted(files)[:5]
    more = len(files) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


async def check_token(tx: Tx, project: str, path: str, token: int, session: str) -> None:
    """The fence: refuse whoever presents a token whose lease is no longer this session's.

    A takeover removes the lease that it replaces, so a token is good exactly as long as its lease is there.
    """
    fold = await ignores_case(tx, project)
    row = await tx.one(f"{_READ} and lease.session = $2 and lease.token = $3", project, session, token)
    lease = Lease.of(row, fold) if row else None
    if lease is None or lease.ended or not paths.covers(lease.pattern, path):
        raise errors.StaleToken(
            f"The token {token} does not hold {path}.", hint="Lock it again with memory_lock_files."
        )
