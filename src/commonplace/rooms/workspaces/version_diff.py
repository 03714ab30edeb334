"""The unified diff between a version of a knowledge file and the text before it."""

import difflib
from dataclasses import dataclass

from commonplace.store.database import Row

_MAX_COMPARED_LINES = 10_000
_MAX_DIFF_BYTES = 32_000


@dataclass(frozen=True, slots=True)
class VersionDiff:
    """`note` says why there is no diff."""

    text: str = ""
    truncated: bool = False
    note: str = ""


def build_version_diff(previous: Row | None, version: Row) -> VersionDiff:
    if previous is None and version["version"] > 1:
        return VersionDiff(note="The text before this version is no longer stored.")
    before = (previous["content"] if previous else "").splitlines()
    after = version["content"].splitlines()
    if len(before) + len(after) > _MAX_COMPARED_LINES:
        return VersionDiff(
            truncated=True,
            note=f"The two texts have more than {_MAX_COMPARED_LINES} lines together: too many to compare.",
        )
    names = (f"version {previous['version']}" if previous else "nothing", f"version {version['version']}")
    diff = "\n".join(difflib.unified_diff(before, after, *names, lineterm=""))
    fitting = diff.encode()[:_MAX_DIFF_BYTES].decode(errors="ignore")
    return VersionDiff(fitting, truncated=fitting != diff)
