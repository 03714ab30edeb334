"""Compares every citation of a project with a checkout and reports the findings to the server."""

import hashlib
import re
import stat
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commonplace.client.verify import definitions, outlines
from commonplace.client.verify.citation import CitedPlace, parse_citation

_MAX_FILE_BYTES = 5_000_000
_MOVED_LINES = 1_000
_MAX_CITED_LINES = 500
_GIT_SECONDS = 10
_DIRECTORY_FINGERPRINT = "directory"
_SENT_LINES = 60
_SENT_CHARACTERS = 6_000
STATES = ("fresh", "drifted", "gone", "unchecked")

CallOperation = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class CitationFinding:
    """`line` is the new first line of cited lines that have moved; `text_before` is from the cited commit."""

    document: str
    place: str
    state: str
    fingerprint: str = ""
    line: int = 0
    text: str = ""
    text_before: str = ""

    def to_report(self, *, with_lines: bool) -> dict[str, str]:
        seen = {"document": self.document, "place": self.place, "state": self.state}
        more = {"fingerprint": self.fingerprint}
        if with_lines:
            more |= {"text": _shorten_lines(self.text), "text_before": _shorten_lines(self.text_before)}
        return seen | {name: value for name, value in more.items() if value}


@dataclass(frozen=True, slots=True)
class _CitationCandidate:
    """`text` is empty for a whole file."""

    fingerprint: str
    line: int = 0
    text: str = ""


_NOTHING = _CitationCandidate("")


@dataclass(frozen=True, slots=True)
class _CitationCandidates:
    """Where the cited text may be now, most likely first; `certain` is False if there may be others."""

    candidates: Sequence[_CitationCandidate] = ()
    certain: bool = True


def verify_citations(
    call: CallOperation,
    root: Path,
    project: str,
    show: Callable[[CitationFinding], None] = lambda _finding: None,
    *,
    with_lines: bool = False,
) -> Counter[str]:
    """Check every citation of the project and report it; returns the number in each state.

    The cited lines themselves are sent only if `with_lines`.
    """
    totals: Counter[str] = Counter()
    cursor: str | None = None
    while True:
        page = call("memory_list_citations", {"project": project} | ({"cursor": cursor} if cursor else {}))
        findings = [check_citation(root, citation) for citation in page.get("citations", [])]
        if findings:
            reports = [finding.to_report(with_lines=with_lines) for finding in findings]
            call("memory_report_citations", {"project": project, "findings": reports})
        for finding in findings:
            show(finding)
        totals.update(finding.state for finding in findings)
        cursor = page.get("next_cursor")
        if cursor is None:
            return totals


def check_citation(root: Path, citation: Mapping[str, Any]) -> CitationFinding:
    """Compare a cited place with its fingerprint from when it was cited or first checked."""
    cited = parse_citation(citation["place"])
    before = _CitationCandidate(citation.get("fingerprint") or "")
    state, candidate, before = _find_citation_state(root, cited, before)
    moved = candidate.line if cited.first and candidate.line != cited.first else 0
    return CitationFinding(
        citation["document"],
        citation["place"],
        state,
        candidate.fingerprint,
        moved,
        candidate.text,
        before.text,
    )


def _find_citation_state(
    root: Path, cited: CitedPlace, before: _CitationCandidate
) -> tuple[str, _CitationCandidate, _CitationCandidate]:
    """The state of a cited place, what is there now, and what was there before."""
    try:
        file = _find_cited_file(root, cited)
        if file is None:
            return "unchecked", _NOTHING, before
        source = b"" if file.is_dir() else file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return "gone", _NOTHING, before
    except OSError:
        return "unchecked", _NOTHING, before
    if file.is_dir():
        known = _CitationCandidate(_DIRECTORY_FINGERPRINT)
        return ("fresh", known, before) if cited.is_whole else ("unchecked", _NOTHING, before)
    if not cited.is_whole and b"\0" in source:
        return "unchecked", _NOTHING, before
    known = before if before.fingerprint else _read_at_commit(root, file, cited)
    return *_compare_fingerprints(cited, source, known.fingerprint), known


