"""What changed on this machine since it was sent."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

from commonplace.client.sync import agent_transcripts
from commonplace.client.sync.belonging import Belonging
from commonplace.client.sync.manifest import Manifest
from commonplace.client.sync.settings import Sync
from commonplace.client.sync.source import Stamp
from commonplace.client.sync.state import State
from commonplace.client.sync.transcript import Transcript


def transcripts(known: State, configured: Sync) -> Iterator[tuple[Transcript, int]]:
    """Every transcript that changed, and about how much of it is unsent."""
    belonging = Belonging(known, configured)
    for transcript in _distinct(agent_transcripts.list_transcripts(configured)):
        try:
            stamp = Stamp.of(transcript.path)
        except OSError:
            continue
        archive = known.archive(transcript.tool, transcript.archive_id)
        if stamp.size and not (archive and archive.is_of(stamp)) and not belonging.leaves_out(transcript):
            yield transcript, max(0, stamp.size - (archive.raw_offset if archive else 0))


def files(known: State, tracked: Manifest) -> Iterator[str]:
    """Every tracked file that changed."""
    for local, path in tracked.files():
        before = known.knowledge(tracked.workspace_id, path)
        text = local.read_text(encoding="utf-8", errors="replace")
        if not before or before[0] != hashlib.sha256(text.encode()).hexdigest():
            yield f"{tracked.workspace_id}/{path}"


def _distinct(transcripts: Iterable[Transcript]) -> Iterator[Transcript]:
    """Two files may claim one session; the second is told apart by its folder."""
    seen: set[tuple[str, str]] = set()
    for transcript in transcripts:
        key = transcript.tool, transcript.session_id
        if key in seen:
            folder = hashlib.sha256(str(transcript.path.parent).encode()).hexdigest()[:6]
            yield replace(transcript, session_id=f"{transcript.session_id}.{folder}")
        else:
            seen.add(key)
            yield transcript
