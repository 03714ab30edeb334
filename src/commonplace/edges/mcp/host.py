"""What the protocol asks of the product (`Host`), and one request as the product sees it (`McpContext`).

Nothing here knows HTTP, stdio or rooms. The product's own host is edges/product_host.py.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from commonplace.edges.mcp.messages import (
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    MODERN_VERSIONS,
    Interruption,
    Notification,
    ProtocolError,
    RequestId,
    encode,
)

# A part of the product, and a group of its callers; EVERYONE is whoever may read the resource.
Audience = tuple[str, str]
EVERYONE: Final[Audience] = ("", "")

LOG_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


class ToolView(msgspec.Struct, frozen=True):
    """The tools that the client asked to be shown."""

    toolsets: frozenset[str] | None = None  # None: it did not say; {"all"}: everything the caller may use
    readonly: bool = False


class ClientChannel(Protocol):
    """The way to the client while its request is being served."""

    async def notify(self, notification: Notification) -> None: ...

    async def ask(self, method: str, params: dict[str, Any]) -> Any: ...


class McpContext(msgspec.Struct, kw_only=True):
    """One request as the product sees it."""

    caller: Any  # whoever the transport identified
    view: ToolView
    version: str
    client: str
    headers: Mapping[str, str]  # lower-case names; the environment over stdio
    meta: Mapping[str, Any]  # the request's own _meta
    capabilities: Mapping[str, Any]
    channel: ClientChannel
    connection: tuple[str, ...] = ()  # window ids of the connection, the most specific first
    log_level: str | None = None  # None: the client wants no log messages
    input_responses: Mapping[str, Any] = msgspec.field(default_factory=dict)
    request_state: str | None = None

    @property
    def is_modern(self) -> bool:
        return self.version in MODERN_VERSIONS

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Send a progress notification if the client asked for them."""
        token: RequestId | None = self.meta.get("progressToken")
        if token is None:
            return
        params: dict[str, Any] = {"progressToken": token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        await self.channel.notify(Notification("notifications/progress", params))

    async def send_log(self, level: str, value: Any, logger: str | None = None) -> None:
        if self.log_level is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(self.log_level):
            return
        params = {"level": level, "data": value}
        if logger is not None:
            params["logger"] = logger
        await self.channel.notify(Notification("notifications/message", params))


class ToolCallResult(msgspec.Struct, frozen=True):
    """`text` is ready JSON text; `structured` is ready JSON and belongs only where a program reads it."""

    text: str | bytes = ""
    structured: bytes | None = None
    blocks: Sequence[dict[str, Any]] | None = None  # content that is more than one text; replaces `text`
    failed: bool = False


class InputRequired(msgspec.Struct, frozen=True):
    """The operation needs answers from the client first, and is called again with them.

    `requests` maps a name to {"method", "params"}; the answers come back under the same names in
    `McpContext.input_responses`, and `state` in `McpContext.request_state`. The client can read the state but
    not change it. In the legacy era the server asks the client itself and calls the operation again.
    """

    requests: Mapping[str, dict[str, Any]] = {}
    state: str | None = None


class ListPage(msgspec.Struct, frozen=True):
    """One page of a list; items are JSON values, or `msgspec.Raw` where the JSON is ready."""

    items: Sequence[Any] | msgspec.Raw
    next_cursor: str | None = None


class ToolRefused(Interruption):
    """The tool refuses the call; the model reads why in a failed tool result."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def to_result(self) -> ToolCallResult:
        error = {"code": self.code, "message": self.message}
        if self.hint is not None:
            error["hint"] = self.hint
        return ToolCallResult(text=encode({"error": error}), failed=True)


class ResourceNotFound(Interruption):
    """The resource does not exist, or the caller may not read it."""

    def __init__(self, uri: str) -> None:
        super().__init__(f"Resource not found: {uri}.")
        self.uri = uri


class UnknownName(ProtocolError):
    """The tool, prompt or toolset does not exist, or the caller may not use it."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(INVALID_PARAMS, f"Unknown {kind}: {name}.")


class MissingCapability(ProtocolError):
    """The operation needs input that the client did not declare it can give."""

    def __init__(self, names: Sequence[str]) -> None:
        required: dict[str, Any] = {name: {} for name in names}
        details = {"requiredCapabilities": required}
        super().__init__(MISSING_CAPABILITY, f"The client lacks: {', '.join(names)}.", details)


class Host(Protocol):
    """The product behind the protocol. All arguments come from clients and are unchecked."""

    name: str
    title: str
    version: str

    def principal(self, caller: Any) -> str:
        """A stable name of the caller that sessions are bound to; it is never sent."""

    def instructions(self, context: McpContext) -> str: ...

    def list_tools(self, context: McpContext) -> bytes:
        """The JSON array of tool definitions, encoded once per view and role."""

    async def call_tool(
        self, context: McpContext, name: str, arguments: dict[str, Any]
    ) -> ToolCallResult | InputRequired:
        """Raises ToolRefused for what the model can act on, UnknownName for a missing tool."""

    async def list_resources(self, context: McpContext, cursor: str | None) -> ListPage: ...

    async def list_resource_templates(self, context: McpContext, cursor: str | None) -> ListPage: ...

    async def read_resource(self, context: McpContext, uri: str) -> Sequence[Any] | InputRequired:
        """The resource's contents; raises ResourceNotFound."""

    async def can_subscribe(self, context: McpContext, uri: str) -> bool:
        """Asked at every subscription."""

    async def can_notify(self, context: McpContext, uri: str, audiences: Sequence[Audience]) -> bool:
        """Asked before every notification: may the caller still read it, and is it of one of these audiences?"""

    async def list_prompts(self, context: McpContext, cursor: str | None) -> ListPage: ...

    async def get_prompt(
        self, context: McpContext, name: str, arguments: dict[str, Any]
    ) -> dict[str, Any] | InputRequired:
        """{"messages": [...], "description"?}; raises UnknownName."""

    async def complete_argument(
        self, context: McpContext, reference: dict[str, Any], argument: dict[str, Any]
    ) -> dict[str, Any]:
        """{"values": [...], "total"?, "hasMore"?}."""
