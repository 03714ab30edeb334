"""What has changed on this machine since it was last sent."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

from commonplace.client.link import agent_transcripts
from commonplace.client.link.manifest import Manifest
from commonplace.client.link.project_of_transcript import TranscriptProjects
from commonplace.client.link.sync_settings import SyncSettings
from commonplace.client.link.sync_state import SyncState
from commonplace.client.link.transcript import Transcript, TranscriptStamp


def list_unsent_transcripts(state: SyncState, configured: SyncSettings) -> Iterator[tuple[Transcript, int]]:
    """Every transcript that changed, with about how many bytes are unsent."""
    projects = TranscriptProjects(state, configured)
    for transcript in _make_session_ids_unique(agent_transcripts.list_all_transcripts(configured)):
        try:
            stamp = TranscriptStamp.read_stamp(transcript.path)
        except OSError:
            continue
        archive = state.find_archive(transcript.tool, transcript.archive_id)
        if (
            stamp.size
            and not (archive and archive.matches_file(stamp))
            and not projects.is_excluded(transcript)
        ):
            yield transcript, max(0, stamp.size - (archive.raw_offset if archive else 0))


def list_unsent_files(state: SyncState, tracked: Manifest) -> Iterator[str]:
    """Every tracked file that changed."""
    for local, path in tracked.list_files():
        before = state.find_tracked_digests(tracked.workspace_id, path)
        text = local.read_text(encoding="utf-8", errors="replace")
        if not before or before[0] != hashlib.sha256(text.encode()).hexdigest():
            yield f"{tracked.workspace_id}/{path}"


def _make_session_ids_unique(transcripts: Iterable[Transcript]) -> Iterator[Transcript]:
    """Two files may have the same session id; the second gets a digest of its folder."""
    seen: set[tuple[str, str]] = set()
    for transcript in transcripts:
        key = transcript.tool, transcript.session_id
        if key in seen:
            folder = hashlib.sha256(str(transcript.path.parent).encode()).hexdigest()[:6]
            yield replace(transcript, session_id=f"{transcript.session_id}.{folder}")
        else:
            seen.add(key)
            yield transcript
