"""Sessions of the web page: a one-time link or a key starts one, signing out ends it. Both are stored as digests.

`edges/web/sign_in.py` sets the cookie; `edges/web/browser_caller.py` finds the caller of a cookie. A session acts with the
role, the kind and the projects of its key, which are read again for every request."""

import secrets
from typing import Annotated

from pydantic import Field

from commonplace import access, errors
from commonplace.access import ALL_PROJECTS, SHARED, Caller
from commonplace.arguments import AgentName
from commonplace.call import Call
from commonplace.clock import DAY, MINUTE, iso
from commonplace.identity.names import find_alike, name_key_holder
from commonplace.operation import ALL_ARGUMENTS, Reply, operation
from commonplace.rooms.admin.contributes import BROWSER_SIGNED_OUT
from commonplace.rooms.admin.store import decode_names, hash_secret
from commonplace.rooms.admin.token_subjects import is_token_subject
from commonplace.store.database import Row, Tx

_MAX_NAME_CHARACTERS = 64
_KEY_PREFIX = "key_"
_ADMIN_ROLES = frozenset({"admin", "owner"})


async def insert_browser_secret(
    tx: Tx, kind: str, secret: str, key_id: str, agent: str, now: int, expires_at: int
) -> None:
    await tx.run(
        "insert into browser_session (project, hash, kind, key_id, agent, created_at, expires_at)"
        " values ($1, $2, $3, $4, $5, $6, $7)",
        SHARED,
        hash_secret(secret),
        kind,
        key_id,
        agent,
        now,
        expires_at,
    )


async def find_browser_secret(tx: Tx, kind: str, secret: str, now: int) -> Row | None:
    """The key and agent that a live link or session belongs to."""
    return await tx.one(
        "select key_id, agent from browser_session where project = $1 and hash = $2 and kind = $3 and expires_at > $4",
        SHARED,
        hash_secret(secret),
        kind,
        now,
    )


async def delete_browser_secret(tx: Tx, kind: str, secret: str) -> bool:
    """Whether it existed: of two callers that use one link at once, one gets True."""
    row = await tx.one(
        "delete from browser_session where project = $1 and hash = $2 and kind = $3 returning hash",
        SHARED,
        hash_secret(secret),
        kind,
    )
    return row is not None


async def delete_browser_sessions_of_key(tx: Tx, key_id: str) -> int:
    rows = await tx.all(
        "delete from browser_session where project = $1 and key_id = $2 returning kind", SHARED, key_id
    )
    return sum(row["kind"] == "session" for row in rows)


async def list_people(tx: Tx, project: str, now: int) -> dict[str, bool]:
    """The people who are signed in to the web page and may use this project, and whether each administers it."""
    rows = await tx.all(
        "select distinct agent, key_id from browser_session where project = $1 and kind = 'session' and expires_at > $2",
        SHARED,
        now,
    )
    keys = await tx.all(
        "select id, role, projects from api_key where id = any($1) and revoked_at is null"
        " and (expires_at is null or expires_at > $2)",
        [row["key_id"] for row in rows],
        now,
    )
    key_by_id = {key["id"]: key for key in keys}
    people: dict[str, bool] = {}
    for row in rows:
        key = key_by_id.get(row["key_id"])
        if key is None and row["key_id"].startswith(_KEY_PREFIX):
            continue
        if key is None or decode_names(key["projects"]) & {project, ALL_PROJECTS}:
            people[row["agent"]] = key is None or key["role"] in _ADMIN_ROLES
    return people


