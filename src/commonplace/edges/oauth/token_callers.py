"""The caller of an access token: its role from scopes and groups, its projects and its agent from claims.

The subject of a token is recorded like a key (`rooms/admin/token_subjects.py`), so that everything that belongs to a key
works for it too: the name of its agent is its own, its sessions are its own, and an owner can revoke it at once.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pydantic

from commonplace import access, errors
from commonplace.access import Caller, Role
from commonplace.arguments import AgentName
from commonplace.clock import SECOND, Clock
from commonplace.config import Settings
from commonplace.edges.oauth.access_tokens import InvalidToken, TokenVerifier, VerifiedToken, looks_like_token
from commonplace.edges.oauth.issuer_keys import IssuerKeys
from commonplace.edges.oauth.protected_resource import ProtectedResource
from commonplace.rooms.admin import token_subjects
from commonplace.rooms.admin.store import hash_secret
from commonplace.rooms.admin.token_subjects import SUBJECT_PREFIX, TokenSubject
from commonplace.store.database import Database

_CACHE_MICROSECONDS: Final = 2 * SECOND
_MAX_CACHED_TOKENS: Final = 10_000
_MAX_PROJECTS: Final = 100
_GROUP_PREFIX: Final = "group:"
_ROLES: Final[tuple[Role, ...]] = ("readonly", "agent", "admin", "owner")
_NAME_CLAIMS: Final = ("preferred_username", "email", "name", "sub")
_MAX_LABEL_CHARACTERS: Final = 58
_AGENT_NAME: Final[pydantic.TypeAdapter[str]] = pydantic.TypeAdapter(AgentName)


class TokenCallers:
    """`edges/identity.py` asks it for every bearer token that looks like a JWT."""

    def __init__(self, database: Database, settings: Settings, clock: Clock) -> None:
        self._database, self._clock, self._settings = database, clock, settings
        self.resource = ProtectedResource(settings)
        self._keys = IssuerKeys(settings.oauth_issuer, clock)
        audiences = settings.oauth_audiences or (settings.oauth_resource,)
        self._verifier = TokenVerifier(settings.oauth_issuer, audiences, self._keys, clock)
        self._cached: OrderedDict[str, tuple[Caller, int]] = OrderedDict()
        self._generation = 0

    def open(self) -> None:
        self._keys.open()

    async def close(self) -> None:
        await self._keys.close()

    def recognizes(self, secret: str) -> bool:
        return looks_like_token(secret)

    def format_challenge(self, error: str = "") -> str:
        return self.resource.format_challenge(error)

    def forget(self) -> None:
        """Clear the cache after a subject was revoked; lookups that are running are not cached."""
        self._cached.clear()
        self._generation += 1

    async def find_caller(self, token: str) -> Caller | None:
        """The caller; None for a token that was never valid here."""
        now, digest, generation = self._clock(), hash_secret(token), self._generation
        caller, until = self._cached.get(digest, (None, 0))
        if caller is not None and now < until:
            return caller
        try:
            verified = await self._verifier.verify(token)
        except InvalidToken as invalid:
            if invalid.is_forged:
                return None
            raise self._expired(str(invalid)) from None
        caller = await self._load_caller(self._read_subject(verified))
        if generation == self._generation:
            self._remember(digest, caller, min(now + _CACHE_MICROSECONDS, verified.expires_at))
        return caller

    def _remember(self, digest: str, caller: Caller, until: int) -> None:
        self._cached[digest] = (caller, until)
        self._cached.move_to_end(digest)
        if len(self._cached) > _MAX_CACHED_TOKENS:
            self._cached.popitem(last=False)

    async def _load_caller(self, subject: TokenSubject) -> Caller:
        now = self._clock()
        caller = await self._database.read(lambda tx: token_subjects.find_token_subject(tx, subject))
        if caller is None:
            caller = await self._database.write(
                lambda tx: token_subjects.record_token_subject(tx, subject, now)
            )
        return caller

    def _read_subject(self, token: VerifiedToken) -> TokenSubject:
        claims = token.claims
        digest = hashlib.sha256(f"{self._settings.oauth_issuer}\0{token.subject}".encode()).hexdigest()
        return TokenSubject(
            id=f"{SUBJECT_PREFIX}{digest[:16]}",
            name=_name_subject(claims),
            role=self._read_role(claims),
            projects=self._read_projects(claims),
            agent=self._read_agent(claims),
        )

    def _read_role(self, claims: Mapping[str, Any]) -> Role:
        scopes = _read_words(claims, "scope", "scp")
        held = {scope for scope in scopes if not scope.startswith(_GROUP_PREFIX)}
        held |= {f"{_GROUP_PREFIX}{group}" for group in _read_words(claims, "groups", "roles")}
        granted = {role for name, role in self.resource.role_by_scope.items() if name in held}
        for role in reversed(_ROLES):
            if role in granted:
                return role
        refusal = errors.Forbidden(
            "This access token has no scope that this server knows.",
            hint=f"Ask the issuer for one of: {', '.join(self.resource.role_by_scope)}.",
        )
        refusal.challenge = self.format_challenge("insufficient_scope")
        raise refusal

    def _read_projects(self, claims: Mapping[str, Any]) -> tuple[str, ...]:
        claim = self._settings.oauth_projects_claim
        named = [*_read_words(claims, claim)] if claim in claims else list(self._settings.oauth_projects)
        return tuple(sorted({_normalize_project(name) for name in named[:_MAX_PROJECTS]}))

    def _read_agent(self, claims: Mapping[str, Any]) -> str | None:
        claim = self._settings.oauth_agent_claim
        if not claim:
            return None
        try:
            return _AGENT_NAME.validate_python(claims.get(claim))
        except pydantic.ValidationError:
            raise errors.Forbidden(
                f"The claim '{claim}' of this access token is not an agent name.",
                hint="Agent names have letters, digits and . _ @ : + -; the operator chooses the claim with"
                " --oauth-agent-claim.",
            ) from None

    def _expired(self, reason: str) -> errors.Unauthenticated:
        refusal = errors.Unauthenticated(
            f"This access token is {reason}.", hint="Get a new one from the issuer, or refresh it."
        )
        refusal.challenge = self.format_challenge("invalid_token")
        return refusal


def _normalize_project(name: str) -> str:
    return name if name == access.ALL_PROJECTS else access.normalize_project_name(name)


def _read_words(claims: Mapping[str, Any], *names: str) -> Iterator[str]:
    """The words of these claims: issuers send a text with spaces or a list of texts."""
    for name in names:
        value = claims.get(name)
        if isinstance(value, str):
            yield from value.split()
        elif isinstance(value, list):
            yield from (word for word in value if isinstance(word, str))


def _name_subject(claims: Mapping[str, Any]) -> str:
    """What `commonplace key list` shows."""
    label = next(str(claims[name]) for name in _NAME_CLAIMS if claims.get(name))
    printable = "".join(character for character in label if character.isprintable())
    return f"oauth {printable[:_MAX_LABEL_CHARACTERS]}"
