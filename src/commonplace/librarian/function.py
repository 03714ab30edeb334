"""What is known of a function, method or class from its source alone."""

import hashlib
from typing import Any

import msgspec

CODE_LENGTH = 6000


class Function(msgspec.Struct, omit_defaults=True):
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
    def short(self) -> str:
        """The name without what it stands in."""
        return self.name.partition("#")[0].rpartition(".")[2]


def digest(function: Function) -> str:
    """Equal as long as nothing changed but the place in the file."""
    fields = msgspec.to_builtins(function)
    known = {name: value for name, value in fields.items() if name not in ("line", "end_line", "code")}
    return hashlib.blake2b(msgspec.json.encode(known, order="sorted"), digest_size=12).hexdigest()
