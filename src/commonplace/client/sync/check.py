"""`commonplace sync test`: address, token, clock and permissions, in words."""

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from commonplace import errors
from commonplace.client import light_http, remote
from commonplace.client.sync import agent_transcripts, pending, settings, state
from commonplace.client.sync.belonging import Belonging
from commonplace.client.sync.upload import UploadClient
from commonplace.client.sync.workspaces import Workspaces, machine

_SECONDS = 10
_SKEW_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Finding:
    what: str
    told: str
    fault: type[errors.Refusal] | None = None


def findings() -> Iterator[Finding]:
    """What is as it should be and what is not; after a fault that hides the rest it ends."""
    yield from _home()
    try:
        configured = settings.sync()
    except errors.Refusal as refusal:
        yield Finding("settings", f"{refusal.message} {refusal.hint}", type(refusal))
        configured = settings.Sync()
    try:
        server = settings.server()
    except errors.Refusal as refusal:
        yield Finding("address", f"{refusal.message} {refusal.hint}", type(refusal))
        return
    try:
        clock = _clock(server)
        yield from (Finding("address", f"{server.url} answers"), clock)
        yield from _permissions(server, configured)
    except remote.ServerUnreachable as away:
        yield Finding("address", str(away), errors.Unavailable)
    yield from _transcripts()


def _clock(server: remote.RemoteServer) -> Finding:
    try:
        date = light_http.send_request(server.url, "GET", "/health", (), b"", _SECONDS).header("date")
    except (OSError, ValueError) as error:
        raise remote.unreachable(server, error) from None
    if not date:
        return Finding("clock", "the server does not send its time")
    apart = abs(parsedate_to_datetime(date).timestamp() - time.time())
    fault = errors.Invalid if apart > _SKEW_SECONDS else None
    return Finding("clock", f"{apart:.0f} s apart from the server's", fault)


def _permissions(server: remote.RemoteServer, configured: settings.Sync) -> Iterator[Finding]:
    with contextlib.closing(UploadClient(server)) as wire, state.opened(server.url) as known:
        token = _token(wire, server)
        yield token
        if token.fault is None:
            yield from _writing(wire, known, configured)


def _token(wire: UploadClient, server: remote.RemoteServer) -> Finding:
    try:
        seen = wire.call("list_workspaces", limit=1)
    except remote.ServerRefusal as refused:
        return Finding("token", str(refused), type(settings.refusal(refused)))
    given = "accepted" if server.key else "none is set, and the server asks for none"
    return Finding("token", f"{given}; {seen.get('total', 0)} workspaces can be read")


def _writing(wire: UploadClient, known: state.State, configured: settings.Sync) -> Iterator[Finding]:
    """Whether what waits may be sent. Only its workspaces tell, so they are registered, as a run does first."""
    workspaces = Workspaces(wire, known, machine(remote.read_configuration()))
    belonging = Belonging(known, configured)
    waiting = [each for each, _ in pending.transcripts(known, configured)]
    places = {(each.tool, belonging.project(each, each.path)) for each in waiting}
    refused = 0
    for tool, project in sorted((tool, project) for tool, project in places if project):
        try:
            workspaces.checked(tool, project)
        except remote.ServerRefusal as refusal:
            refused += 1
            told = f"{project} of {tool}: {refusal} {refusal.body.get('hint', '')}".rstrip()
            yield Finding("permissions", told, type(settings.refusal(refusal)))
    if places and not refused:
        yield Finding("permissions", f"{len(places)} workspaces that wait for transcripts can be written")
    elif not places:
        yield Finding("permissions", "nothing waits to be sent, so none was tried")


def _home() -> Iterator[Finding]:
    home, tokens = remote.client_home(), remote.client_home() / "state.db"
    yield Finding("machine", machine(remote.read_configuration()))
    if os.name == "posix" and tokens.exists() and stat.S_IMODE(tokens.stat().st_mode) & 0o077:
        yield Finding("files", f"{tokens} can be read by others: chmod 600 {tokens}", errors.Forbidden)
    elif not os.access(home if home.exists() else home.parent, os.W_OK):
        yield Finding("files", f"{home} cannot be written", errors.Forbidden)
    else:
        yield Finding("files", f"state is kept in {home}")


def _transcripts() -> Iterator[Finding]:
    for tool, agent in agent_transcripts.load_all_agent_transcripts().items():
        count = sum(1 for _ in agent.list_transcripts())
        yield Finding(tool, f"{count} transcripts in {agent.home()}" if count else "no transcripts here")
