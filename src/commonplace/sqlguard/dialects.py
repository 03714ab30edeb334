"""The SQL dialects that the guard can check and the engines can run."""

from typing import Literal, get_args

Dialect = Literal["postgresql", "mysql", "mssql", "sqlite"]

DIALECTS: tuple[Dialect, ...] = get_args(Dialect)
