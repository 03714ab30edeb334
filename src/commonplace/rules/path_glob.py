"""Globs for paths in a repository, as in .gitignore: `*.sql` by name, `db/*.sql` from the root, `db/` all below, `**`.

The time is bounded by the product of the lengths: no pattern can make a check slow.
"""

from fnmatch import fnmatchcase

_ANY_DEPTH = "**"


def matches_path(path: str, glob: str) -> bool:
    """Whether the glob names the path, or a folder that contains it."""
    names, wanted = path.split("/"), glob.strip("/").split("/")
    if "/" not in glob.rstrip("/") and wanted[0] != _ANY_DEPTH:
        wanted.insert(0, _ANY_DEPTH)
    return _matches_names(names, wanted)


def _matches_names(names: list[str], wanted: list[str]) -> bool:
    """Whether `wanted` matches the first names; the rest is below what it names."""
    reached = {0}
    for part in wanted:
        if part == _ANY_DEPTH:
            reached = set(range(min(reached), len(names) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(names) and fnmatchcase(names[at], part)}
        if not reached:
            return False
    if wanted[-1] == _ANY_DEPTH:  # everything below a folder, not the folder itself
        return min(reached) < len(names)
    return True
