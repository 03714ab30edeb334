"""One run: tracked files, what is spooled, then every transcript that changed."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from commonplace import errors
from commonplace.client import remote
from commonplace.client.sync import agent_transcripts, kept, manifest, pending, settings, source, spool, state
from commonplace.client.sync.belonging import Belonging
from commonplace.client.sync.knowledge import Knowledge
from commonplace.client.sync.lines import Masking
from commonplace.client.sync.progress import Progress
from commonplace.client.sync.sending import Sending
from commonplace.client.sync.source import Stamp
from commonplace.client.sync.state import State
from commonplace.client.sync.transcript import Transcript
from commonplace.client.sync.upload import UploadClient
from commonplace.client.sync.workspaces import Workspaces, machine

_SETTLE_SECONDS = 5
_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Options:
    dry_run: bool = False
    raw: bool = False
    spool: bool = False


@dataclass(slots=True)
class Report:
    """What a run did, or would do."""

    transcripts: int = 0
    bytes: int = 0
    waiting: int = 0
    files: list[str] = field(default_factory=list)
    masked: Counter[str] = field(default_factory=Counter)
    conflicts: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    forbidden: bool = False
    """One of the failures is that this key may not write there."""
    pending: list[Transcript] = field(default_factory=list)


def run(options: Options) -> Report:
    server = settings.known_server()
    while True:
        with spool.alone() as alone:
            waiting = _spooled_files()
            if not alone:
                raise errors.Conflict("Another sync is running.", hint="It sends what is spooled, too.")
            with state.opened(server and server.url) as known:
                report = _reported(server, known, options)
        # Whoever came while the lock was held went away again, so its job is looked for after the lock is free.
        if not options.spool or not _spooled_files() - waiting:
            return report


def _reported(server: remote.RemoteServer | None, known: State, options: Options) -> Report:
    if options.dry_run:
        return _planned(known)
    if server is None:
        found = [] if options.spool else list(pending.transcripts(known, settings.sync()))
        _keep(known, [transcript for transcript, _ in found])
        raise settings.unknown()
    return _Run(server, known, options).all()


def _planned(known: State) -> Report:
    """What a run would look at; nothing is asked of the server."""
    found = list(pending.transcripts(known, settings.sync()))
    report = Report(pending=[transcript for transcript, _ in found], bytes=sum(size for _, size in found))
    for path in manifest.every():
        with _Told(report, str(path)):
            report.files += pending.files(known, manifest.read(path))
    return report


def _spooled_files() -> set[Path]:
    return {file for job in spool.jobs() for file in job.files}


class _Run:
    def __init__(self, server: remote.RemoteServer, known: State, options: Options) -> None:
        self._known, self._options = known, options
        self._wire = UploadClient(server)
        self._masking = Masking(raw=options.raw)
        self._workspaces = Workspaces(self._wire, known, machine(remote.read_configuration()))
        self._belonging = Belonging(known, settings.sync())
        self._report = Report(masked=self._masking.counts)

    def all(self) -> Report:
        found = [] if self._options.spool else list(pending.transcripts(self._known, settings.sync()))
        progress = Progress(sum(size for _, size in found))
        sending = Sending(self._wire, self._known, self._workspaces, self._masking, progress)
        try:
            if not self._options.spool:
                self._tracked()
            self._spooled(sending)
            for transcript, _ in found:
                self._one(sending, transcript, transcript.path)
        except remote.ServerUnreachable as away:
            _keep(self._known, [transcript for transcript, _ in found])
            raise errors.Unavailable(
                str(away), hint="What was to be sent is spooled; the next run sends it."
            ) from None
        finally:
            progress.close()
            self._wire.close()
            self._report.bytes = sending.sent_bytes
        return self._report

    def _tracked(self) -> None:
        for path in manifest.every():
            with self._told(str(path)):
                self._files(manifest.read(path))

    def _files(self, tracked: manifest.Manifest) -> None:
        triple = tracked.tool, tracked.project, tracked.machine
        workspace, renewed = self._workspaces.of(*triple), partial(self._workspaces.registered, *triple)
        knowledge = Knowledge(self._wire, self._known, self._masking, workspace, renewed)
        for local, path in tracked.files():
            with self._told(str(local)):
                knowledge.send(local, path)
        self._report.files += knowledge.outcome.sent
        self._report.conflicts += knowledge.outcome.conflicts

    def _spooled(self, sending: Sending) -> None:
        configured = settings.sync()
        for job in spool.jobs():
            transcript, text = _of(job, configured)
            if not agent_transcripts.is_wanted(transcript.tool, configured):
                spool.done(job)
            elif text is None:
                self._gone(transcript)
                spool.done(job)
            elif self._one(sending, transcript, text, cwd=_cwd(job), at_rest=True):
                spool.done(job)

    def _gone(self, transcript: Transcript) -> None:
        if transcript.path == agent_transcripts.NOWHERE:
            told = f"{transcript.tool}, session {transcript.session_id}: there is no transcript of it."
            self._report.failures.append(told)
        elif self._known.archive(transcript.tool, transcript.archive_id) is None:
            self._report.failures.append(f"{transcript.path}: it was deleted before it was sent.")

    def _one(
        self, sending: Sending, transcript: Transcript, text: Path, *, cwd: str = "", at_rest: bool = False
    ) -> bool:
        """Whether nothing of it is left to send for now."""
        with self._told(str(transcript.path)):
            project = self._belonging.project(transcript, text, cwd)
            if project is None:
                return True
            if at_rest:
                _let_settle(text)
            status = sending.send(transcript, project, text, at_rest=at_rest)
            self._report.transcripts += status == "sent"
            self._report.waiting += status == "waiting"
            return status != "waiting"
        return False

    def _told(self, what: str) -> "_Told":
        return _Told(self._report, what)


class _Told:
    """One file's trouble is reported and the run goes on; a server that is away, or a wrong token, ends it."""

    def __init__(self, report: Report, what: str) -> None:
        self._report, self._what = report, what

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, fault: BaseException | None, _trace: object) -> bool:
        if isinstance(fault, remote.ServerRefusal) and fault.status == errors.Unauthenticated.status:
            raise settings.refusal(fault) from None
        if isinstance(fault, remote.ServerRefusal | errors.Invalid | OSError | source.Unreadable):
            self._report.failures.append(f"{self._what}: {_in_words(fault)}")
            self._report.forbidden |= getattr(fault, "status", 0) == errors.Forbidden.status
            return True
        return False


