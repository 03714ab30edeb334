"""The database that an engine connects to. The room databases builds it from the operator's environment."""

from dataclasses import dataclass, field

from commonplace.sqlguard.dialects import Dialect


@dataclass(frozen=True, slots=True)
class QueryTarget:
    """Address, login and time limit of one database."""

    name: str
    dialect: Dialect
    database: str
    host: str = ""
    port: int = 0
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    timeout_seconds: float = 30
