"""Is there a server, is it this version, does it know our key, and is its clock ours?"""

import json
import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from commonplace import __version__
from commonplace.client.doctor.finding import Finding, format_duration
from commonplace.client.install import client_config, connection_test
from commonplace.client.link import http_connection, remote
from commonplace.client.link.remote import RemoteServer

_TIMEOUT_SECONDS = 5
_MAX_SKEW_SECONDS = 30
_OK = 200
_UNAUTHENTICATED = 401
_START = "commonplace serve"
_DEFAULT_PORT = 8080


def check_server(server: RemoteServer, named_by: str) -> Iterator[Finding]:
    """Stops after the first finding that makes the others impossible."""
    try:
        answer = http_connection.send_request(server.url, "GET", "/health", (), b"", _TIMEOUT_SECONDS)
    except (OSError, ValueError) as error:
        message = f"{remote.unreachable(server, error)} It is named by {named_by}."
        yield Finding("server", "problem", message, _name_start_command(server.url))
        return
    health = _decode_object(answer.body)
    if answer.status != _OK:
        message = health.get("message") or f"HTTP status {answer.status}"
        yield Finding("server", "problem", f"{server.url} answers: {message}", "See the server's log.")
        return
    version = health.get("version", "")
    if warning := health.get("message"):
        yield Finding("server", "warning", f"{server.url} answers: {warning}", "See the server's log.")
    yield Finding("server", "ok", f"{server.url}, version {version}, named by {named_by}")
    if version and version != __version__:
        yield Finding(
            "version",
            "warning",
            f"the server has version {version}, this program {__version__}",
            "Upgrade the older one: uv tool upgrade commonplace-mcp, or git pull && make setup",
        )
    yield _check_clock(answer.headers.get("date", ""))


def _name_start_command(url: str) -> str:
    """Start it again at the same address, where that is on this machine."""
    parts = urlsplit(url)
    if not remote.is_local_url(url):
        return f"Start it on {parts.hostname}, or use another: commonplace install --url URL --key KEY"
    return _START if parts.port in (None, _DEFAULT_PORT) else f"{_START} --port {parts.port}"


def _check_clock(date: str) -> Finding:
    if not date:
        return Finding("clock", "ok", "the server does not send its time")
    apart = abs(parsedate_to_datetime(date).timestamp() - time.time())
    if apart > _MAX_SKEW_SECONDS:
        message = f"this clock and the server's are {format_duration(apart)} apart"
        return Finding("clock", "warning", message, "timedatectl set-ntp true")
    return Finding("clock", "ok", "this clock and the server's agree")


def check_key(server: RemoteServer) -> Iterator[Finding]:
    try:
        status = remote.call_operation(server, "memory_admin", {"action": "auth_status"}, _TIMEOUT_SECONDS)
    except remote.ServerUnreachable as error:
        yield Finding("key", "problem", str(error), _START)
        return
    except remote.ServerRefusal as refused:
        reason = "Our key is not known there." if server.key else "No key is set here."
        message = f"{refused} {reason}" if refused.status == _UNAUTHENTICATED else str(refused)
        yield Finding("key", "problem", message, "commonplace connect AGENT --url URL --key KEY")
        return
    projects = status.get("projects", [])
    scope = "all projects" if "*" in projects else ", ".join(projects) or "no project"
    yield Finding("key", "ok", f"{status['role']}; {scope}; keys {status['auth']}")


def check_upload_key(server: RemoteServer) -> Iterator[Finding]:
    """May the uploader's key, or the agents' where it has none, send transcripts?"""
    token = client_config.read_sync_token(server)
    if connection_test.is_upload_refused(server.url, token):
        create = "commonplace key create --name NAME --projects '*'"
        message = "the server refuses transcripts with the key of `commonplace sync`"
        yield Finding(
            "sync", "warning", message, f"{create}, by an owner; then: commonplace install --key KEY"
        )
    else:
        yield Finding("sync", "ok", "the server accepts transcripts with the key of `commonplace sync`")


def _decode_object(body: bytes) -> dict[str, str]:
    try:
        reply = json.loads(body)
    except ValueError:
        return {}
    return reply if isinstance(reply, dict) else {}
