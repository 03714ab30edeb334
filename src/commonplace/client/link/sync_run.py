"""One run of sync: tracked files, spooled transcripts, then every transcript that changed."""

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from commonplace import errors
from commonplace.client.link import (
    agent_transcripts,
    manifest,
    remote,
    spool,
    spooled_texts,
    sync_settings,
    sync_state,
    unsent,
)
from commonplace.client.link import (
    transcript as transcripts,
)
from commonplace.client.link.masked_lines import LineMasker
from commonplace.client.link.progress import ByteProgress
from commonplace.client.link.project_of_transcript import TranscriptProjects
from commonplace.client.link.sync_state import SyncState
from commonplace.client.link.tracked_upload import TrackedUpload
from commonplace.client.link.transcript import Transcript, TranscriptStamp
from commonplace.client.link.transcript_routes import TranscriptRoutes
from commonplace.client.link.transcript_upload import TranscriptUpload
from commonplace.client.link.upload_client import UploadClient
from commonplace.client.link.workspaces import MachineWorkspaces, machine_name

_SETTLE_SECONDS = 5
_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class SyncOptions:
    dry_run: bool = False
    raw: bool = False
    spool: bool = False
    seconds: float = math.inf
    """After this time no further transcript is begun."""


@dataclass(slots=True)
class SyncReport:
    """What a run did, or would do."""

    transcripts: int = 0
    bytes: int = 0
    waiting: int = 0
    postponed: int = 0
    """Transcripts that were not begun, because the time was over."""
    files: list[str] = field(default_factory=list)
    masked: Counter[str] = field(default_factory=Counter)
    conflicts: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    forbidden: bool = False
    """Whether one of the failures was a missing permission to write."""
    pending: list[Transcript] = field(default_factory=list)


def run_sync(options: SyncOptions) -> SyncReport:
    server = sync_settings.find_sync_server()
    while True:
        with spool.hold_sync_lock() as alone:
            waiting = _list_spooled_files()
            if not alone:
                raise errors.Conflict("Another sync is running.", hint="It also sends what is spooled.")
            with sync_state.open_state(server and server.url) as state:
                report = _run_or_spool(server, state, options)
        # A process that found the lock held has left its job behind, so look again after the lock is free.
        if not options.spool or not _list_spooled_files() - waiting:
            return report


def _run_or_spool(server: remote.RemoteServer | None, state: SyncState, options: SyncOptions) -> SyncReport:
    """Send to each server what belongs there; what cannot be sent now is spooled."""
    if options.dry_run:
        return _plan_run(state)
    report, masking, ends_at = SyncReport(), LineMasker(raw=options.raw), time.monotonic() + options.seconds
    report.masked = masking.counts
    unreachable: list[str] = []
    for destination, batch in _route_transcripts(server, state, options, report).items():
        if destination is None:
            _spool_unsent(state, [transcript for transcript, _ in batch.transcripts])
            raise sync_settings.unknown_server()
        with sync_state.open_state(destination.url) as own_state:
            try:
                _SyncRun(destination, own_state, report, masking, ends_at).send_batch(batch)
            except remote.ServerUnreachable as error:
                _spool_unsent(own_state, [transcript for transcript, _ in batch.transcripts])
                unreachable.append(str(error))
    if unreachable:
        raise errors.Unavailable(
            " ".join(unreachable), hint="Unsent transcripts are spooled; the next run sends them."
        )
    return report


@dataclass(slots=True)
class _ServerBatch:
    """What a run sends to one server."""

    has_tracked_files: bool = False
    jobs: list[spool.SpoolJob] = field(default_factory=list)
    transcripts: list[tuple[Transcript, int]] = field(default_factory=list)


def _route_transcripts(
    default: remote.RemoteServer | None, state: SyncState, options: SyncOptions, report: SyncReport
) -> dict[remote.RemoteServer | None, _ServerBatch]:
    """What goes to which server; this machine's own comes last if none is known, because nothing can follow it."""
    configured, routes = sync_settings.read_sync_settings(), TranscriptRoutes(default, state)
    batches: dict[remote.RemoteServer | None, _ServerBatch] = {}
    if default is not None:
        batches[default] = _ServerBatch(has_tracked_files=not options.spool)
    for job in spool.list_jobs():
        transcript, text = _transcript_of_job(job, configured)
        with _FailureReport(report, str(transcript.path)):
            server = routes.find_server(transcript, text, _cwd_of_job(job)) if text else default
            batches.setdefault(server, _ServerBatch()).jobs.append(job)
    for transcript, size in [] if options.spool else unsent.list_unsent_transcripts(state, configured):
        with _FailureReport(report, str(transcript.path)):
            server = routes.find_server(transcript, transcript.path)
            batches.setdefault(server, _ServerBatch()).transcripts.append((transcript, size))
    if default is None and (not batches or None in batches):
        batches[None] = batches.pop(None, _ServerBatch())
    return batches


