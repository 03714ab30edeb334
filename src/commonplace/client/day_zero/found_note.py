"""A text that somebody wrote down before there was a server, and where it was."""

import re
from dataclasses import dataclass

MAX_TITLE_CHARACTERS = 200
MAX_TEXT_CHARACTERS = 45_000
_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_HEADING = re.compile(r"^#{1,3}\s+(.+?)\s*#*$", re.MULTILINE)


@dataclass(frozen=True)
class FoundNote:
    source: str
    """What kind of place it comes from, such as `claude-memory`; it becomes a tag."""
    origin: str
    """The file, or the commit."""
    title: str
    text: str

    def to_arguments(self, project: str) -> dict[str, object]:
        """The arguments of memory_store. The origin stands in the text, so that every reader sees it."""
        return {
            "project": project,
            "title": self.title[:MAX_TITLE_CHARACTERS],
            "content": f"{self.text[:MAX_TEXT_CHARACTERS]}\n\n(Imported from {self.origin})",
            "memory_type": "learning",
            "tags": ["import", f"from-{self.source}"],
        }


def parse_markdown(source: str, origin: str, text: str, fallback_title: str) -> FoundNote | None:
    """A note from a Markdown file; None if nothing is in it."""
    body = _FRONT_MATTER.sub("", text.replace("\r\n", "\n")).strip()
    if not body:
        return None
    heading = _HEADING.search(body)
    title = heading[1] if heading and heading.start() == 0 else fallback_title
    return FoundNote(source, origin, title, body)
