"""What somebody wrote down before there was a server, and where it was: a note becomes a document, a task a backlog item,
a checklist a checklist.
"""

import re
from dataclasses import dataclass

MAX_TITLE_CHARACTERS = 200
MAX_TEXT_CHARACTERS = 45_000
_MAX_TAGS = 10
_MAX_TAG_CHARACTERS = 50
_MAX_ITEM_CHARACTERS = 1000
_MAX_NOTE_CHARACTERS = 2000
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:\s*[\"']?(.+?)[\"']?\s*$", re.MULTILINE)
_FRONT_TAGS = re.compile(r"^tags:\s*\[(.*?)\]\s*$|^tags:\s*\n((?:\s*- .+\n?)+)", re.MULTILINE)
_HEADING = re.compile(r"^#{1,3}\s+(.+?)\s*#*$", re.MULTILINE)
_NOT_IN_TAG = re.compile(r"[^\w.:/-]+")


@dataclass(frozen=True)
class FoundNote:
    source: str
    """What kind of place it comes from, such as `claude-memory`; it becomes a tag."""
    origin: str
    """The file, or the commit."""
    title: str
    text: str
    memory_type: str = "learning"
    tags: tuple[str, ...] = ()
    project: str = ""
    """The project that the place names; empty if it names none."""

    def to_arguments(self, project: str) -> dict[str, object]:
        """The arguments of memory_store. The origin stands in the text, so that every reader sees it."""
        return {
            "project": project,
            "title": self.title[:MAX_TITLE_CHARACTERS],
            "content": f"{self.text[:MAX_TEXT_CHARACTERS]}\n\n(Imported from {self.origin})",
            "memory_type": self.memory_type,
            "tags": ["import", f"from-{self.source}", *clean_tags(self.tags)],
        }


@dataclass(frozen=True)
class FoundTask:
    """`key` is its id in the place that it comes from; it becomes a tag, by which a second run knows it."""

    source: str
    origin: str
    key: str
    title: str
    description: str
    priority: str = "medium"
    depends_on: tuple[str, ...] = ()
    """Keys of tasks of the same place."""
    tags: tuple[str, ...] = ()
    project: str = ""

    def to_arguments(self, project: str) -> dict[str, object]:
        """The arguments of memory_add_backlog_item, without what it depends on."""
        text = f"{self.description}\n\n" if self.description else ""
        arguments: dict[str, object] = {
            "project": project,
            "title": self.title[:MAX_TITLE_CHARACTERS],
            "description": f"{text[:MAX_TEXT_CHARACTERS]}(Imported from {self.origin}: {self.key})",
            "priority": self.priority,
            "tags": ["import", f"from-{self.source}", *clean_tags((self.key,)), *clean_tags(self.tags)],
        }
        return arguments


@dataclass(frozen=True)
class FoundChecklistItem:
    text: str
    is_done: bool
    checked_by: str = ""
    notes: str = ""

    def format_notes(self) -> str:
        """The notes of the check, with who checked it before the import."""
        checked = (
            f"checked by {self.checked_by} before the import" if self.is_done and self.checked_by else ""
        )
        return "; ".join(part for part in (self.notes, checked) if part)[:_MAX_NOTE_CHARACTERS]


@dataclass(frozen=True)
class FoundChecklist:
    """A second run knows it by its name, which is unique in a project."""

    source: str
    origin: str
    title: str
    items: tuple[FoundChecklistItem, ...]
    project: str = ""

    def to_arguments(self, project: str) -> dict[str, object]:
        """The arguments of memory_checklist that create it, with all items unchecked."""
        texts = [item.text[:_MAX_ITEM_CHARACTERS] for item in self.items]
        return {
            "action": "create",
            "name": self.title[:MAX_TITLE_CHARACTERS],
            "items": texts,
            "project": project,
        }


Found = FoundNote | FoundTask | FoundChecklist


def clean_tags(tags: tuple[str, ...]) -> list[str]:
    cleaned = (_NOT_IN_TAG.sub("-", tag.strip())[:_MAX_TAG_CHARACTERS].strip("-") for tag in tags)
    return [tag for tag in dict.fromkeys(cleaned) if tag][:_MAX_TAGS]


def parse_markdown(source: str, origin: str, text: str, fallback_title: str) -> FoundNote | None:
    """A note from a Markdown file; None if nothing is in it. Title and tags may be in its front matter."""
    plain = text.replace("\r\n", "\n")
    front = _FRONT_MATTER.match(plain)
    body = plain[front.end() :].strip() if front else plain.strip()
    if not body:
        return None
    named = _FRONT_TITLE.search(front[1]) if front else None
    heading = _HEADING.search(body)
    title = named[1] if named else heading[1] if heading and heading.start() == 0 else fallback_title
    return FoundNote(source, origin, title, body, tags=_parse_tags(front[1]) if front else ())


def _parse_tags(front: str) -> tuple[str, ...]:
    found = _FRONT_TAGS.search(front + "\n")
    if found is None:
        return ()
    listed = found[1].split(",") if found[1] is not None else found[2].splitlines()
    return tuple(tag.strip().removeprefix("- ").strip("\"' #") for tag in listed)
