"""Extract the functions of a whole source tree on all cores, and later only from files that changed."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from commonplace import errors
from commonplace.librarian.callers import find_callers
from commonplace.librarian.extract import extract_functions
from commonplace.librarian.function import SourceFunction
from commonplace.librarian.source_tree import FileStamp, SourceTree

_MAX_SERIAL_FILES = 64
_FILES_PER_TASK = 4
_BAR_CHARACTERS = 30

ProgressCallback = Callable[[int, int], None]


class TreeScan:
    """The declarations of a tree's files; `refresh_files` updates them."""

    def __init__(self, tree: SourceTree, workers: int | None = None) -> None:
        self.tree = tree
        self.lines = 0
        self._workers = workers or os.cpu_count() or 1
        self._stamps: dict[str, FileStamp] = {}
        self._functions: dict[str, list[SourceFunction]] = {}

    @property
    def files(self) -> frozenset[str]:
        """The files that were read."""
        return frozenset(self._functions)

    def refresh_files(self, progress: ProgressCallback = lambda _done, _all: None) -> bool:
        """Read new and changed files, drop deleted ones; return whether there were any."""
        stamps = self.tree.list_files()
        changed = [file for file, stamp in stamps.items() if self._stamps.get(file) != stamp]
        gone = self._stamps.keys() - stamps.keys()
        for file in gone:
            self._functions.pop(file, None)
        for done, (file, functions, lines) in enumerate(self._read_changed(changed), 1):
            self.lines += lines
            if functions is None:
                self._functions.pop(file, None)
            else:
                self._functions[file] = functions
            progress(done, len(changed))
        self._stamps = stamps
        return bool(changed or gone)

    def list_functions(self) -> list[SourceFunction]:
        """List all declarations, with their callers inside the tree."""
        all_functions = [function for functions in self._functions.values() for function in functions]
        callers = find_callers(all_functions)
        for function in all_functions:
            function.called_by = callers.get((function.file, function.name), [])
        return all_functions

    def _read_changed(self, files: list[str]) -> Iterator[tuple[str, list[SourceFunction] | None, int]]:
        files_with_paths = [(file, self.tree.resolve_file(file)) for file in files]
        if len(files_with_paths) <= _MAX_SERIAL_FILES or self._workers == 1:
            yield from (_read_file(*file_with_path) for file_with_path in files_with_paths)
            return
        # Spawn instead of fork, because the parent may be the server, which has threads.
        context = multiprocessing.get_context("spawn")
        chunks = [
            files_with_paths[start : start + _FILES_PER_TASK]
            for start in range(0, len(files_with_paths), _FILES_PER_TASK)
        ]
        pool = concurrent.futures.ProcessPoolExecutor(self._workers, context)
        try:
            tasks = [pool.submit(_read_files, chunk) for chunk in chunks]
            for task in concurrent.futures.as_completed(tasks):
                yield from task.result()
        except BrokenProcessPool:
            raise errors.Unavailable(
                "A process that reads files was terminated.", hint="Run the scan again."
            ) from None
        finally:
            pool.shutdown(cancel_futures=True)


def _read_files(
    files_with_paths: Iterable[tuple[str, Path]],
) -> list[tuple[str, list[SourceFunction] | None, int]]:
    return [_read_file(file, path) for file, path in files_with_paths]


def _read_file(file: str, path: Path) -> tuple[str, list[SourceFunction] | None, int]:
    """Return (file, functions, lines); functions is None for an unreadable or binary file."""
    try:
        source = path.read_bytes()
    except OSError:
        return file, None, 0
    if b"\0" in source:
        return file, None, 0
    return file, extract_functions(file, source), source.count(b"\n")


def progress_bar(label: str) -> ProgressCallback:
    """Return a progress bar on standard error; silent unless that is a terminal."""
    if not sys.stderr.isatty():
        return lambda _done, _all: None

    def render_bar(done: int, total: int) -> None:
        filled = _BAR_CHARACTERS * done // max(total, 1)
        with contextlib.suppress(OSError):
            sys.stderr.write(
                f"\r{label} [{'#' * filled}{'.' * (_BAR_CHARACTERS - filled)}] {done}/{total}"
                + "\n" * (done == total)
            )
            sys.stderr.flush()

    return render_bar
