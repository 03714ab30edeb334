"""Connect to a server exactly as an agent will, before anything is written: address, key and toolsets."""

import json
from collections.abc import Iterable
from typing import Any

from commonplace import errors
from commonplace.client.link import http_connection, remote
from commonplace.client.link.remote import RemoteServer

_OK = 200
_TIMEOUT_SECONDS = 10
_PROTOCOL_VERSION = "2026-07-28"
_META_PREFIX = "io.modelcontextprotocol"
_FORCE_HINT = "To write the settings anyway, pass --force."
_KEY_HINT = "Pass --key KEY. An owner creates one with: commonplace key create --name NAME --projects '*'"


def require_connections(servers: Iterable[RemoteServer]) -> None:
    """List the tools of each server; raises a refusal that says what is missing unless all of them can be used."""
    for server in dict.fromkeys(servers):
        _list_tools(server)


def _list_tools(server: RemoteServer) -> None:
    headers = [
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"MCP-Protocol-Version: {_PROTOCOL_VERSION}",
        "Mcp-Method: tools/list",
        *server.authorization(),
    ]
    try:
        answer = http_connection.send_request(
            server.url, "POST", server.mcp_path, headers, _build_list_request(), _TIMEOUT_SECONDS
        )
    except (OSError, ValueError) as error:
        raise errors.Unavailable(
            f"{remote.unreachable(server, error)} Nothing was written.",
            hint=f"Start it: commonplace serve. {_FORCE_HINT}",
        ) from None
    reply = _decode_object(answer.body)
    result = reply.get("result")
    if answer.status != _OK or not isinstance(result, dict):
        raise _refuse_answer(server, answer.status, reply)


def is_upload_refused(url: str, secret: str) -> bool:
    """Whether the server refuses the uploader's key, or requires one that is missing.

    The role is checked before the arguments, so a call without any registers nothing.
    """
    try:
        remote.call_operation(RemoteServer(url, secret), "register_workspace", {}, _TIMEOUT_SECONDS)
    except remote.ServerRefusal as refusal:
        return refusal.status in {errors.Unauthenticated.status, errors.Forbidden.status}
    except remote.ServerUnreachable:
        return False
    return False


def _build_list_request() -> bytes:
    meta = {
        f"{_META_PREFIX}/protocolVersion": _PROTOCOL_VERSION,
        f"{_META_PREFIX}/clientInfo": {"name": "commonplace-connect", "version": "1"},
        f"{_META_PREFIX}/clientCapabilities": {},
    }
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    return json.dumps(request).encode()


def _decode_object(body: bytes) -> dict[str, Any]:
    try:
        reply = json.loads(body)
    except ValueError:
        return {}
    return reply if isinstance(reply, dict) else {}


def _refuse_answer(server: RemoteServer, status: int, reply: dict[str, Any]) -> errors.Refusal:
    error = reply.get("error")
    message = error.get("message") if isinstance(error, dict) else reply.get("message")
    text = f"{server.mcp_url} cannot be used: {message or f'HTTP status {status}'} Nothing was written."
    if status == errors.Unauthenticated.status:
        return errors.Unauthenticated(text, hint=_KEY_HINT)
    if status == errors.Forbidden.status:
        return errors.Forbidden(text, hint=_KEY_HINT)
    hint = reply.get("hint") or "Check --url and --toolsets."
    return errors.Invalid(text, hint=f"{hint} {_FORCE_HINT}")
