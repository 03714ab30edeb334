"""The databases that the operator registers with environment variables DB_<NAME>_*; the room stores nothing else."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from commonplace import access, errors
from commonplace.sqlguard import DIALECTS
from commonplace.sqlguard.query_rows import QueryTarget

_TYPE_VARIABLE = re.compile(r"DB_([A-Z0-9]+(?:_[A-Z0-9]+)*)_TYPE")
_TRUE_VALUES = frozenset({"true", "1", "yes", "on"})
_DIALECTS = {name: dialect for dialect in DIALECTS.values() for name in (dialect.name, *dialect.synonyms)}
_MAX_TIMEOUT_SECONDS = 600
_MAX_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class RegisteredDatabase(QueryTarget):
    """A database that agents may query. `problem` tells its operator why it cannot be used."""

    asked_to_write: bool = False
    max_rows: int = 500
    projects: frozenset[str] = frozenset({access.ALL_PROJECTS})
    problem: str = ""

    def is_open_to(self, project: str) -> bool:
        return access.ALL_PROJECTS in self.projects or project in self.projects


@cache
def load_registered_databases() -> Mapping[str, RegisteredDatabase]:
    """By lower-case name. The environment of a process does not change, so only the first call reads it."""
    return read_databases(os.environ)


def read_databases(environ: Mapping[str, str]) -> dict[str, RegisteredDatabase]:
    names = sorted(match[1] for key in environ if (match := _TYPE_VARIABLE.fullmatch(key)))
    return {name.lower(): _read_database(name, environ) for name in names}


def _read_database(name: str, environ: Mapping[str, str]) -> RegisteredDatabase:
    def read_variable(part: str) -> str:
        return environ.get(f"DB_{name}_{part}", "").strip()

    projects = _parse_projects(read_variable("PROJECTS"))
    dialect = _DIALECTS.get(read_variable("TYPE").lower())
    if dialect is None:
        problem = f"DB_{name}_TYPE must be one of: {', '.join(DIALECTS)}."
        return RegisteredDatabase(name.lower(), "sqlite", "", problem=problem, projects=projects)

    def read_number(part: str, default: float, maximum: float) -> float:
        return _parse_number(f"DB_{name}_{part}", read_variable(part), default, maximum)

    read_only = read_variable("READONLY").lower()
    try:
        return RegisteredDatabase(
            name=name.lower(),
            dialect=dialect.name,
            database=read_variable("NAME"),
            host=read_variable("HOST") or "127.0.0.1",
            port=int(read_number("PORT", dialect.default_port, 65535)),
            user=read_variable("USER"),
            password=environ.get(f"DB_{name}_PASS", ""),
            asked_to_write=bool(read_only) and read_only not in _TRUE_VALUES,
            timeout_seconds=read_number("TIMEOUT", 30, _MAX_TIMEOUT_SECONDS),
            max_rows=int(read_number("MAX_ROWS", 500, _MAX_ROWS)),
            projects=projects,
            problem="" if read_variable("NAME") else f"DB_{name}_NAME is not set.",
        )
    except errors.Invalid as error:
        return RegisteredDatabase(
            name.lower(), dialect.name, read_variable("NAME"), problem=error.message, projects=projects
        )


def _parse_projects(listed: str) -> frozenset[str]:
    names = [name.strip() for name in listed.split(",") if name.strip()]
    if not names or access.ALL_PROJECTS in names:
        return frozenset({access.ALL_PROJECTS})
    return frozenset(access.normalize_project_name(name) for name in names)


def _parse_number(name: str, text: str, default: float, maximum: float) -> float:
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 < value <= maximum:
        raise errors.Invalid(f"{name} must be a number from 1 to {maximum:g}.")
    return value
