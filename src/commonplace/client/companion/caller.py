"""The program that a hook event comes from: its environment, its folder and the process above it.

The companion answers for programs with different environments at the same time. Each event is acted on in a thread of
its own, in which `os.environ` is that of the program that sent it; elsewhere it is this process's own.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, MutableMapping
from contextvars import ContextVar
from typing import NamedTuple


class Caller(NamedTuple):
    environ: dict[str, str]
    folder: str
    parent_pid: int
    """The process that started the launcher: the agent program, or its shell."""


_caller: ContextVar[Caller | None] = ContextVar("caller", default=None)


def find_parent_pid() -> int:
    caller = _caller.get()
    return caller.parent_pid if caller else os.getppid()


def current_folder() -> str:
    caller = _caller.get()
    return caller.folder if caller else os.getcwd()  # noqa: PTH109 - a string


def unique_suffix() -> str:
    """For temporary files: several events may write at once, in one process or in several."""
    return f"{os.getpid()}-{threading.get_ident()}-{time.monotonic_ns()}.part"


@contextlib.contextmanager
def act_for(caller: Caller) -> Iterator[None]:
    token = _caller.set(caller)
    try:
        yield
    finally:
        _caller.reset(token)


class CallerEnviron(MutableMapping[str, str]):
    """Stands in for `os.environ` in the companion."""

    def __init__(self, own: MutableMapping[str, str]) -> None:
        self._own = own

    @property
    def _variables(self) -> MutableMapping[str, str]:
        caller = _caller.get()
        return caller.environ if caller else self._own

    def __getitem__(self, name: str) -> str:
        return self._variables[name]

    def __setitem__(self, name: str, value: str) -> None:
        self._variables[name] = value

    def __delitem__(self, name: str) -> None:
        del self._variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._variables))

    def __len__(self) -> int:
        return len(self._variables)

    def __or__(self, other: Mapping[str, str]) -> dict[str, str]:
        return {**self._variables, **other}

    def copy(self) -> dict[str, str]:
        return dict(self._variables)
