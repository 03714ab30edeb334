"""Idempotency keys: a write that is sent again with the same key is carried out once and answered the same.

A client sends a key as the argument `idempotency_key`, as the header `Idempotency-Key` or in `_meta`. It belongs to the
caller, who it acts as, the operation and the project. `call.py` claims it in the transaction of the call, so a refused call leaves
nothing, and a duplicate that runs at the same time waits for the first one, on every replica.

Answers can hold secrets, such as a session id. They are stored encrypted and authenticated with the key itself, of which
the store has only a digest: an encrypt-then-MAC of the standard library's SHAKE-256 and HMAC, because a package for this
one place would be 16 MB more to install.
"""

import hashlib
import hmac
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from commonplace import errors
from commonplace.access import Caller
from commonplace.clock import DAY
from commonplace.operation import Operation
from commonplace.project import list_all_project_names
from commonplace.store.database import Tx

KEPT_MICROSECONDS: Final = DAY
_ARGUMENT: Final = "idempotency_key"
_ACTOR_ARGUMENTS: Final = ("agent_id", "sender")
_MAX_KEY_CHARACTERS: Final = 100
_SALT_BYTES: Final = 16
_TAG_BYTES: Final = 32
_CLAIM: Final = (
    "insert into idempotency (project, id, at, fingerprint, answer) values ($1, $2, $3, $4, $5)"
    " on conflict (project, id) do update set at = excluded.at, fingerprint = excluded.fingerprint,"
    " answer = excluded.answer where idempotency.at <= $6"
)


class StoredAnswer(msgspec.Struct, frozen=True):
    reply: msgspec.Raw
    notices: list[str]
    suggestions: list[str]


@dataclass(frozen=True, slots=True)
class RequestKey:
    """The key of one call: what is stored of it, and what encrypts its answer."""

    id: str
    fingerprint: str
    secret: bytes

    async def claim(self, tx: Tx, project: str, now: int) -> StoredAnswer | None:
        """Claim the key for this transaction, or return the answer of the call that had it."""
        expired = now - KEPT_MICROSECONDS
        if await tx.run(_CLAIM, project, self.id, now, self.fingerprint, b"", expired):
            return None
        return await self._load_answer(tx, [project])

    async def find_answer(self, tx: Tx) -> StoredAnswer | None:
        """The answer of the call that had this key, if its session has ended since, so that its project is unknown."""
        return await self._load_answer(tx, await list_all_project_names(tx))

    async def store_answer(
        self, tx: Tx, project: str, reply: Any, notices: Sequence[str], suggestions: Collection[str]
    ) -> None:
        text = msgspec.json.encode({"reply": reply, "notices": notices, "suggestions": list(suggestions)})
        await tx.queue(
            "update idempotency set answer = $3 where project = $1 and id = $2",
            project,
            self.id,
            _seal(text, self.secret),
        )

    async def _load_answer(self, tx: Tx, projects: Sequence[str]) -> StoredAnswer | None:
        row = await tx.one(
            "select fingerprint, answer from idempotency where project = any($1) and id = $2",
            projects,
            self.id,
        )
        if row is None:
            return None
        if row["fingerprint"] != self.fingerprint:
            raise errors.Conflict(
                "This idempotency key was used for a call with other arguments.",
                hint="Send a new key with every new call; repeat a key only with the same arguments.",
            )
        return msgspec.json.decode(_open(row["answer"], self.secret), type=StoredAnswer)


def take_request_key(
    operation: Operation, given: Mapping[str, Any], caller: Caller
) -> tuple[Mapping[str, Any], RequestKey | None]:
    """The arguments without the key, and the key."""
    key: Any = caller.idempotency_key or None
    if _ARGUMENT in given:
        key = given[_ARGUMENT]
        given = {name: value for name, value in given.items() if name != _ARGUMENT}
    if not operation.writes or key is None:
        return given, None
    _require_valid_key(key)
    actor = [given.get(name) for name in (operation.session_argument, *_ACTOR_ARGUMENTS)]
    scope = (caller.key, caller.agent or "", *actor, operation.name, key)
    return given, RequestKey(
        _hash("id", scope).hex(),
        _hash("arguments", (*scope, caller.session, given)).hex(),
        _hash("answer", scope),
    )


def _require_valid_key(key: Any) -> None:
    if not isinstance(key, str) or not 0 < len(key) <= _MAX_KEY_CHARACTERS or not key.isprintable():
        raise errors.Invalid(
            f"An idempotency key is a text of 1 to {_MAX_KEY_CHARACTERS} printable characters.",
            hint="Send a random one, such as a UUID.",
        )


def _hash(purpose: str, values: Any) -> bytes:
    return hashlib.sha256(msgspec.json.encode((purpose, values), order="deterministic")).digest()


def _seal(text: bytes, secret: bytes) -> bytes:
    """Encrypt, then authenticate. A random salt gives every answer its own keys, so no stream is used twice."""
    salt = secrets.token_bytes(_SALT_BYTES)
    sealed = salt + _apply_stream(text, secret, salt)
    return sealed + _authenticate(sealed, secret, salt)


def _open(sealed: bytes, secret: bytes) -> bytes:
    body, tag = sealed[:-_TAG_BYTES], sealed[-_TAG_BYTES:]
    salt = body[:_SALT_BYTES]
    if not hmac.compare_digest(tag, _authenticate(body, secret, salt)):
        raise errors.Damaged("The stored answer of this idempotency key was changed.")
    return _apply_stream(body[_SALT_BYTES:], secret, salt)


def _apply_stream(text: bytes, secret: bytes, salt: bytes) -> bytes:
    key = hmac.digest(secret, b"encrypt" + salt, "sha256")
    stream = hashlib.shake_256(key).digest(len(text))
    return (int.from_bytes(text) ^ int.from_bytes(stream)).to_bytes(len(text))


def _authenticate(sealed: bytes, secret: bytes, salt: bytes) -> bytes:
    return hmac.digest(hmac.digest(secret, b"authenticate" + salt, "sha256"), sealed, "sha256")
