"""Sessions of the web page: a one-time link or a key starts one, signing out ends it.

`edges/web/sign_in.py` sets the cookie; `edges/web/browser_caller.py` finds the caller of a cookie. A session acts with the
role and the projects of its key, which are read again for every request.
"""

import secrets
from typing import Annotated

from pydantic import Field

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.arguments import AgentName
from commonplace.call import Call
from commonplace.clock import DAY, MINUTE, iso
from commonplace.operation import ALL_ARGUMENTS, Reply, operation
from commonplace.rooms.admin import browser_store
from commonplace.rooms.admin.events import BROWSER_SIGNED_OUT
from commonplace.rooms.admin.token_subjects import is_token_subject

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
    await browser_store.insert_browser_secret(
        call.tx, "link", code, name_key(call.caller), name, call.now, expires_at
    )
    return SignInLink(code=code, expires_at=iso(expires_at))


@operation("browser:sign_in", role="readonly", writes=True, session=False, verbatim=ALL_ARGUMENTS, example={})
async def sign_in(call: Call, code: BrowserSecret | None = None) -> BrowserSession:
    """Start a session of the page for the caller; the code of a link is used up with it."""
    if code is not None and not await browser_store.delete_browser_secret(call.tx, "link", code):
        raise errors.Unauthenticated("This link was used already.", hint="Run `commonplace open` again.")
    _require_key(call)
    secret, expires_at = secrets.token_urlsafe(32), call.now + _SESSION_LIFETIME
    agent = await _name_agent(call)
    await browser_store.insert_browser_secret(
        call.tx, "session", secret, name_key(call.caller), agent, call.now, expires_at
    )
    call.subject = f"browser {agent}"
    return BrowserSession(secret=secret, agent=agent, expires_at=iso(expires_at))


@operation(
    "browser:sign_out", role="readonly", writes=True, session=False, verbatim=ALL_ARGUMENTS, example={}
)
async def sign_out(call: Call, secret: BrowserSecret, everywhere: bool = False) -> SignedOut:
    """End a session of the page, or every session of the caller's key; other replicas refuse it at once too."""
    ended = await browser_store.delete_browser_secret(call.tx, "session", secret)
    count = int(ended)
    if everywhere:
        count += await browser_store.delete_browser_sessions_of_key(call.tx, name_key(call.caller))
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
    return await browser_store.name_person(call.tx, call.caller, call.now)