def _plan_run(state: SyncState) -> SyncReport:
    """What a run would send; the server is not called."""
    unsent_transcripts = list(unsent.list_unsent_transcripts(state, sync_settings.read_sync_settings()))
    report = SyncReport(
        pending=[transcript for transcript, _ in unsent_transcripts],
        bytes=sum(size for _, size in unsent_transcripts),
    )
    for path in manifest.list_manifests():
        with _FailureReport(report, str(path)):
            report.files += unsent.list_unsent_files(state, manifest.read_manifest(path))
    return report


def _list_spooled_files() -> set[Path]:
    return {file for job in spool.list_jobs() for file in job.files}


class _SyncRun:
    """Sends one batch to one server."""

    def __init__(
        self,
        server: remote.RemoteServer,
        state: SyncState,
        report: SyncReport,
        masking: LineMasker,
        ends_at: float,
    ) -> None:
        self._state, self._report, self._masking, self._ends_at = state, report, masking, ends_at
        self._client = UploadClient(server)
        self._workspaces = MachineWorkspaces(self._client, state, machine_name(remote.read_configuration()))
        self._projects = TranscriptProjects(state, sync_settings.read_sync_settings())

    def send_batch(self, batch: _ServerBatch) -> None:
        progress = ByteProgress(sum(size for _, size in batch.transcripts))
        upload = TranscriptUpload(self._client, self._state, self._workspaces, self._masking, progress)
        try:
            if batch.has_tracked_files:
                self._send_tracked_files()
            self._send_spooled(upload, batch.jobs)
            for transcript in _sort_newest_first(transcript for transcript, _ in batch.transcripts):
                if time.monotonic() > self._ends_at:
                    self._report.postponed += 1
                else:
                    self._send_transcript(upload, transcript, transcript.path)
        finally:
            progress.close()
            self._client.close()
            self._report.bytes += upload.sent_bytes

    def _send_tracked_files(self) -> None:
        for path in manifest.list_manifests():
            with self._reporting(str(path)):
                self._send_manifest(manifest.read_manifest(path))

    def _send_manifest(self, tracked: manifest.Manifest) -> None:
        triple = tracked.tool, tracked.project, tracked.machine
        workspace, renewed = (
            self._workspaces.find_or_register(*triple),
            partial(self._workspaces.register, *triple),
        )
        upload = TrackedUpload(self._client, self._state, self._masking, workspace, renewed)
        for local, path in tracked.list_files():
            with self._reporting(str(local)):
                upload.send_file(local, path)
        self._report.files += upload.outcome.sent
        self._report.conflicts += upload.outcome.conflicts

    def _send_spooled(self, upload: TranscriptUpload, jobs: Iterable[spool.SpoolJob]) -> None:
        configured = sync_settings.read_sync_settings()
        for job in jobs:
            transcript, text = _transcript_of_job(job, configured)
            if not agent_transcripts.is_wanted(transcript.tool, configured):
                spool.finish_job(job)
            elif text is None:
                self._report_missing(transcript)
                spool.finish_job(job)
            elif self._send_transcript(upload, transcript, text, cwd=_cwd_of_job(job), at_rest=True):
                spool.finish_job(job)

    def _report_missing(self, transcript: Transcript) -> None:
        if transcript.path == agent_transcripts.NOWHERE:
            message = f"{transcript.tool}, session {transcript.session_id}: no transcript found."
            self._report.failures.append(message)
        elif self._state.find_archive(transcript.tool, transcript.archive_id) is None:
            self._report.failures.append(f"{transcript.path}: deleted before it was sent.")

    def _send_transcript(
        self,
        upload: TranscriptUpload,
        transcript: Transcript,
        text: Path,
        *,
        cwd: str = "",
        at_rest: bool = False,
    ) -> bool:
        """Send one transcript; return whether nothing of it is left to send for now."""
        with self._reporting(str(transcript.path)):
            project = self._projects.find_project(transcript, text, cwd)
            if project is None:
                return True
            if at_rest:
                _wait_until_quiet(text)
            status = upload.send_new_lines(transcript, project, text, at_rest=at_rest)
            self._report.transcripts += status == "sent"
            self._report.waiting += status == "waiting"
            return status != "waiting"
        return False

    def _reporting(self, what: str) -> "_FailureReport":
        return _FailureReport(self._report, what)


