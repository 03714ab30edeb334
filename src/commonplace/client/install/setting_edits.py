"""Edits of an agent's settings, and the record of an applied edit."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

EditPart = Literal["settings", "connection", "hooks", "schedule"]


@dataclass(frozen=True, slots=True)
class PutValue:
    """Set the value at these keys."""

    path: Path
    at: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class EnsureValue:
    """Set the value at these keys unless there is one; undone only if nothing else is in the object."""

    path: Path
    at: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class AppendElement:
    """Add this element to the array at these keys."""

    path: Path
    at: tuple[str, ...]
    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Write the whole file, which is ours."""

    path: Path
    text: str


SettingEdit = PutValue | EnsureValue | AppendElement | WriteFile


class AppliedEdit(msgspec.Struct, omit_defaults=True):
    """An edit as it was applied, with what is needed to undo it. Stored in installed.json."""

    act: Literal["put", "ensure", "append", "whole"]
    at: list[str]
    value: Any = None
    agent: str = ""
    part: EditPart = "connection"
    made: int = 0  # the keys from this index on were created
    before: str | None = None  # the text of a replaced value, or of a whole document
    entry: str | None = None  # the text of a replaced TOML entry
    inside: str | None = None  # the whitespace inside a container that had been empty
    text: str | None = None  # the text that was added to a TOML document