def _find_cited_file(root: Path, cited: CitedPlace) -> Path | None:
    """The cited file or folder; None if it is outside of the checkout or too large."""
    if not cited.names_one_file or "\0" in cited.path:
        return None
    try:
        file = (root / cited.path).resolve()
    except RuntimeError:  # a loop of symbolic links
        return None
    if not file.is_relative_to(root.resolve()):
        return None
    seen = file.stat()
    readable = stat.S_ISREG(seen.st_mode) and seen.st_size <= _MAX_FILE_BYTES
    return file if readable or stat.S_ISDIR(seen.st_mode) else None


def _compare_fingerprints(cited: CitedPlace, source: bytes, before: str) -> tuple[str, _CitationCandidate]:
    search = _find_candidates(cited, source)
    if before:
        candidates = (*search.candidates, *_find_moved_lines(cited, source, before))
        same = next((spot for spot in candidates if spot.fingerprint == before), None)
        if same:
            return "fresh", same
    if search.candidates:
        return "drifted" if before else "fresh", search.candidates[0]
    return "gone" if before or search.certain else "unchecked", _NOTHING


def _find_candidates(cited: CitedPlace, source: bytes) -> _CitationCandidates:
    if cited.symbol:
        defined = definitions.find_definitions(cited.path, source, cited.symbol)
        spots = [
            _CitationCandidate(
                _fingerprint_text([definition.text]), definition.line, definition.text.strip("\n")
            )
            for definition in defined.definitions
        ]
        return _CitationCandidates(spots, defined.certain)
    if cited.first:
        lines = _split_source_lines(source)[cited.first - 1 : cited.last]
        return _CitationCandidates(
            [_CitationCandidate(_fingerprint_text(lines), cited.first, "\n".join(lines))] if lines else ()
        )
    if b"\0" in source:
        return _CitationCandidates([_CitationCandidate(hashlib.sha256(source).hexdigest()[:32])])
    return _CitationCandidates([_CitationCandidate(_fingerprint_text([source.decode("utf-8", "replace")]))])


def _find_moved_lines(cited: CitedPlace, source: bytes, before: str) -> Sequence[_CitationCandidate]:
    """The cited lines further up or down, if they occur there once."""
    width = cited.last - cited.first + 1
    if not cited.first or cited.symbol or width > _MAX_CITED_LINES:
        return ()
    lines = _split_source_lines(source)
    nearby = range(
        max(1, cited.first - _MOVED_LINES), min(len(lines) - width + 1, cited.first + _MOVED_LINES) + 1
    )
    windows = ((line, lines[line - 1 : line - 1 + width]) for line in nearby)
    matches = [
        line
        for line, window in windows
        if _fingerprint_text(window) == before and any(re.search(r"\w", line_text) for line_text in window)
    ]
    # Overlapping matches are one text with blank lines around it.
    if not matches or matches[-1] - matches[0] >= width:
        return ()
    first = matches[0]
    return [_CitationCandidate(before, first, "\n".join(lines[first - 1 : first - 1 + width]))]


def _shorten_lines(text: str) -> str:
    return "\n".join(text.splitlines()[:_SENT_LINES])[:_SENT_CHARACTERS]


def _split_source_lines(source: bytes) -> list[str]:
    return outlines.split_lines(source.decode("utf-8", "replace")) if source else []


def _fingerprint_text(texts: Iterable[str]) -> str:
    words = [word for text in texts for word in text.split()]
    return hashlib.sha256(" ".join(words).encode()).hexdigest()[:32]


def _read_at_commit(root: Path, file: Path, cited: CitedPlace) -> _CitationCandidate:
    """What stood there at the cited commit; nothing if git or the commit is missing."""
    if not cited.commit:
        return _NOTHING
    at = f"{cited.commit}:./{file.relative_to(root.resolve()).as_posix()}"
    command = ["git", "-C", str(root), "cat-file", "blob", at]
    try:
        shown = subprocess.run(command, capture_output=True, timeout=_GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return _NOTHING
    if shown.returncode != 0 or len(shown.stdout) > _MAX_FILE_BYTES:
        return _NOTHING
    spots = _find_candidates(cited, shown.stdout).candidates
    return spots[0] if spots else _NOTHING
