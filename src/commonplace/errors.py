"""Every refusal: its code, HTTP status, exit code and hint.

Refusal
├── Invalid            an argument is wrong
│   └── UnknownArgument
├── Unauthenticated    no key, or one that is unknown, revoked or expired
├── Forbidden          the role or the project of the caller does not allow it
├── NotFound           it does not exist, or the caller may not see it
│   └── SessionNotFound
├── Conflict           the state is not what the caller assumed
│   ├── Duplicate
│   └── StaleToken
├── TooLarge           over a documented limit
├── TooMany            over a rate or a count
└── Unavailable        the store, or something the call needs, does not answer; try again
    └── Damaged        what is stored cannot be read any more; trying again does not help

The first line of a class's docstring is its default message.
"""

from typing import Any, ClassVar


class Refusal(Exception):
    """The call was refused."""

    code: ClassVar[str] = "refused"
    status: ClassVar[int] = 400
    exit_code: ClassVar[int] = 1
    challenge: str = ""
    """The value of WWW-Authenticate, where it says more than "Bearer"."""

    def __init__(self, message: str | None = None, *, hint: str | None = None, **details: Any) -> None:
        self.message = message or (type(self).__doc__ or "").strip().split("\n")[0]
        self.hint = hint
        self.details = details
        super().__init__(self.message)

    def to_dict(self) -> dict[str, Any]:
        """The one shape in which every surface returns a refusal."""
        shown = {"error": self.code, "message": self.message}
        if self.hint:
            shown["hint"] = self.hint
        return shown | self.details


class Invalid(Refusal):
    """An argument is not valid."""

    code = "invalid"
    exit_code = 2


class UnknownArgument(Invalid):
    """Unknown argument."""

    code = "unknown_argument"


class Unauthenticated(Refusal):
    """A valid key is required."""

    code = "unauthenticated"
    status = 401
    exit_code = 3


class Forbidden(Refusal):
    """The caller may not do this."""

    code = "forbidden"
    status = 403
    exit_code = 4


class NotFound(Refusal):
    """Not found, or not visible to this caller."""

    code = "not_found"
    status = 404
    exit_code = 5


class SessionNotFound(NotFound):
    """This caller has no such session."""

    code = "session_not_found"


class Conflict(Refusal):
    """The state has changed, or the name is taken."""

    code = "conflict"
    status = 409
    exit_code = 6


class Duplicate(Conflict):
    """It already exists."""

    code = "duplicate"


class StaleToken(Conflict):
    """The lease has been granted to another holder since."""

    code = "stale_token"


class TooLarge(Refusal):
    """The text is larger than the limit."""

    code = "too_large"
    status = 413
    exit_code = 2


class TooMany(Refusal):
    """A limit on rate or number was reached."""

    code = "too_many"
    status = 429
    exit_code = 7


class Unavailable(Refusal):
    """The store is not reachable."""

    code = "unavailable"
    status = 503
    exit_code = 8


class Damaged(Unavailable):
    """What is stored is damaged; the operator must restore a backup."""

    code = "damaged"
