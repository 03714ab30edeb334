"""Memory servers whose data is JSON: the official memory server, beads and exports of agentmemory."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from commonplace.client.day_zero import mongo_dumps
from commonplace.client.day_zero.found_note import Found, FoundNote, FoundTask

OnSkip = Callable[[str, str], None]

_BEADS_PRIORITIES = ("critical", "high", "medium", "low", "low")
_BEADS_OPEN = frozenset({"open", "in_progress", "blocked", "deferred", "hooked", "pinned"})
_NOT_TASKS = frozenset({"message", "merge-request", "molecule"})


def list_json_store(path: Path, on_skip: OnSkip) -> Iterator[Found]:
    """One JSON object is an export; lines are the official memory server's, or those of beads."""
    text = path.read_text(encoding="utf-8", errors="replace")
    exported = _parse_object(text)
    if exported is not None and isinstance(exported.get("memories"), list):
        yield from list_agentmemory(path, exported, on_skip)
        return
    if array := mongo_dumps.parse_export(text):
        yield from mongo_dumps.list_records(str(path), array, on_skip)
        return
    records = list(_parse_lines(path, text, on_skip))
    if any(mongo_dumps.is_known_record(record) for _, record in records):
        yield from mongo_dumps.list_records(str(path), [record for _, record in records], on_skip)
        return
    if any("title" in record and ("status" in record or "issue_type" in record) for _, record in records):
        yield from list_beads(path, [record for _, record in records], on_skip)
    else:
        yield from list_memory_server_notes(path, records, on_skip)


def _parse_object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _parse_lines(path: Path, text: str, on_skip: OnSkip) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        record = _parse_object(line)
        if record is None:
            on_skip(f"{path}:{number}", "not a JSON object")
        else:
            yield number, record


def list_beads(path: Path, records: list[dict[str, Any]], on_skip: OnSkip) -> Iterator[FoundTask]:
    """Open issues with what blocks them; closed ones are counted."""
    issues = [record for record in records if str(record.get("title", "")).strip() and record.get("id")]
    is_open = {str(issue["id"]): str(issue.get("status", "open")) in _BEADS_OPEN for issue in issues}
    closed = len(is_open) - sum(is_open.values())
    if closed:
        on_skip(str(path), f"{closed} issues are closed")
    for issue in issues:
        key = str(issue["id"])
        if not is_open[key]:
            continue
        if str(issue.get("issue_type", "")) in _NOT_TASKS:
            on_skip(f"{path}: {key}", f"a {issue['issue_type']} is no task")
            continue
        parts = [issue.get(name) for name in ("description", "design", "acceptance_criteria", "notes")]
        labels = issue.get("labels")
        yield FoundTask(
            "beads",
            str(path),
            key,
            str(issue["title"]).strip(),
            "\n\n".join(str(part).strip() for part in parts if part),
            _name_priority(issue.get("priority")),
            depends_on=tuple(each for each in _list_blockers(issue) if is_open.get(each)),
            tags=(
                str(issue.get("issue_type", "task")),
                *map(str, labels if isinstance(labels, list) else ()),
            ),
        )


def _name_priority(priority: Any) -> str:
    is_known = isinstance(priority, int) and 0 <= priority < len(_BEADS_PRIORITIES)
    return _BEADS_PRIORITIES[priority] if is_known else "medium"


def _list_blockers(issue: Mapping[str, Any]) -> Iterator[str]:
    listed = issue.get("dependencies")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and each.get("type", "blocks") == "blocks" and each.get("depends_on_id"):
            yield str(each["depends_on_id"])


def list_agentmemory(path: Path, exported: Mapping[str, Any], on_skip: OnSkip) -> Iterator[FoundNote]:
    """`memories` and `lessons` of an export (memory_export, or GET /agentmemory/export); the rest is counted."""
    for name in ("memories", "lessons"):
        for record in exported.get(name) or ():
            text = str(record.get("content", "")).strip() if isinstance(record, dict) else ""
            if not text:
                on_skip(f"{path}: {name}", "one without a text")
                continue
            if record.get("isLatest") is False:
                on_skip(f"{path}: {record.get('id')}", "a newer version of it follows")
                continue
            tags = tuple(str(tag) for tag in record.get("concepts") or record.get("tags") or ())
            title = str(record.get("title") or text.splitlines()[0])
            origin = f"{path}: {record.get('id', name)}"
            project = str(record.get("project") or "").rstrip("/").rpartition("/")[2]
            yield FoundNote("agentmemory", origin, title, text, tags=tags, project=project)
    for name in ("sessions", "observations", "summaries"):
        if exported.get(name):
            on_skip(
                f"{path}: {name}",
                f"{len(exported[name])} left out; transcripts are read by `commonplace sync run`",
            )


def list_memory_server_notes(
    file: Path, records: list[tuple[int, dict[str, Any]]], on_skip: OnSkip
) -> Iterator[FoundNote]:
    """The file of the official memory server: lines with entities, their observations, and relations."""
    entities: dict[str, dict[str, list[str]]] = {}
    for number, record in records:
        try:
            _add_record(entities, record)
        except (ValueError, KeyError, TypeError, AttributeError) as wrong:
            on_skip(f"{file}:{number}", f"not an entity or relation ({wrong})")
    for name, parts in entities.items():
        lines = [*parts["observations"], *parts["relations"]]
        if lines:
            yield FoundNote("memory-server", str(file), name, "\n".join(f"- {text}" for text in lines))
        else:
            on_skip(f"{file}: {name}", "it has no observation and no relation")


def _add_record(entities: dict[str, dict[str, list[str]]], record: dict[str, Any]) -> None:
    def parts_of(name: object) -> dict[str, list[str]]:
        return entities.setdefault(str(name), {"observations": [], "relations": []})

    if record["type"] == "entity":
        observations = record.get("observations") or []
        parts_of(record["name"])["observations"] += [str(text) for text in observations]
    elif record["type"] == "relation":
        parts_of(record["from"])["relations"].append(f"{record['relationType']} {record['to']}")
    else:
        raise ValueError(f"type {record['type']}")
