"""Where agents and people keep notes on a machine. Each source yields notes; unreadable files are reported, not hidden."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from commonplace.client.day_zero.found_note import FoundNote, parse_markdown
from commonplace.client.git.git_program import GitFailed, run_git

OnSkip = Callable[[str, str], None]
"""Called with a path and the reason why it was left out."""

_MAX_FILE_BYTES = 1_000_000
_MAX_COMMITS = 200
_MIN_COMMIT_LINES = 2
_RECORD, _FIELD = "\x1e", "\x1f"
# Files of a repository, and of a home folder, by the source that they become.
_REPOSITORY_FILES = (
    ("claude-md", "CLAUDE.md"),
    ("claude-md", "CLAUDE.local.md"),
    ("claude-md", ".claude/CLAUDE.md"),
    ("agents-md", "AGENTS.md"),
    ("gemini-md", "GEMINI.md"),
    ("memory-md", "MEMORY.md"),
    ("cursor-rules", ".cursorrules"),
    ("cursor-rules", ".cursor/rules/*.mdc"),
    ("windsurf-rules", ".windsurfrules"),
    ("windsurf-rules", ".windsurf/rules/*.md"),
    ("copilot-instructions", ".github/copilot-instructions.md"),
    ("serena", ".serena/memories/*.md"),
)
_HOME_FILES = (
    ("claude-md", ".claude/CLAUDE.md"),
    ("codex-agents-md", ".codex/AGENTS.md"),
    ("codex-memory", ".codex/memories/*.md"),
    ("gemini-md", ".gemini/GEMINI.md"),
)


def list_repository_notes(folder: Path, on_skip: OnSkip) -> Iterator[FoundNote]:
    yield from _list_files(folder, _REPOSITORY_FILES, on_skip)


def list_home_notes(home: Path, on_skip: OnSkip) -> Iterator[FoundNote]:
    yield from _list_files(home, _HOME_FILES, on_skip)


def list_claude_memories(home: Path, repository: Path, on_skip: OnSkip) -> Iterator[FoundNote]:
    """Claude's own memory of this repository: its folder has the path with other characters as hyphens."""
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(repository))
    yield from _list_files(home / ".claude/projects" / slug, (("claude-memory", "memory/*.md"),), on_skip)


def list_markdown(path: Path, on_skip: OnSkip) -> Iterator[FoundNote]:
    """A file, or every Markdown file in a folder, such as a vault; hidden folders are left alone."""
    if path.is_file():
        yield from _read_note("markdown", path, path.parent, on_skip)
        return
    for file in sorted(path.rglob("*.md")):
        if not any(part.startswith(".") for part in file.relative_to(path).parts):
            yield from _read_note("markdown", file, path, on_skip)


def list_memory_server_notes(file: Path, on_skip: OnSkip) -> Iterator[FoundNote]:
    """The file of the official memory server: lines with entities, their observations, and relations."""
    entities: dict[str, dict[str, list[str]]] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            _add_record(entities, record)
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            on_skip(f"{file}:{number}", f"not an entity or relation ({wrong})")
    for name, parts in entities.items():
        lines = [*parts["observations"], *parts["relations"]]
        if lines:
            yield FoundNote("memory-server", str(file), name, "\n".join(f"- {text}" for text in lines))
        else:
            on_skip(f"{file}: {name}", "it has no observation and no relation")


def _add_record(entities: dict[str, dict[str, list[str]]], record: dict[str, object]) -> None:
    def parts_of(name: object) -> dict[str, list[str]]:
        return entities.setdefault(str(name), {"observations": [], "relations": []})

    if record["type"] == "entity":
        observations = record.get("observations") or []
        parts_of(record["name"])["observations"] += [str(text) for text in observations]  # type: ignore[attr-defined]
    elif record["type"] == "relation":
        parts_of(record["from"])["relations"].append(f"{record['relationType']} {record['to']}")
    else:
        raise ValueError(f"type {record['type']}")


def list_commit_notes(folder: Path, on_skip: OnSkip) -> Iterator[FoundNote]:
    """The newest commits that explain themselves: those with a body."""
    form = _FIELD.join(("%h", "%an", "%as", "%s", "%b")) + _RECORD
    try:
        log = run_git("log", f"-{_MAX_COMMITS}", "--no-merges", f"--format={form}", folder=folder)
    except GitFailed as failed:
        on_skip(str(folder), f"git: {failed}")
        return
    for record in log.split(_RECORD):
        fields = record.strip().split(_FIELD)
        if len(fields) < len("hasab") or len(fields[4].strip().splitlines()) < _MIN_COMMIT_LINES - 1:
            continue
        commit, author, day, subject, body = fields
        if body.strip():
            text = f"{subject}\n\n{body.strip()}"
            yield FoundNote("git", f"commit {commit} of {author}, {day}", subject, text)


def _list_files(folder: Path, patterns: tuple[tuple[str, str], ...], on_skip: OnSkip) -> Iterator[FoundNote]:
    for source, pattern in patterns:
        for file in sorted(folder.glob(pattern)):
            yield from _read_note(source, file, folder, on_skip)


def _read_note(source: str, file: Path, folder: Path, on_skip: OnSkip) -> Iterator[FoundNote]:
    try:
        if file.stat().st_size > _MAX_FILE_BYTES:
            on_skip(str(file), "larger than 1 MB")
            return
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as unreadable:
        on_skip(str(file), f"cannot be read ({unreadable})")
        return
    name = file.relative_to(folder).with_suffix("").as_posix()
    note = parse_markdown(source, str(file), text, f"{name} ({folder.name})")
    if note:
        yield note
    else:
        on_skip(str(file), "empty")
