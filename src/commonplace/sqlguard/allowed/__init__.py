"""The names that a statement may use: one text file for each kind of name."""

from functools import cache
from importlib import resources


@cache
def load_names(kind: str) -> frozenset[str]:
    return frozenset(resources.files(__name__).joinpath(f"{kind}.txt").read_text("utf-8").split())


def load_function_names(dialect: str) -> frozenset[str]:
    """Functions that only read; every other function is refused."""
    return load_names(f"{dialect}_functions")
