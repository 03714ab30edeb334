"""`commonplace sync test`: check address, token, clock and permissions."""

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from commonplace import errors
from commonplace.client import light_http, remote
from commonplace.client.sync import agent_transcripts, sync_settings, sync_state, unsent
from commonplace.client.sync.project_of_transcript import TranscriptProjects
from commonplace.client.sync.upload_client import UploadClient
from commonplace.client.sync.workspaces import MachineWorkspaces, machine_name

_TIMEOUT_SECONDS = 10
_MAX_SKEW_SECONDS = 60


@dataclass(frozen=True, slots=True)
class TestFinding:
    what: str
    told: str
    fault: type[errors.Refusal] | None = None


def run_self_test() -> Iterator[TestFinding]:
    """Every finding, good or bad; stops after a fault that makes further checks impossible."""
    yield from _check_home()
    try:
        configured = sync_settings.read_sync_settings()
    except errors.Refusal as refusal:
        yield TestFinding("settings", f"{refusal.message} {refusal.hint}", type(refusal))
        configured = sync_settings.SyncSettings()
    try:
        server = sync_settings.require_sync_server()
    except errors.Refusal as refusal:
        yield TestFinding("address", f"{refusal.message} {refusal.hint}", type(refusal))
        return
    try:
        clock = _check_clock(server)
        yield from (TestFinding("address", f"{server.url} answers"), clock)
        yield from _check_permissions(server, configured)
    except remote.ServerUnreachable as away:
        yield TestFinding("address", str(away), errors.Unavailable)
    yield from _check_transcripts()


def _check_clock(server: remote.RemoteServer) -> TestFinding:
    try:
        date = light_http.send_request(server.url, "GET", "/health", (), b"", _TIMEOUT_SECONDS).header("date")
    except (OSError, ValueError) as error:
        raise remote.unreachable(server, error) from None
    if not date:
        return TestFinding("clock", "the server does not send its time")
    apart = abs(parsedate_to_datetime(date).timestamp() - time.time())
    fault = errors.Invalid if apart > _MAX_SKEW_SECONDS else None
    return TestFinding("clock", f"{apart:.0f} s apart from the server's clock", fault)


def _check_permissions(
    server: remote.RemoteServer, configured: sync_settings.SyncSettings
) -> Iterator[TestFinding]:
    with contextlib.closing(UploadClient(server)) as wire, sync_state.open_state(server.url) as known:
        token = _check_token(wire, server)
        yield token
        if token.fault is None:
            yield from _check_write_access(wire, known, configured)


def _check_token(wire: UploadClient, server: remote.RemoteServer) -> TestFinding:
    try:
        seen = wire.call("list_workspaces", limit=1)
    except remote.ServerRefusal as refused:
        return TestFinding("token", str(refused), type(sync_settings.to_refusal(refused)))
    given = "accepted" if server.key else "not set, and the server requires none"
    return TestFinding("token", f"{given}; {seen.get('total', 0)} workspaces can be read")


def _check_write_access(
    wire: UploadClient, known: sync_state.SyncState, configured: sync_settings.SyncSettings
) -> Iterator[TestFinding]:
    """Whether unsent transcripts may be sent. This registers their workspaces, as a run does first."""
    workspaces = MachineWorkspaces(wire, known, machine_name(remote.read_configuration()))
    belonging = TranscriptProjects(known, configured)
    waiting = [each for each, _ in unsent.list_unsent_transcripts(known, configured)]
    places = {(each.tool, belonging.find_project(each, each.path)) for each in waiting}
    refused = 0
    for tool, project in sorted((tool, project) for tool, project in places if project):
        try:
            workspaces.require_write_access(tool, project)
        except remote.ServerRefusal as refusal:
            refused += 1
            told = f"{project} of {tool}: {refusal} {refusal.body.get('hint', '')}".rstrip()
            yield TestFinding("permissions", told, type(sync_settings.to_refusal(refusal)))
    if places and not refused:
        yield TestFinding("permissions", f"{len(places)} workspaces with unsent transcripts can be written")
    elif not places:
        yield TestFinding("permissions", "nothing to send, so no workspace was tried")


def _check_home() -> Iterator[TestFinding]:
    home, tokens = remote.client_home(), remote.client_home() / "state.db"
    yield TestFinding("machine", machine_name(remote.read_configuration()))
    if os.name == "posix" and tokens.exists() and stat.S_IMODE(tokens.stat().st_mode) & 0o077:
        yield TestFinding("files", f"{tokens} can be read by others: chmod 600 {tokens}", errors.Forbidden)
    elif not os.access(home if home.exists() else home.parent, os.W_OK):
        yield TestFinding("files", f"{home} cannot be written", errors.Forbidden)
    else:
        yield TestFinding("files", f"state is kept in {home}")


def _check_transcripts() -> Iterator[TestFinding]:
    for tool, agent in agent_transcripts.load_all_agent_transcripts().items():
        count = sum(1 for _ in agent.list_transcripts())
        yield TestFinding(tool, f"{count} transcripts in {agent.home()}" if count else "no transcripts here")
