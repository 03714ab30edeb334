"""One call with validated arguments, before its transaction; `call.py` runs it.

A write that may have nothing to record, such as a heartbeat, is tried as a read first: it then needs no commit, and its
session is marked as active within a second, as after every read.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import msgspec
from msgspec import structs

from commonplace.access import Caller
from commonplace.arguments import SecretMask
from commonplace.idempotency import RequestKey
from commonplace.operation import Operation


class MustWrite(Exception):
    """Raised by an operation that is tried as a read and has something to record: it runs again as a write."""


class CallRequest(msgspec.Struct):
    """`prepared` is what the operation prepared."""

    operation: Operation
    arguments: Mapping[str, Any]
    caller: Caller
    mask: SecretMask
    key: RequestKey | None = None
    prepared: Any = None
    attempts: int = 0

    @property
    def reads_first(self) -> bool:
        """Is this a write without arguments that may have nothing to record?"""
        operation = self.operation
        if not operation.reads_when_bare or self.key is not None:
            return False
        own = operation.session_argument
        return all(value is None for name, value in self.arguments.items() if name != own)

    def as_read(self) -> "CallRequest":
        return structs.replace(self, operation=_read_variant(self.operation))


@cache
def _read_variant(operation: Operation) -> Operation:
    return replace(operation, writes=False, reads_when_bare=False)
