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

from commonplace.client.link import spool
from commonplace.client.link.transcript import Transcript


def spool_transcripts(transcripts: Iterable[Transcript]) -> None:
    """Spool every transcript that is not spooled yet, with its text."""
    spooled = {job.payload.get("kept") for job in spool.list_jobs()}
    for transcript in transcripts:
        with contextlib.suppress(FileNotFoundError):
            spooled_text = str(_link_text(transcript.path))
            if spooled_text not in spooled:
                payload = {"tool": transcript.tool, "session_id": transcript.session_id, "kept": spooled_text}
                source = {"transcript_path": str(transcript.path), "project": transcript.project}
                spool.add_job(spool.TRANSCRIPT, payload | source)


def spooled_text_path(path: Path) -> Path:
    """The path of a transcript's spooled text, whether it exists or not."""
    return spool.spool_folder() / "kept" / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}-{path.name}"


def _link_text(path: Path) -> Path:
    spooled_text = spooled_text_path(path)
    spooled_text.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_same_text(spooled_text, path):
        spooled_text.unlink(missing_ok=True)
        try:
            spooled_text.hardlink_to(path)
        except FileNotFoundError:
            raise
        except OSError:
            shutil.copy2(path, spooled_text)
    return spooled_text


def _is_same_text(spooled_text: Path, path: Path) -> bool:
    """Whether it is the same file, or an up-to-date copy."""
    if not spooled_text.exists():
        return False
    one, other = spooled_text.stat(), path.stat()
    return spooled_text.samefile(path) or (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)
