"""Where agents and people keep notes on a machine. Each source yields notes; unreadable files are reported, not hidden."""

from collections.abc import Callable, Iterator
from pathlib import Path

from commonplace.client.checkout.git_program import GitFailed, run_git
from commonplace.client.day_zero import mongo_dumps
from commonplace.client.day_zero.found_note import Found, FoundNote, parse_markdown
from commonplace.client.day_zero.json_stores import list_json_store
from commonplace.client.day_zero.sqlite_stores import is_sqlite_file, list_sqlite_store

OnSkip = Callable[[str, str], None]
"""Called with a path and the reason why it was left out."""

_MAX_FILE_BYTES = 1_000_000
_MAX_COMMITS = 200
_MIN_COMMIT_LINES = 2
_RECORD, _FIELD = "\x1e", "\x1f"
# By the source that they become. Programs read instruction files themselves at every start: stored as documents too,
# they would come back in each pack.
_INSTRUCTION_FILES = (
    ("claude-md", "CLAUDE.md"),
    ("claude-md", "CLAUDE.local.md"),
    ("claude-md", ".claude/CLAUDE.md"),
    ("agents-md", "AGENTS.md"),
    ("gemini-md", "GEMINI.md"),
    ("cursor-rules", ".cursorrules"),
    ("cursor-rules", ".cursor/rules/*.mdc"),
    ("windsurf-rules", ".windsurfrules"),
    ("windsurf-rules", ".windsurf/rules/*.md"),
    ("copilot-instructions", ".github/copilot-instructions.md"),
)
_NOTE_FILES = (("memory-md", "MEMORY.md"), ("serena", ".serena/memories/*.md"))
_HOME_INSTRUCTION_FILES = (
    ("claude-md", ".claude/CLAUDE.md"),
    ("codex-agents-md", ".codex/AGENTS.md"),
    ("gemini-md", ".gemini/GEMINI.md"),
)
_HOME_NOTE_FILES = (("codex-memory", ".codex/memories/*.md"),)


def list_repository_notes(folder: Path, on_skip: OnSkip, *, with_instructions: bool) -> Iterator[FoundNote]:
    yield from _list_files(
        folder, (*(_INSTRUCTION_FILES if with_instructions else ()), *_NOTE_FILES), on_skip
    )


def list_home_notes(home: Path, on_skip: OnSkip, *, with_instructions: bool) -> Iterator[FoundNote]:
    files = (*(_HOME_INSTRUCTION_FILES if with_instructions else ()), *_HOME_NOTE_FILES)
    yield from _list_files(home, files, on_skip)


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


def list_known_stores(home: Path, repository: Path, on_skip: OnSkip) -> Iterator[Found]:
    """Stores of other programs at their usual places: claude-mem's notes about this repository, and its beads."""
    claude_mem, beads = home / ".claude-mem/claude-mem.db", repository / ".beads/issues.jsonl"
    if claude_mem.is_file():
        for found in list_sqlite_store(claude_mem, on_skip):
            if found.project == repository.name:
                yield found
    if beads.is_file():
        yield from list_json_store(beads, on_skip)


def list_path(path: Path, on_skip: OnSkip) -> Iterator[Found]:
    """What a person names: the store of another program, or Markdown."""
    if path.is_dir() and (path / "chroma.sqlite3").is_file():
        yield from list_sqlite_store(path / "chroma.sqlite3", on_skip)
    elif path.is_dir() and (path / "issues.jsonl").is_file():
        yield from list_json_store(path / "issues.jsonl", on_skip)
    elif mongo_dumps.is_dump(path):
        yield from mongo_dumps.list_dump(path, on_skip)
    elif path.is_file() and path.suffix in (".jsonl", ".json"):
        yield from list_json_store(path, on_skip)
    elif path.is_file() and is_sqlite_file(path):
        yield from list_sqlite_store(path, on_skip)
    else:
        yield from list_markdown(path, on_skip)


def list_commit_notes(folder: Path, on_skip: OnSkip) -> Iterator[FoundNote]:
    """The newest commits that explain themselves: those with a body."""
    form = _FIELD.join(("%h", "%an", "%as", "%s", "%b")) + _RECORD
    try:
        if not run_git("rev-list", "--all", "-n", "1", folder=folder).strip():
            return  # a new repository
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
