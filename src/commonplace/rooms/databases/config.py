"""The databases that the operator registered by environment, read once."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from commonplace import access, errors
from commonplace.sqlguard.dialects import DIALECTS, Dialect
from commonplace.sqlguard.engines.target import QueryTarget

_PORTS: dict[Dialect, int] = {"mssql": 1433, "mysql": 3306, "postgresql": 5432, "sqlite": 0}
_TYPE = re.compile(r"DB_([A-Z0-9]+(?:_[A-Z0-9]+)*)_TYPE")
_TRUE = frozenset({"true", "1", "yes", "on"})
_SPELLINGS = {"postgres": "postgresql", "mariadb": "mysql", "sqlserver": "mssql", "sqlite3": "sqlite"}
_LONGEST_SECONDS = 600
_MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Registered(QueryTarget):
    """One database that agents may read. `problem` says why nobody can, in words for its operator."""

    asked_to_write: bool = False
    max_rows: int = 500
    projects: frozenset[str] = frozenset({access.EVERY})
    problem: str = ""

    def serves(self, project: str) -> bool:
        return access.EVERY in self.projects or project in self.projects


@cache
def registered() -> Mapping[str, Registered]:
    """By lower-case name; the environment of a process does not change, so it is read by the first call."""
    return read(os.environ)


def read(environ: Mapping[str, str]) -> dict[str, Registered]:
    names = sorted(match[1] for key in environ if (match := _TYPE.fullmatch(key)))
    return {name.lower(): _one(name, environ) for name in names}


def _one(name: str, environ: Mapping[str, str]) -> Registered:
    def given(part: str) -> str:
        return environ.get(f"DB_{name}_{part}", "").strip()

    kind = given("TYPE").lower()
    kind = _SPELLINGS.get(kind, kind)
    if kind not in DIALECTS:
        unknown = f"DB_{name}_TYPE is one of: {', '.join(DIALECTS)}."
        return Registered(name.lower(), "sqlite", "", problem=unknown, projects=_projects(given("PROJECTS")))
    dialect = next(each for each in DIALECTS if each == kind)
    try:
        return Registered(
            name=name.lower(),
            dialect=dialect,
            database=given("NAME"),
            host=given("HOST") or "127.0.0.1",
            port=int(_number(f"DB_{name}_PORT", given("PORT"), _PORTS[dialect], 65535)),
            user=given("USER"),
            password=environ.get(f"DB_{name}_PASS", ""),
            asked_to_write=bool(given("READONLY")) and given("READONLY").lower() not in _TRUE,
            timeout=_number(f"DB_{name}_TIMEOUT", given("TIMEOUT"), 30, _LONGEST_SECONDS),
            max_rows=int(_number(f"DB_{name}_MAX_ROWS", given("MAX_ROWS"), 500, _MOST_ROWS)),
            projects=_projects(given("PROJECTS")),
            problem="" if given("NAME") else f"DB_{name}_NAME is not set.",
        )
    except errors.Invalid as wrong:
        return Registered(
            name.lower(), dialect, given("NAME"), problem=wrong.message, projects=_projects(given("PROJECTS"))
        )


def _projects(listed: str) -> frozenset[str]:
    names = [name.strip() for name in listed.split(",") if name.strip()]
    if not names or access.EVERY in names:
        return frozenset({access.EVERY})
    return frozenset(access.project_name(name) for name in names)


def _number(name: str, text: str, default: float, most: float) -> float:
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 < value <= most:
        raise errors.Invalid(f"{name} is a number from 1 to {most:g}.")
    return value