def _in_words(fault: Exception) -> str:
    hint = fault.body.get("hint") if isinstance(fault, remote.ServerRefusal) else getattr(fault, "hint", None)
    return f"{fault} {hint}" if hint else str(fault)


def _keep(known: State, found: Sequence[Transcript]) -> None:
    """Hold on to what is unsent, else to what hooks have handed over, until there is a server."""
    configured = settings.sync()
    belonging = Belonging(known, configured)
    kept.keep(_named(belonging, [(transcript, "") for transcript in found] or _waiting(configured)))


def _named(belonging: Belonging, transcripts: Iterable[tuple[Transcript, str]]) -> Iterator[Transcript]:
    """Each with its project, which may be hard to tell when its folder is gone."""
    for transcript, cwd in transcripts:
        if project := belonging.project(transcript, transcript.path, cwd):
            yield replace(transcript, project=project)


def _of(job: spool.Job, configured: settings.Sync) -> tuple[Transcript, Path | None]:
    """The transcript of a job, and where its text is; nowhere if its agent deleted it unsent."""
    named, tool, session = (
        str(job.payload.get(key) or "") for key in ("transcript_path", "tool", "session_id")
    )
    tool = agent_transcripts.canonical_tool(tool or agent_transcripts.tool_of_path(Path(named)) or "agent")
    found = (
        agent_transcripts.transcript_at(tool, Path(named), session, configured)
        if named
        else agent_transcripts.find_by_session(tool, session)
    )
    transcript = replace(found, project=str(job.payload.get("project") or found.project))
    return transcript, next((text for text in (found.path, kept.place(found.path)) if text.is_file()), None)


def _waiting(configured: settings.Sync) -> list[tuple[Transcript, str]]:
    found = [(*_of(job, configured), _cwd(job)) for job in spool.jobs()]
    wanted = [each for each in found if agent_transcripts.is_wanted(each[0].tool, configured)]
    return [(transcript, cwd) for transcript, text, cwd in wanted if text == transcript.path]


def _cwd(job: spool.Job) -> str:
    return str(job.payload.get("cwd") or "")


def _let_settle(path: Path) -> None:
    """An agent's last words may come right after it said that it stopped."""
    until = time.monotonic() + _SETTLE_SECONDS
    while path.is_file() and Stamp.of(path).moving and time.monotonic() < until:
        time.sleep(_POLL_SECONDS)
