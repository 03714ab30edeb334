"""A function, method or class as extracted from source. Its fields are those of memory_sync_functions."""

import hashlib
from typing import Any

import msgspec

MAX_CODE_CHARACTERS = 6000


class SourceFunction(msgspec.Struct, omit_defaults=True):
    """`body` is a hash of the normalised body: blind to comments, layout and docstrings."""

    file: str
    name: str
    kind: str
    language: str
    line: int
    end_line: int
    signature: str
    body: str
    complexity: int = 1
    returns: str = ""
    doc: str = ""
    parameters: list[dict[str, Any]] = []
    raises: list[str] = []
    calls: list[str] = []
    called_by: list[str] = []
    side_effects: list[str] = []
    code: str = ""

    @property
    def short_name(self) -> str:
        """The name without its class or module."""
        return self.name.partition("#")[0].rpartition(".")[2]


def compute_digest(function: SourceFunction) -> str:
    """Return a digest that does not change when only the function's lines move."""
    fields = msgspec.to_builtins(function)
    digested = {name: value for name, value in fields.items() if name not in ("line", "end_line", "code")}
    return hashlib.blake2b(msgspec.json.encode(digested, order="sorted"), digest_size=12).hexdigest()
