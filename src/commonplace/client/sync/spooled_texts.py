"""The texts of spooled transcripts, kept even if their agent deletes them while the server is away.

A hard link costs no space, grows with its file, and stays when the agent deletes the file after thirty days. On another
disk it is a copy.
"""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from commonplace.client.sync import spool
from commonplace.client.sync.transcript import Transcript


def spool_transcripts(transcripts: Iterable[Transcript]) -> None:
    """Spool every transcript that is not spooled yet, with its text."""
    spooled = {job.payload.get("kept") for job in spool.list_jobs()}
    for transcript in transcripts:
        with contextlib.suppress(FileNotFoundError):
            held = str(_link_text(transcript.path))
            if held not in spooled:
                payload = {"tool": transcript.tool, "session_id": transcript.session_id, "kept": held}
                named = {"transcript_path": str(transcript.path), "project": transcript.project}
                spool.add_job(spool.TRANSCRIPT, payload | named)


def spooled_text_path(path: Path) -> Path:
    """The path of a transcript's spooled text, whether it exists or not."""
    return spool.spool_folder() / "kept" / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}-{path.name}"


def _link_text(path: Path) -> Path:
    held = spooled_text_path(path)
    held.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_same_text(held, path):
        held.unlink(missing_ok=True)
        try:
            held.hardlink_to(path)
        except FileNotFoundError:
            raise
        except OSError:
            shutil.copy2(path, held)
    return held


def _is_same_text(held: Path, path: Path) -> bool:
    """Whether it is the same file, or an up-to-date copy."""
    if not held.exists():
        return False
    one, other = held.stat(), path.stat()
    return held.samefile(path) or (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)
