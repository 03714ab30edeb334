"""Sign-in of the web page: POST /sign-in and /sign-out, and GET /session, which says who is signed in.

A key or the code of a one-time link (`commonplace open`) starts a session; while keys are off anybody on this machine may
start one. The cookie cannot be read by scripts and is not sent from other sites.
"""

import getpass
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from commonplace import __version__, errors
from commonplace.access import Caller
from commonplace.call import Calls
from commonplace.edges.http.request import Request, read_json
from commonplace.edges.http.response import Header, Response
from commonplace.edges.http.router import Route
from commonplace.edges.identity import Identity
from commonplace.edges.web.browser_caller import derive_csrf_token, name_cookie, read_session_cookie
from commonplace.rooms.admin.browser_sessions import BrowserSession, sign_in, sign_out

_SESSION_SECONDS: Final = 30 * 24 * 3600
_MAX_BODY_BYTES: Final = 8192
_ACCEPTED_FIELDS: Final = frozenset({"key", "code"})
_NOT_IN_NAMES: Final = re.compile(r"[^\w.@:+-]+")


class SignIn:
    def __init__(self, calls: Calls, identity: Identity) -> None:
        self._calls, self._identity = calls, identity

    def public_routes(self) -> dict[str, Route]:
        return {"/session": self.describe_session}

    def public_posts(self) -> dict[str, Route]:
        """Who signs in is not known yet: the route finds the caller itself."""
        return {"/sign-in": self.sign_in}

    def routes(self) -> dict[str, dict[str, Route]]:
        return {"/sign-out": {"POST": self.sign_out}}

    async def describe_session(self, request: Request, response: Response) -> None:
        """Who is signed in, or what signing in needs. Without a session the reply tells nothing else."""
        secret = read_session_cookie(request.headers)
        caller = await self._identity.browsers.find_session_caller(secret) if secret else None
        known: dict[str, Any] = {"signed_in": caller is not None, "needs_key": self._identity.needs_key}
        if caller is not None:
            known |= _describe_caller(caller, secret)
        await response.send_json(200, known)

    async def sign_in(self, request: Request, response: Response) -> None:
        body = await _read_object(request)
        code = body.get("code")
        caller = await self._find_caller(request, body)
        answer = await self._calls.run_operation(sign_in, {"code": code} if code else {}, caller)
        session: BrowserSession = answer.reply
        cookie = _format_cookie(request.headers, session.secret, _SESSION_SECONDS)
        described = _describe_caller(replace(caller, agent=session.agent), session.secret)
        await response.send_json(
            200, {"signed_in": True, "needs_key": self._identity.needs_key} | described, cookie
        )

    async def sign_out(self, request: Request, response: Response) -> None:
        body = await _read_object(request, frozenset({"everywhere"}))
        secret = read_session_cookie(request.headers) or "none"
        arguments = {"secret": secret, "everywhere": body.get("everywhere") is True}
        answer = await self._calls.run_operation(sign_out, arguments, request.caller)
        self._identity.forget_cached_keys()
        await response.send(200, answer.to_text(), _format_cookie(request.headers, "", 0))

    async def _find_caller(self, request: Request, body: Mapping[str, Any]) -> Caller:
        if code := body.get("code"):
            caller = await self._identity.browsers.find_link_caller(code)
            if caller is None:
                raise self._identity.count_failure(
                    request.address,
                    "This link has expired or was used already.",
                    "Run `commonplace open` again.",
                )
            return caller
        headers = {"authorization": f"Bearer {body['key']}"} if body.get("key") else {}
        caller = await self._identity.identify(headers, request.address)
        return caller if caller.key or caller.agent else replace(caller, agent=name_local_person())


def name_local_person() -> str:
    """While keys are off, the person at this machine acts under the name of the account that runs the server."""
    try:
        account = getpass.getuser()
    except (OSError, KeyError):
        account = ""
    return _NOT_IN_NAMES.sub("-", account).strip("-.@:+")[:64] or "person"


async def _read_object(request: Request, accepted: frozenset[str] = _ACCEPTED_FIELDS) -> dict[str, Any]:
    request.require_json()
    body = await read_json(await request.read_body(_MAX_BODY_BYTES) or b"{}", request.limits)
    if not isinstance(body, dict) or body.keys() - accepted:
        raise errors.Invalid(
            "Unknown field in the body.", hint=f"Send a JSON object with: {', '.join(sorted(accepted))}."
        )
    if any(not isinstance(body.get(name, ""), str) for name in _ACCEPTED_FIELDS):
        raise errors.Invalid("`key` and `code` must be texts.", hint='Send {"key": "smk_..."}.')
    return body


def _describe_caller(caller: Caller, secret: str) -> dict[str, Any]:
    return {
        "agent": caller.agent,
        "key": caller.key,
        "role": caller.role,
        "projects": sorted(caller.projects),
        "operator": caller.operator,
        "csrf": derive_csrf_token(secret),
        "version": __version__,
    }


def _format_cookie(headers: Mapping[str, str], secret: str, seconds: int) -> Header:
    """`Secure` where the page was loaded over TLS; the Origin was checked to be this server's own."""
    is_https = headers.get("origin", "").startswith("https://")
    flags = "; Secure" if is_https else ""
    text = f"{name_cookie(headers)}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{flags}"
    return b"set-cookie", text.encode("ascii")
