"""The names that a statement may use: one text of words for each kind of name."""

from functools import cache
from importlib import resources


@cache
def names(kind: str) -> frozenset[str]:
    return frozenset(resources.files(__name__).joinpath(f"{kind}.txt").read_text("utf-8").split())


def functions(dialect: str) -> frozenset[str]:
    """Those that only read; every other function is refused."""
    return names(f"{dialect}_functions")
