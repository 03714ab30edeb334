"""What an agent's settings shall say, and what was done to make them say it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

EditPart = Literal["settings", "connection", "hooks", "schedule"]


@dataclass(frozen=True, slots=True)
class PutValue:
    """The member at these keys has this value."""

    path: Path
    at: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class EnsureValue:
    """There is a member at these keys; what stands there is left, and it goes only when nothing else is left."""

    path: Path
    at: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class AppendElement:
    """The array at these keys has this element."""

    path: Path
    at: tuple[str, ...]
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WriteFile:
    """The file is ours from its first byte to its last."""

    path: Path
    text: str


SettingEdit = PutValue | EnsureValue | AppendElement | WriteFile


class AppliedEdit(msgspec.Struct, omit_defaults=True):
    """One wish as it was fulfilled: what is needed to take it back."""

    act: Literal["put", "ensure", "append", "whole"]
    at: list[str]
    value: Any = None
    agent: str = ""
    part: EditPart = "connection"
    made: int = 0  # keys from this one on were not there before
    before: str | None = None  # what a replaced value said, as it was written
    entry: str | None = None  # the same, where only the entry is put back and not the whole document
    inside: str | None = None  # the blanks between the brackets of a container that had been empty
    text: str | None = None  # what was added, where text is added as such
