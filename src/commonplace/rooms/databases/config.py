"""The databases that the operator registers with environment variables DB_<NAME>_*."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from commonplace import access, errors
from commonplace.sqlguard.dialects import DIALECTS, Dialect
from commonplace.sqlguard.engines.target import QueryTarget

_DEFAULT_PORTS: dict[Dialect, int] = {"mssql": 1433, "mysql": 3306, "postgresql": 5432, "sqlite": 0}
_TYPE_VARIABLE = re.compile(r"DB_([A-Z0-9]+(?:_[A-Z0-9]+)*)_TYPE")
_TRUE_VALUES = frozenset({"true", "1", "yes", "on"})
_DIALECT_SYNONYMS = {"postgres": "postgresql", "mariadb": "mysql", "sqlserver": "mssql", "sqlite3": "sqlite"}
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

    kind = read_variable("TYPE").lower()
    kind = _DIALECT_SYNONYMS.get(kind, kind)
    if kind not in DIALECTS:
        problem = f"DB_{name}_TYPE must be one of: {', '.join(DIALECTS)}."
        return RegisteredDatabase(
            name.lower(), "sqlite", "", problem=problem, projects=_parse_projects(read_variable("PROJECTS"))
        )
    dialect = next(dialect for dialect in DIALECTS if dialect == kind)
    try:
        return RegisteredDatabase(
            name=name.lower(),
            dialect=dialect,
            database=read_variable("NAME"),
            host=read_variable("HOST") or "127.0.0.1",
            port=int(_parse_number(f"DB_{name}_PORT", read_variable("PORT"), _DEFAULT_PORTS[dialect], 65535)),
            user=read_variable("USER"),
            password=environ.get(f"DB_{name}_PASS", ""),
            asked_to_write=bool(read_variable("READONLY"))
            and read_variable("READONLY").lower() not in _TRUE_VALUES,
            timeout_seconds=_parse_number(
                f"DB_{name}_TIMEOUT", read_variable("TIMEOUT"), 30, _MAX_TIMEOUT_SECONDS
            ),
            max_rows=int(_parse_number(f"DB_{name}_MAX_ROWS", read_variable("MAX_ROWS"), 500, _MAX_ROWS)),
            projects=_parse_projects(read_variable("PROJECTS")),
            problem="" if read_variable("NAME") else f"DB_{name}_NAME is not set.",
        )
    except errors.Invalid as error:
        return RegisteredDatabase(
            name.lower(),
            dialect,
            read_variable("NAME"),
            problem=error.message,
            projects=_parse_projects(read_variable("PROJECTS")),
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
