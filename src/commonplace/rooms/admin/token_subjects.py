"""Subjects of access tokens, recorded beside the keys: one row for each, without a secret.

A subject's role, projects and agent follow the claims of its latest token. What the issuer is trusted for is decided in
`edges/oauth`; here a subject is refused if an owner revoked it or if its name belongs to a key.
"""

from dataclasses import dataclass

import msgspec

from commonplace import errors
from commonplace.access import Caller, Role
from commonplace.identity.principal import choose_key_kind
from commonplace.rooms.admin import store
from commonplace.store.database import Row, Tx

SUBJECT_PREFIX = "oauth_"
_CREATED_BY = "oauth"


@dataclass(frozen=True, slots=True)
class TokenSubject:
    """Who a token is about, as its claims say."""

    id: str
    name: str
    role: Role
    projects: tuple[str, ...]
    agent: str | None

    def to_caller(self) -> Caller:
        kind = choose_key_kind(self.role, self.agent, is_persons_key=False)
        return Caller(self.role, frozenset(self.projects), self.id, self.agent, kind=kind)


def is_token_subject(key: str) -> bool:
    return key.startswith(SUBJECT_PREFIX)


async def find_token_subject(tx: Tx, subject: TokenSubject) -> Caller | None:
    """The caller, if its row says the same as its token; None if the row has to be written first."""
    row = await store.find_key_row(tx, subject.id)
    if row is not None:
        _require_not_revoked(row)
    return subject.to_caller() if row is not None and _is_current(row, subject) else None


async def record_token_subject(tx: Tx, subject: TokenSubject, now: int) -> Caller:
    """Write what the token says; its agent must not be the agent of a key."""
    row = await store.find_key_row(tx, subject.id)
    if row is not None:
        _require_not_revoked(row)
    await _require_own_name(tx, subject, now)
    values = (subject.name, subject.role, _encode_projects(subject), subject.agent)
    if row is None:
        # No secret has this text as its SHA-256, so that nobody can sign in with it as a key.
        await tx.run(
            "insert into api_key (id, hash, name, role, projects, agent, created_at, created_by)"
            " values ($1, $1, $2, $3, $4, $5, $6, $7) on conflict (id) do nothing",
            subject.id,
            *values,
            now,
            _CREATED_BY,
        )
    else:
        await tx.run(
            "update api_key set name = $2, role = $3, projects = $4, agent = $5 where id = $1",
            subject.id,
            *values,
        )
    return subject.to_caller()


async def readmit_subject(tx: Tx, subject_id: str) -> None:
    await tx.run("update api_key set revoked_at = null where id = $1", subject_id)


def _is_current(row: Row, subject: TokenSubject) -> bool:
    return (row["name"], row["role"], row["projects"], row["agent"]) == (
        subject.name,
        subject.role,
        _encode_projects(subject),
        subject.agent,
    )


def _encode_projects(subject: TokenSubject) -> str:
    return msgspec.json.encode(subject.projects).decode()


def _require_not_revoked(row: Row) -> None:
    if row["revoked_at"] is not None:
        raise errors.Forbidden(
            "An owner of this server revoked your access.",
            hint="Ask an owner of this server to run: commonplace key readmit ID",
        )


async def _require_own_name(tx: Tx, subject: TokenSubject, now: int) -> None:
    if subject.agent is None:
        return
    row = await tx.one(
        "select 1 as yes from api_key where agent = $1 and id <> $2 and revoked_at is null"
        " and (expires_at is null or expires_at > $3) limit 1",
        subject.agent,
        subject.id,
        now,
    )
    if row is not None:
        raise errors.Forbidden(
            f"The name '{subject.agent}' belongs to a key or to another person.",
            hint="Ask an owner of this server to revoke that key, or to choose another claim for names.",
        )
