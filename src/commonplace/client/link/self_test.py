"""`commonplace sync test`: check address, token, clock and permissions."""

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from commonplace import errors
from commonplace.client.link import (
    agent_transcripts,
    http_connection,
    remote,
    sync_settings,
    sync_state,
    unsent,
)
from commonplace.client.link.project_of_transcript import TranscriptProjects
from commonplace.client.link.upload_client import UploadClient
from commonplace.client.link.workspaces import MachineWorkspaces, machine_name

_TIMEOUT_SECONDS = 10
_MAX_SKEW_SECONDS = 60


@dataclass(frozen=True, slots=True)
class TestFinding:
    subject: str
    message: str
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
    except remote.ServerUnreachable as error:
        yield TestFinding("address", str(error), errors.Unavailable)
    yield from _check_transcripts()


def _check_clock(server: remote.RemoteServer) -> TestFinding:
    try:
        date = http_connection.send_request(
            server.url, "GET", "/health", (), b"", _TIMEOUT_SECONDS
        ).headers.get("date", "")
    except (OSError, ValueError) as error:
        raise remote.unreachable(server, error) from None
    if not date:
        return TestFinding("clock", "the server does not send its time")
    apart = abs(parsedate_to_datetime(date).timestamp() - time.time())
    fault = errors.Invalid if apart > _MAX_SKEW_SECONDS else None
    return TestFinding("clock", f"{apart:.0f} s difference from the server's clock", fault)


def _check_permissions(
    server: remote.RemoteServer, configured: sync_settings.SyncSettings
) -> Iterator[TestFinding]:
    with contextlib.closing(UploadClient(server)) as client, sync_state.open_state(server.url) as state:
        token = _check_token(client, server)
        yield token
        if token.fault is None:
            yield from _check_write_access(client, state, configured)


def _check_token(client: UploadClient, server: remote.RemoteServer) -> TestFinding:
    try:
        listing = client.call("list_workspaces", limit=1)
    except remote.ServerRefusal as refused:
        return TestFinding("token", str(refused), type(sync_settings.to_refusal(refused)))
    token = "accepted" if server.key else "not set, and the server requires none"
    return TestFinding("token", f"{token}; {listing.get('total', 0)} workspaces can be read")


def _check_write_access(
    client: UploadClient, state: sync_state.SyncState, configured: sync_settings.SyncSettings
) -> Iterator[TestFinding]:
    """Whether unsent transcripts may be sent. This registers their workspaces, as a run does first."""
    workspaces = MachineWorkspaces(client, state, machine_name(remote.read_configuration()))
    projects = TranscriptProjects(state, configured)
    waiting = [transcript for transcript, _ in unsent.list_unsent_transcripts(state, configured)]
    destinations = {
        (transcript.tool, projects.find_project(transcript, transcript.path)) for transcript in waiting
    }
    refused = 0
    for tool, project in sorted((tool, project) for tool, project in destinations if project):
        try:
            workspaces.require_write_access(tool, project)
        except remote.ServerRefusal as refusal:
            refused += 1
            message = f"{project} of {tool}: {refusal} {refusal.body.get('hint', '')}".rstrip()
            yield TestFinding("permissions", message, type(sync_settings.to_refusal(refusal)))
    if destinations and not refused:
        yield TestFinding(
            "permissions", f"{len(destinations)} workspaces with unsent transcripts can be written"
        )
    elif not destinations:
        yield TestFinding("permissions", "nothing to send, so no workspace was checked")


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
