"""What the protocol core asks of the product, and what it tells the product about a request."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from commonplace.edges.mcp.messages import (
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    MODERN_VERSIONS,
    Interruption,
    Notice,
    ProtocolError,
    RequestId,
    encode,
)

LOG_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class View(msgspec.Struct, frozen=True):
    """What the client asked to see: it can only narrow what the caller may use."""

    toolsets: frozenset[str] | None = None  # None: every toolset the caller may use
    readonly: bool = False


class Channel(Protocol):
    """The way back to the client while its request is being served."""

    async def notify(self, notice: Notice) -> None: ...

    async def ask(self, method: str, params: dict[str, Any]) -> Any: ...


class Context(msgspec.Struct, kw_only=True):
    """One request, as an operation may see it."""

    caller: Any  # whatever Host.identify returned
    view: View
    version: str
    client: str
    headers: Mapping[str, str]  # lower-case names; the environment over stdio
    meta: Mapping[str, Any]  # the request's own _meta
    capabilities: Mapping[str, Any]
    channel: Channel
    log_level: str | None = None  # None: the client wants no log messages
    input_responses: Mapping[str, Any] = msgspec.field(default_factory=dict)
    request_state: str | None = None

    @property
    def modern(self) -> bool:
        return self.version in MODERN_VERSIONS

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tells a client that asked for it how far the work is; otherwise says nothing."""
        token: RequestId | None = self.meta.get("progressToken")
        if token is None:
            return
        params: dict[str, Any] = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        await self.channel.notify(Notice("notifications/progress", params))

    async def log(self, level: str, value: Any, logger: str | None = None) -> None:
        if self.log_level is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(self.log_level):
            return
        params = {"level": level, "data": value}
        if logger is not None:
            params["logger"] = logger
        await self.channel.notify(Notice("notifications/message", params))


class ToolResult(msgspec.Struct, frozen=True):
    """`text` is ready JSON text; `structured` is ready JSON and belongs only where a program reads it."""

    text: str | bytes = ""
    structured: bytes | None = None
    blocks: Sequence[dict[str, Any]] | None = None  # content that is more than one text; replaces `text`
    failed: bool = False


class InputRequired(msgspec.Struct, frozen=True):
    """The operation needs answers from the client first, and will be called again with them.

    `requests` maps a name to {"method", "params"}; the answers come back under the same names in
    `Context.input_responses`, and `state` in `Context.request_state`. The client can read the state but
    not change it. Both eras take this way: on the legacy wire the core asks and calls again by itself.
    """

    requests: Mapping[str, dict[str, Any]] = {}
    state: str | None = None


class Page(msgspec.Struct, frozen=True):
    """One page of a list; items are JSON values, or `msgspec.Raw` where the JSON is ready."""

    items: Sequence[Any] | msgspec.Raw
    next_cursor: str | None = None


class MirroredParameter(msgspec.Struct, frozen=True):
    """A tool argument marked `x-mcp-header`, which the client repeats as `Mcp-Param-<header>`."""

    path: tuple[str, ...]
    header: str
    type: str


class Refused(Interruption):
    """A tool says no: the model reads why, as a failed tool result."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def result(self) -> ToolResult:
        error = {"code": self.code, "message": self.message}
        if self.hint is not None:
            error["hint"] = self.hint
        return ToolResult(text=encode({"error": error}), failed=True)


class Unauthorized(Interruption):
    """The request proves no caller; becomes HTTP 401, or the status given (429 for one locked out for so many seconds)."""

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        status: int = 401,
        challenge: str = "Bearer",
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint
        self.status = status
        self.challenge = challenge
        self.retry_after = retry_after


class ResourceNotFound(Interruption):
    """No such resource, or none that this caller may see."""

    def __init__(self, uri: str) -> None:
        super().__init__(f"no resource {uri}")
        self.uri = uri


class UnknownName(ProtocolError):  # noqa: N818 - named for what the caller meets
    """No tool or prompt of this name, or none that this caller may use."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(INVALID_PARAMS, f"unknown {kind}: {name}")


class MissingCapability(ProtocolError):  # noqa: N818 - the same
    """The operation would ask the client for something it did not say it can do."""

    def __init__(self, names: Sequence[str]) -> None:
        required: dict[str, Any] = {name: {} for name in names}
        details = {"requiredCapabilities": required}
        super().__init__(MISSING_CAPABILITY, f"the client lacks: {', '.join(names)}", details)


class Host(Protocol):
    """The product behind the protocol. Everything it is handed comes from outside and is unchecked."""

    name: str
    title: str
    version: str

    async def identify(self, headers: Mapping[str, str], address: str, query: bytes) -> Any:
        """The caller these headers (over stdio: this environment) prove; raises Unauthorized.

        The query is there to be refused: a key in a URL ends up in logs.
        """

    def principal(self, caller: Any) -> str:
        """A stable name of the caller. Sessions are bound to it; it is never sent anywhere."""

    def instructions(self, context: Context) -> str: ...

    def tools(self, context: Context) -> bytes:
        """The JSON array of tool definitions, encoded once per view and role."""

    def mirrored(self, tool: str) -> Sequence[MirroredParameter]: ...

    async def call_tool(
        self, context: Context, name: str, arguments: dict[str, Any]
    ) -> ToolResult | InputRequired:
        """Raises Refused for what the model can act on, UnknownName for a tool that is not there."""

    async def resources(self, context: Context, cursor: str | None) -> Page: ...

    async def resource_templates(self, context: Context, cursor: str | None) -> Page: ...

    async def read_resource(self, context: Context, uri: str) -> Sequence[Any] | InputRequired:
        """The resource's contents; raises ResourceNotFound."""

    async def may_subscribe(self, context: Context, uri: str) -> bool:
        """Asked at every subscription, and again before every single notification."""

    async def prompts(self, context: Context, cursor: str | None) -> Page: ...

    async def get_prompt(
        self, context: Context, name: str, arguments: dict[str, Any]
    ) -> dict[str, Any] | InputRequired:
        """{"messages": [...], "description"?}; raises UnknownName."""

    async def complete(
        self, context: Context, reference: dict[str, Any], argument: dict[str, Any]
    ) -> dict[str, Any]:
        """{"values": [...], "total"?, "hasMore"?}."""
