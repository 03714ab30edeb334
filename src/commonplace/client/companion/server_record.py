"""What the hooks of this user remember of a server: how long it takes to answer, and whether it is away.

All hook processes share it, in COMMONPLACE_HOME/servers, so that a server that does not answer costs one of them its
time once a minute, and not each of them at each edit. How long a hook waits is decided in `deadlines.py`.
"""

import os
import time
import zlib
from pathlib import Path

from commonplace.client.link import remote

RETRY_SECONDS = 60.0
_MAX_SAMPLES = 20
_MAX_SAMPLE_SECONDS = 3.0
_QUANTILE = 0.8
_MAX_FILES = 100
_FAST_SECONDS = 0.05
"""Quicker answers are recorded only if there was a slower one, so that hooks beside a local server write nothing."""


class ServerRecord:
    def __init__(self, url: str) -> None:
        folder = remote.client_home() / "servers"
        name = f"{zlib.crc32(url.encode()):08x}"
        self._answers = folder / f"{name}.answers"
        self._away = folder / f"{name}.away"

    def claim_attempt(self) -> bool:
        """Whether to call the server: always while it answers, else one process in RETRY_SECONDS."""
        try:
            failed_at = self._away.stat().st_mtime_ns
        except OSError:
            return True
        if time.time() - failed_at / 1e9 < RETRY_SECONDS:
            return False
        return self._claim_retry(failed_at)

    def _claim_retry(self, failed_at: int) -> bool:
        """True for one process per failure; a claim that was abandoned counts as a further failure."""
        claim = self._away.with_suffix(f".{failed_at}.claim")
        try:
            os.close(os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            try:
                is_abandoned = time.time() - claim.stat().st_mtime > RETRY_SECONDS
            except FileNotFoundError:
                is_abandoned = False
            if is_abandoned:
                self.record_failure()
            return False
        except OSError:
            return True
        return True

    def record_failure(self) -> None:
        """Do not call the server for RETRY_SECONDS."""
        try:
            self._away.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_text(self._away, "")
            os.utime(self._away)
            self._delete_claims()
        except OSError:
            return

    def record_answer(self, seconds: float) -> None:
        """The server answered after this time."""
        if self._away.exists():
            self._away.unlink(missing_ok=True)
            self._delete_claims()
        if seconds > _FAST_SECONDS or self._answers.exists():
            self.record_sample(seconds)

    def record_sample(self, seconds: float) -> None:
        """One more measured time; a timeout counts with the time that was waited, so that the next limit is longer."""
        samples = [*self._read_samples(), min(seconds, _MAX_SAMPLE_SECONDS)][-_MAX_SAMPLES:]
        try:
            self._answers.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = self._answers.with_suffix(f".{os.getpid()}.part")
            _write_text(temporary, "\n".join(f"{sample:.3f}" for sample in samples))
            temporary.replace(self._answers)
            _delete_oldest_files(self._answers.parent)
        except OSError:
            return

    def answer_seconds(self) -> float | None:
        """The time that four of five answers took at most, so that a single slow one changes little."""
        samples = sorted(self._read_samples())
        return samples[int(_QUANTILE * (len(samples) - 1))] if samples else None

    def _read_samples(self) -> list[float]:
        try:
            lines = self._answers.read_text(encoding="ascii").split()
            return [float(line) for line in lines[-_MAX_SAMPLES:]]
        except (OSError, ValueError):
            return []

    def _delete_claims(self) -> None:
        for claim in self._away.parent.glob(f"{self._away.stem}.*.claim"):
            claim.unlink(missing_ok=True)


def _delete_oldest_files(folder: Path) -> None:
    """Servers come and go; keep the records of the latest."""
    files = list(folder.iterdir())
    if len(files) > _MAX_FILES:
        by_age = sorted(files, key=lambda file: file.stat().st_mtime)
        for file in by_age[: len(files) - _MAX_FILES]:
            file.unlink(missing_ok=True)


def _write_text(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "wb", buffering=0) as file:  # noqa: PTH123 - of a descriptor
        file.write(text.encode("ascii"))