def _sort_newest_first(transcripts: Iterable[Transcript]) -> list[Transcript]:
    """What a person asks for first is what they did last."""

    def changed_at(transcript: Transcript) -> int:
        try:
            return TranscriptStamp.read_stamp(transcript.path).changed_ns
        except OSError:
            return 0

    return sorted(transcripts, key=changed_at, reverse=True)


_REPORTED_FAULTS = (
    remote.ServerRefusal,
    remote.ServerUnknown,
    errors.Invalid,
    OSError,
    transcripts.UnreadableTranscript,
)


class _FailureReport:
    """Reports a failure with one file and continues; an unreachable server or a wrong token ends the run."""

    def __init__(self, report: SyncReport, what: str) -> None:
        self._report, self._what = report, what

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, fault: BaseException | None, _trace: object) -> bool:
        if isinstance(fault, remote.ServerRefusal) and fault.status == errors.Unauthenticated.status:
            raise sync_settings.to_refusal(fault) from None
        if isinstance(fault, _REPORTED_FAULTS):
            self._report.failures.append(f"{self._what}: {_format_fault(fault)}")
            self._report.forbidden |= getattr(fault, "status", 0) == errors.Forbidden.status
            return True
        return False


def _format_fault(fault: Exception) -> str:
    hint = fault.body.get("hint") if isinstance(fault, remote.ServerRefusal) else getattr(fault, "hint", None)
    return f"{fault} {hint}" if hint else str(fault)


def _spool_unsent(state: SyncState, transcripts: Sequence[Transcript]) -> None:
    """Spool the unsent transcripts, or those that hooks have spooled, with their texts until a server runs."""
    configured = sync_settings.read_sync_settings()
    projects = TranscriptProjects(state, configured)
    spooled_texts.spool_transcripts(
        _name_projects(
            projects, [(transcript, "") for transcript in transcripts] or _list_waiting(configured)
        )
    )


def _name_projects(
    projects: TranscriptProjects, transcripts: Iterable[tuple[Transcript, str]]
) -> Iterator[Transcript]:
    """Each transcript with its project, because the folder may be gone later."""
    for transcript, cwd in transcripts:
        if project := projects.find_project(transcript, transcript.path, cwd):
            yield replace(transcript, project=project)


def _transcript_of_job(
    job: spool.SpoolJob, configured: sync_settings.SyncSettings
) -> tuple[Transcript, Path | None]:
    """The transcript of a job and the path of its text; None if its agent deleted it unsent."""
    path, tool, session = (
        str(job.payload.get(key) or "") for key in ("transcript_path", "tool", "session_id")
    )
    tool = agent_transcripts.canonical_tool(tool or agent_transcripts.tool_of_path(Path(path)) or "agent")
    located = (
        agent_transcripts.build_transcript(tool, Path(path), session, configured)
        if path
        else agent_transcripts.find_by_session(tool, session)
    )
    transcript = replace(located, project=str(job.payload.get("project") or located.project))
    return transcript, next(
        (text for text in (located.path, spooled_texts.spooled_text_path(located.path)) if text.is_file()),
        None,
    )


def _list_waiting(configured: sync_settings.SyncSettings) -> list[tuple[Transcript, str]]:
    spooled = [(*_transcript_of_job(job, configured), _cwd_of_job(job)) for job in spool.list_jobs()]
    wanted = [job for job in spooled if agent_transcripts.is_wanted(job[0].tool, configured)]
    return [(transcript, cwd) for transcript, text, cwd in wanted if text == transcript.path]


def _cwd_of_job(job: spool.SpoolJob) -> str:
    return str(job.payload.get("cwd") or "")


def _wait_until_quiet(path: Path) -> None:
    """An agent may write its last lines right after its stop event."""
    until = time.monotonic() + _SETTLE_SECONDS
    while path.is_file() and TranscriptStamp.read_stamp(path).is_being_written and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
