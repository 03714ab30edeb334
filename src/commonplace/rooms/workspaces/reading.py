"""What readers see: overviews within a budget, a file's lines, and the difference between two versions."""

import difflib
import sys
from dataclasses import dataclass

import msgspec

from commonplace.call import Call
from commonplace.clock import iso
from commonplace.rooms.workspaces import files, model, writing
from commonplace.rooms.workspaces.model import Shown, Workspace
from commonplace.store.database import Row

README = (
    "Each workspace is one machine's tool at work on a project; anyone who may see the project reads it, only its own"
    " agent writes it. Look at one with get_overview(workspace_id), its files with list_knowledge and read_knowledge,"
    " its transcripts with list_sessions and read_session; search all of them with search_knowledge and"
    " search_sessions. To write, call register_workspace once, then write_overview and write_knowledge."
)
_BYTES_PER_TOKEN = 4
_SHOWN_VERSIONS = 20
_OVERHEAD = 120
_LONGEST_ESCAPE = len("\\u0001")
_DIFFED_LINES = 10_000
_DIFF_BYTES = 32_000
# About 8,000 tokens for who does not say how much, and the 25,000 beyond which agents cut a reply themselves.
UNASKED_BYTES, MOST_BYTES = 32_000, 99_000


def within(readme: str, shown: list[Shown], max_tokens: int) -> model.Overview:
    """As many workspaces as fit; the page itself is cut only when it alone is too long."""
    left = max_tokens * _BYTES_PER_TOKEN - _OVERHEAD
    rows = [*(_shortened(each, left) for each in shown[:1]), *shown[1:]]
    page, truncated = _cut(readme, left - sum(_cost(each) for each in rows[:1]))
    left -= len(msgspec.json.encode(page))
    fitting: list[Shown] = []
    for each in rows:
        left -= _cost(each)
        if left < 0:
            break
        fitting.append(each)
    omitted = len(shown) - len(fitting)
    return model.Overview(readme=page, workspaces=fitting, omitted=omitted, truncated=truncated)


def _cost(row: Shown) -> int:
    """With the comma after it."""
    return len(msgspec.json.encode(row)) + 1


def _shortened(row: Shown, most: int) -> Shown:
    """With as much of its summary as leaves room for an empty page beside it."""
    over = _cost(row) + len(msgspec.json.encode("")) - most
    if over <= 0:
        return row
    summary, _ = _cut(row.summary, len(msgspec.json.encode(row.summary)) - over)
    return msgspec.structs.replace(row, summary=summary)


def _cut(page: str, most: int) -> tuple[str, bool]:
    """In so many bytes as JSON, where some characters take more than one."""
    length = len(page)
    while length and len(msgspec.json.encode(page[:length])) > most:
        length = min(length - 1, length * max(most, 0) // len(msgspec.json.encode(page[:length])))
    return page[:length], length < len(page)


async def overview_text(call: Call, workspace: Workspace) -> str:
    row = await files.find(call.tx, workspace, files.OVERVIEW)
    kept = await files.version(call.tx, row, row["version"]) if row else None
    return kept["content"] if kept else ""


async def text_of(call: Call, workspace: Workspace, path: str, version: int | None) -> tuple[Row, Row]:
    """A file and one of its versions, the latest if none is named."""
    row = await files.find(call.tx, workspace, path)
    if row is None or (row["deleted"] and version is None):
        raise writing.not_there(path)
    kept = await files.version(call.tx, row, version or row["version"])
    if kept is None or kept["what"] == "deleted":
        raise writing.no_version()
    return row, kept


async def by_id(call: Call, project: str, identity: str) -> dict[str, object] | None:
    """A file as memory_get_by_id shows any text; none once it is deleted."""
    rows = await files.texts(call.tx, project, [identity])
    if not rows:
        return None
    row = rows[0]
    history = await files.versions(call.tx, row, _SHOWN_VERSIONS)
    content, truncated = _cut(row["content"], UNASKED_BYTES)
    return {
        "id": identity,
        "title": row["title"],
        "type": "knowledge",
        "status": "active",
        "project": project,
        "updated": iso(row["modified_at"]),
        "author": history[0]["author"],
        "content": content,
        **({"truncated": True} if truncated else {}),
        "versions": [model.VersionShown.of(each) for each in history],
        "links": {"workspace_id": row["workspace"], "path": row["path"]},
    }


def part(
    path: str, kept: Row, offset: int = 0, limit: int | None = None, most: int = sys.maxsize
) -> model.Text:
    """Some lines of a text; the size and the digest are those of the whole."""
    written = kept["content"].splitlines(keepends=True)
    shown, cut = _fitting(written[offset:][:limit], most)
    end = offset + len(shown)
    return model.Text(
        path=path,
        content="".join(shown),
        size=kept["size"],
        sha256=kept["sha256"],
        modified_at=iso(kept["at"]),
        version=kept["version"],
        total_lines=len(written),
        has_more=end < len(written),
        next_offset=end if end < len(written) else None,
        cut=cut,
    )


def _fitting(lines: list[str], most: int) -> tuple[list[str], bool]:
    """As many as fit into so many bytes of JSON, and whether one that alone is too long was cut."""
    if sum(map(len, lines)) * _LONGEST_ESCAPE <= most:
        return lines, False
    left = most
    for count, line in enumerate(lines):
        left -= len(msgspec.json.encode(line)) - len(msgspec.json.encode(""))
        if left < 0:
            return (lines[:count], False) if count else ([_cut(line, most)[0]], True)
    return lines, False


@dataclass(frozen=True, slots=True)
class Difference:
    """A unified diff; `note` says why there is none."""

    text: str = ""
    cut: bool = False
    note: str = ""


def difference(old: Row | None, kept: Row) -> Difference:
    """What the version changed of the text before it."""
    if old is None and kept["version"] > 1:
        return Difference(note="The text before this version is no longer kept.")
    before = (old["content"] if old else "").splitlines()
    after = kept["content"].splitlines()
    if len(before) + len(after) > _DIFFED_LINES:
        return Difference(
            cut=True, note=f"Together they have more than {_DIFFED_LINES} lines: too many to compare."
        )
    names = (f"version {old['version']}" if old else "nothing", f"version {kept['version']}")
    shown = "\n".join(difflib.unified_diff(before, after, *names, lineterm=""))
    fitting = shown.encode()[:_DIFF_BYTES].decode(errors="ignore")
    return Difference(fitting, cut=fitting != shown)