async def name_person(tx: Tx, caller: Caller, now: int) -> str:
    """The agent that a person acts as: the agent of the key, else the name of the key.

    A name that another key is bound to stays that key's: the id of the own key then tells the two apart.
    """
    if caller.agent:
        return caller.agent
    row = await tx.one("select name from api_key where id = $1", caller.key)
    name = name_key_holder(row["name"] if row else caller.key)
    rows = await tx.all(
        "select agent from api_key where agent <> '' and id <> $1 and revoked_at is null"
        " and (expires_at is null or expires_at > $2)",
        caller.key,
        now,
    )
    taken = find_alike(name, [row["agent"] for row in rows]) is not None
    return f"{name[: _MAX_NAME_CHARACTERS - len(caller.key) - 1]}:{caller.key}" if taken or not name else name


OPERATOR_KEY = "operator"
LOCAL_KEY = "local"
_LINK_LIFETIME = 5 * MINUTE
_SESSION_LIFETIME = 30 * DAY

BrowserSecret = Annotated[str, Field(min_length=1, max_length=200)]


class SignInLink(Reply):
    code: str
    expires_at: str


class BrowserSession(Reply):
    secret: str
    agent: str
    expires_at: str


class SignedOut(Reply):
    status: str
    sessions: int = 0


def name_key(caller: Caller) -> str:
    """What a session of the page belongs to: the id of a key, or a name for a caller without one."""
    return caller.key or (OPERATOR_KEY if caller.operator else LOCAL_KEY)


@operation("memory_create_sign_in_link", role="readonly", writes=True, session=False, example={})
async def create_sign_in_link(
    call: Call,
    agent: Annotated[
        AgentName | None, Field(description="The name of the person, where the caller has no key.")
    ] = None,
) -> SignInLink:
    """Create a code that signs one browser in as the caller; it works once, within five minutes.

    `agent` names the person where the caller has no key; whoever has a key is named by it.
    """
    _require_key(call)
    code, expires_at = f"cpl_{secrets.token_hex(20)}", call.now + _LINK_LIFETIME
    is_free = not call.caller.key and agent
    name = agent if is_free and agent else await _name_agent(call)
    await insert_browser_secret(call.tx, "link", code, name_key(call.caller), name, call.now, expires_at)
    return SignInLink(code=code, expires_at=iso(expires_at))


@operation("browser:sign_in", role="readonly", writes=True, session=False, verbatim=ALL_ARGUMENTS, example={})
async def sign_in(call: Call, code: BrowserSecret | None = None) -> BrowserSession:
    """Start a session of the page for the caller; the code of a link is used up with it."""
    if code is not None and not await delete_browser_secret(call.tx, "link", code):
        raise errors.Unauthenticated("This link was used already.", hint="Run `commonplace open` again.")
    _require_key(call)
    secret, expires_at = secrets.token_urlsafe(32), call.now + _SESSION_LIFETIME
    agent = await _name_agent(call)
    await insert_browser_secret(
        call.tx, "session", secret, name_key(call.caller), agent, call.now, expires_at
    )
    call.subject = f"browser {agent}"
    return BrowserSession(secret=secret, agent=agent, expires_at=iso(expires_at))


@operation(
    "browser:sign_out", role="readonly", writes=True, session=False, verbatim=ALL_ARGUMENTS, example={}
)
async def sign_out(call: Call, secret: BrowserSecret, everywhere: bool = False) -> SignedOut:
    """End a session of the page, or every session of the caller's key; other replicas refuse it at once too."""
    ended = await delete_browser_secret(call.tx, "session", secret)
    count = int(ended)
    if everywhere:
        count += await delete_browser_sessions_of_key(call.tx, name_key(call.caller))
    call.emit(BROWSER_SIGNED_OUT, project=access.SHARED, audience="owner")
    return SignedOut(status="signed_out", sessions=count)


def _require_key(call: Call) -> None:
    """A session of the page lives longer than an access token, and would not notice that its issuer took it back."""
    if is_token_subject(call.caller.key):
        raise errors.Forbidden(
            "The page cannot be opened with an access token.",
            hint="Sign in with a key: commonplace key create --name NAME",
        )


async def _name_agent(call: Call) -> str:
    return await name_person(call.tx, call.caller, call.now)
