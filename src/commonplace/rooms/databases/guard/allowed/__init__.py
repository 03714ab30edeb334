"""The functions that only read, by dialect: one text of names each."""

from functools import cache
from importlib import resources


@cache
def functions(dialect: str) -> frozenset[str]:
    return frozenset(resources.files(__name__).joinpath(f"{dialect}.txt").read_text("utf-8").split())
