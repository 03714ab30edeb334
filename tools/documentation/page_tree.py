"""Which pages the documentation has, in which order.

docs/README.md is the front page and the navigation at once: each of its `##` headings is a section, and the links of its
lists are the pages. Pages that it does not name follow in the section of their folder.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FRONT_PAGE: Final = "docs/README.md"
_REPOSITORY: Final = Path(__file__).resolve().parents[2]
_ROOT_PAGES: Final = (
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "CONTEXT.md",
    "CONTRIBUTING.md",
    "AGENTS.md",
)
_FOLDER_SECTIONS: Final = {
    "docs": "More",
    "docs/guides": "More guides",
    "docs/operations": "Every operation",
    "docs/decisions": "Decisions",
}
_HEADING: Final = re.compile(r"^## (.+)$")
_ENTRY: Final = re.compile(r"^- \[([^\]]+)\]\(([^)#]+)\)", re.MULTILINE)


@dataclass(frozen=True)
class NavigationSection:
    title: str
    pages: tuple[str, ...]
    """Paths in the repository."""


@dataclass(frozen=True)
class PageTree:
    """The sources by their path in the repository, such as docs/guides/locks.md."""

    root: Path
    paths: frozenset[str]
    sections: tuple[NavigationSection, ...]
    labels: Mapping[str, str]
    """The names of pages in the navigation, where they are shorter than their titles."""

    def read(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")

    def list_in_order(self) -> list[str]:
        return [FRONT_PAGE, *(page for section in self.sections for page in section.pages)]


def load_page_tree(root: Path = _REPOSITORY) -> PageTree:
    """The pages below `root`."""
    found = sorted(path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md"))
    paths = frozenset([*found, *(name for name in _ROOT_PAGES if (root / name).is_file())])
    front = (root / FRONT_PAGE).read_text(encoding="utf-8")
    sections = _read_sections(front, paths)
    labels = {resolve_link(FRONT_PAGE, entry[2]): entry[1] for entry in _ENTRY.finditer(front)}
    return PageTree(root, paths, (*sections, *_list_folder_sections(sections, paths)), labels)


def name_file(path: str) -> str:
    """Where a page is in the site: guides/locks.html for docs/guides/locks.md."""
    if path == FRONT_PAGE:
        return "index.html"
    name = path.removesuffix(".md").removeprefix("docs/").removesuffix("/README")
    return f"{name.lower()}.html"


def _read_sections(front: str, paths: frozenset[str]) -> list[NavigationSection]:
    entries: dict[str, list[str]] = {}
    title = ""
    for line in front.splitlines():
        if heading := _HEADING.match(line):
            title = heading[1]
        elif (entry := _ENTRY.match(line)) and title:
            path = resolve_link(FRONT_PAGE, entry[2])
            if path in paths:
                entries.setdefault(title, []).append(path)
    return [NavigationSection(name, tuple(pages)) for name, pages in entries.items()]


def _list_folder_sections(
    sections: list[NavigationSection], paths: frozenset[str]
) -> list[NavigationSection]:
    named = {page for section in sections for page in section.pages} | {FRONT_PAGE}
    return [
        NavigationSection(title, tuple(left))
        for folder, title in _FOLDER_SECTIONS.items()
        if (left := sorted(path for path in paths - named if path.rpartition("/")[0] == folder))
    ]


def resolve_link(page: str, link: str) -> str:
    """The path in the repository that a relative link of a page names."""
    parts = page.split("/")[:-1]
    for part in link.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
