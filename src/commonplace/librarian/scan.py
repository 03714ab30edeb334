"""Reads a whole tree, on as many cores as there are, and again only what changed."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from commonplace import errors
from commonplace.librarian.callers import called_by
from commonplace.librarian.function import Function
from commonplace.librarian.reading import read
from commonplace.librarian.source_tree import SourceTree, Stamp

_FEW = 64
_CHUNK = 4
_BAR = 30

Progress = Callable[[int, int], None]


class Scan:
    """What the files of a tree declare, kept in step by `refresh`."""

    def __init__(self, tree: SourceTree, workers: int | None = None) -> None:
        self.tree = tree
        self.lines = 0
        self._workers = workers or os.cpu_count() or 1
        self._stamps: dict[str, Stamp] = {}
        self._functions: dict[str, list[Function]] = {}

    @property
    def files(self) -> frozenset[str]:
        """The files that were read."""
        return frozenset(self._functions)

    def refresh(self, progress: Progress = lambda _done, _all: None) -> bool:
        """Read what is new or changed, forget what is gone; whether there was any of it."""
        stamps = self.tree.files()
        changed = [file for file, stamp in stamps.items() if self._stamps.get(file) != stamp]
        gone = self._stamps.keys() - stamps.keys()
        for file in gone:
            self._functions.pop(file, None)
        for done, (file, functions, lines) in enumerate(self._read(changed), 1):
            self.lines += lines
            if functions is None:
                self._functions.pop(file, None)
            else:
                self._functions[file] = functions
            progress(done, len(changed))
        self._stamps = stamps
        return bool(changed or gone)

    def functions(self) -> list[Function]:
        """Everything that is declared, each with its callers inside the tree."""
        found = [function for functions in self._functions.values() for function in functions]
        callers = called_by(found)
        for function in found:
            function.called_by = callers.get((function.file, function.name), [])
        return found

    def _read(self, files: list[str]) -> Iterator[tuple[str, list[Function] | None, int]]:
        given = [(file, self.tree.path(file)) for file in files]
        if len(given) <= _FEW or self._workers == 1:
            yield from (_read_file(*each) for each in given)
            return
        # Spawned, not forked: the server that may be our parent has threads.
        context = multiprocessing.get_context("spawn")
        chunks = [given[start : start + _CHUNK] for start in range(0, len(given), _CHUNK)]
        pool = concurrent.futures.ProcessPoolExecutor(self._workers, context)
        try:
            waiting = [pool.submit(_read_files, chunk) for chunk in chunks]
            for read_files in concurrent.futures.as_completed(waiting):
                yield from read_files.result()
        except BrokenProcessPool:
            raise errors.Unavailable("A process that reads files was ended.", hint="Try again.") from None
        finally:
            pool.shutdown(cancel_futures=True)


def _read_files(given: Iterable[tuple[str, Path]]) -> list[tuple[str, list[Function] | None, int]]:
    return [_read_file(file, path) for file, path in given]


def _read_file(file: str, path: Path) -> tuple[str, list[Function] | None, int]:
    """None for a file that cannot be read: it says nothing about what it declares."""
    try:
        source = path.read_bytes()
    except OSError:
        return file, None, 0
    if b"\0" in source:
        return file, None, 0
    return file, read(file, source), source.count(b"\n")


def bar(what: str) -> Progress:
    """A progress bar on standard error; silent unless somebody watches."""
    if not sys.stderr.isatty():
        return lambda _done, _all: None

    def show(done: int, whole: int) -> None:
        filled = _BAR * done // max(whole, 1)
        with contextlib.suppress(OSError):
            sys.stderr.write(
                f"\r{what} [{'#' * filled}{'.' * (_BAR - filled)}] {done}/{whole}" + "\n" * (done == whole)
            )
            sys.stderr.flush()

    return show
