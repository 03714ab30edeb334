"""A build hook: the wheel carries the pages of the documentation, which the server sends at /docs."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGES = "commonplace/docs"


class DocumentationPages(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """An editable installation needs no copy, and one beside the sources would be a second `commonplace`."""
        if version == "editable":
            return
        top = Path(self.root)
        for source in top.glob("docs/**/*.md"):
            build_data["force_include"][str(source)] = (
                f"{PAGES}/{source.relative_to(top / 'docs').as_posix()}"
            )
