"""The regions of a commit: the lines of each file that the index changes, counted in the version of HEAD."""

import re
from collections.abc import Iterable

from commonplace.client.companion import fault_log
from commonplace.client.git.git_program import GitFailed, run_git
from commonplace.client.regions.changed_lines import CONTEXT, DIFF_OPTIONS, find_changed_spans, parse_hunks
from commonplace.client.regions.edit_regions import read_version, tag_tree_of
from commonplace.file_region import BASE_CHARACTERS, MAX_BASES, FileRegion, LineSpan, join_spans

_VERSIONS = re.compile(r"^index ([0-9a-f]+)\.\.([0-9a-f]+)", re.MULTILINE)
_PATHS = re.compile(r"^--- a/(.*?)\t?\n\+\+\+ b/(.*?)\t?\n", re.MULTILINE)


class StagedFile:
    """A file that the index changes in place."""

    def __init__(self, root: str, path: str, versions: tuple[str, str], spans: tuple[LineSpan, ...]) -> None:
        self.path, self._root, self._versions = path, root, versions
        self._spans = {versions[0][:BASE_CHARACTERS]: spans}

    @property
    def lock_path(self) -> str:
        return self.path + FileRegion(self._spans, (), tag_tree_of(self._root)).text

    def translate_to(self, bases: Iterable[str]) -> bool:
        """Learn the lines in other versions too; whether one was new and is in this repository."""
        unknown = [base for base in bases if base not in self._spans][: MAX_BASES - len(self._spans)]
        known = len(self._spans)
        try:
            old, new = (read_version(self._root, version) for version in self._versions)
            for base in unknown:
                version = read_version(self._root, base)
                if version and old and new and (spans := find_changed_spans(version[1], old[1], new[1])):
                    self._spans[base] = spans
        except (GitFailed, ValueError) as error:
            fault_log.log_fault(f"translation of {self.path}", error)
        return len(self._spans) > known


def locate_staged(root: str) -> dict[str, StagedFile]:
    """The staged files whose changed lines are known: those that are neither new nor deleted, and are text."""
    try:
        output = run_git(
            "-c", "core.quotePath=false", "diff", "--cached", "--full-index", "--diff-filter=M", CONTEXT, *DIFF_OPTIONS,
            folder=root,
        )  # fmt: skip
    except GitFailed as failed:
        fault_log.log_fault("staged lines", failed)
        return {}
    located: dict[str, StagedFile] = {}
    # Lines of the files themselves begin with a sign.
    for part in re.split(r"^diff --git ", output, flags=re.MULTILINE)[1:]:
        versions, paths = _VERSIONS.search(part), _PATHS.search(part)
        spans = join_spans(LineSpan(hunk.start, hunk.end) for hunk in parse_hunks(part.split("\n")))
        if versions and paths and paths[1] == paths[2] and spans:
            located[paths[1]] = StagedFile(root, paths[1], (versions[1], versions[2]), spans)
    return located
