"""One archived session and the limits on its size."""

from dataclasses import dataclass

MAX_SESSION_BYTES = 256 * 1024 * 1024
MAX_PART_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ArchivedSession:
    """One session's transcript. `lines` counts newlines; `line_start` is where the unfinished last line begins."""

    project: str
    workspace: str
    session: str
    tool: str
    title: str
    bytes: int
    lines: int
    line_start: int
    compressed_bytes: int
    sha256: str
    started_at: int
    ended_at: int
    created_at: int
    updated_at: int
    masking_version: int = 0
    """The version of the rules that every complete line was masked with; 0 if some lines are as they were sent."""
    masked_lines: int = 0
    """How many stored lines differ from those that were sent."""
    row_hash: int | None = None
    """Of the stored row, as it was read (`store/row_hashes.py`)."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.project, self.workspace, self.session

    @property
    def total_lines(self) -> int:
        return self.lines + (self.line_start < self.bytes)
