"""Proposals of rules: what people denied at least twice, in the transcripts of this machine. Nothing is set."""

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.client.agents import AGENTS_WITH_TRANSCRIPTS, load_transcripts
from commonplace.client.project import find_repository
from commonplace.rules.shell_line import split_line
from commonplace.transcripts.ended_calls import DeniedCall, list_denied_calls

MIN_DENIALS = 2
_SKIPPED_PROGRAMS = frozenset({"", "cd", "echo", "export", "set", "source", "true", "pwd"})
_SUBCOMMAND = re.compile(r"[a-z][a-z-]+")
_NOT_NAME = re.compile(r"[^a-z0-9]+")


class Proposal(NamedTuple):
    times: int
    name: str
    enforce: dict[str, Any]
    example: str


class _Shape(NamedTuple):
    """What denials have in common: a program with its subcommand, or a path."""

    command: str = ""
    path: str = ""


def list_proposals(days: int, root: Path | None) -> list[Proposal]:
    """What was denied in this repository, or anywhere, the most frequent first."""
    denials = [(shape, call) for call in _list_recent(days, root) if (shape := _find_shape(call, root))]
    counts = Counter(shape for shape, _ in denials)
    return [
        _propose(shape, times, [call for other, call in denials if other == shape])
        for shape, times in counts.most_common()
        if times >= MIN_DENIALS
    ]


def _list_recent(days: int, root: Path | None) -> Iterator[DeniedCall]:
    oldest = time.time() - days * 86_400
    for agent in AGENTS_WITH_TRANSCRIPTS:
        for transcript in load_transcripts(agent).list_transcripts():
            try:
                if transcript.path.suffix != ".jsonl" or transcript.path.stat().st_mtime < oldest:
                    continue
                lines = transcript.path.read_bytes().splitlines()
            except OSError:
                continue
            yield from (call for call in list_denied_calls(lines, transcript.tool) if _is_in(call, root))


def _is_in(call: DeniedCall, root: Path | None) -> bool:
    return root is None or (bool(call.cwd) and find_repository(Path(call.cwd)) == root)


def _find_shape(call: DeniedCall, root: Path | None) -> _Shape | None:
    if call.command:
        command = next(_list_shapes(call.command), "")
        return _Shape(command=command) if command else None
    if not call.path:
        return None
    path, folder = Path(call.path), root or Path(call.cwd or "/")
    return _Shape(path=str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name)


def _list_shapes(line: str) -> Iterator[str]:
    """`git push` of `cd web && git push --force origin main`."""
    for command in split_line(line, "/"):
        words = [word for word in command.words if word]
        program = words[0].rpartition("/")[2] if words else ""
        if program in _SKIPPED_PROGRAMS:
            continue
        operands = [word for word in words[1:] if not word.startswith("-")]
        has_subcommand = bool(operands) and _SUBCOMMAND.fullmatch(operands[0]) is not None
        yield f"{program} {operands[0]}" if has_subcommand else program


def _propose(shape: _Shape, times: int, calls: list[DeniedCall]) -> Proposal:
    flags = _common_flags(call.command for call in calls) if shape.command else []
    what = " ".join([shape.command, *flags]) if shape.command else shape.path
    match = {"command": what} if shape.command else {"path": shape.path}
    enforce: dict[str, Any] = {
        "on": "command" if shape.command else ["edit", "command"],
        "match": match,
        "do": "ask",
        "reason": f"People denied it {times} times.",
    }
    name = _NOT_NAME.sub("-", what.lower()).strip("-")[:60]
    return Proposal(times, name, enforce, calls[-1].command or calls[-1].path)


def _common_flags(lines: Iterable[str]) -> list[str]:
    """The flags that all of the denied commands have."""
    sets = [
        {
            word.partition("=")[0]
            for command in split_line(line, "/")
            for word in command.words
            if word and word.startswith("-")
        }
        for line in lines
    ]
    return sorted(set.intersection(*sets)) if sets else []
