"""Refusals that only HTTP knows. Those of operations are in `commonplace/errors.py`; response.py renders both."""

from commonplace import errors


class ForeignOrigin(errors.Refusal):
    """This host or origin is not allowed."""

    code = "foreign_origin"
    status = 403


class ForeignHost(ForeignOrigin):
    """This host or origin is not allowed."""

    status = 421


class MethodNotAllowed(errors.Refusal):
    """This path does not accept that method."""

    code = "method_not_allowed"
    status = 405


class NotAcceptable(errors.Refusal):
    """The answer is an event stream, which the client does not accept."""

    code = "not_acceptable"
    status = 406


class TooSlow(errors.Refusal):
    """The body arrived too slowly."""

    code = "too_slow"
    status = 408


class UnsupportedMediaType(errors.Refusal):
    """The body has a media type or an encoding that is not accepted here."""

    code = "unsupported_media_type"
    status = 415


class MalformedJson(errors.Invalid):
    """The body is not valid JSON."""


class RangeNotSatisfiable(errors.Refusal):
    """The requested bytes are not stored."""

    code = "range_not_satisfiable"
    status = 416


class HeadTooLarge(errors.Refusal):
    """The head of the request is too large."""

    code = "head_too_large"
    status = 431


class MalformedRequest(errors.Invalid):
    """This is not a valid HTTP request."""


class InternalError(errors.Refusal):
    """Internal error; see the server log."""

    code = "internal"
    status = 500
