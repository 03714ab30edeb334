"""A noun's stored fields, declared once: columns, inserts, updates, replies and all surfaces derive from the struct.

Declare the noun as the struct of its reply in the room's model.py, its table beside it, and list it in `Room.nouns`:

    class Ticket(Reply, kw_only=True):
        project: str
        id: str
        title: Annotated[str, EDITABLE]                      # a column that callers may set
        tags: Annotated[list[str], EDITABLE] = []            # a list is a JSON text in the store
        created: Annotated[str, stored_time("created_at")]   # microseconds in the store, ISO text in replies
        age: Annotated[str, COMPUTED] = ""                   # in replies only

    TICKETS = NounTable("ticket", Ticket, hidden={"n": 0})   # columns of no surface, with their value in a new row

`select {TICKETS.columns} from ticket ...` reads rows; `TICKETS.insert(tx, values)` and `TICKETS.update(tx, row, values)`
write by name; `TICKETS.to_reply(row, age=...)` is the reply; `TICKETS.describe(row)` has what is not empty, for
memory_get_by_id (`facts` of a finder), boot sections and exports. `tests/contract/test_nouns.py` finds every field of every noun
on each of its surfaces. A new field is: the struct, the arguments of its operations, a migration.
"""

from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from commonplace.clock import iso
from commonplace.store.database import Row, Tx, Value

T = TypeVar("T", bound=msgspec.Struct)

EDITABLE: Final = "editable"
COMPUTED: Final = "computed"


class StoredTime(msgspec.Struct, frozen=True):
    column: str


def stored_time(column: str) -> StoredTime:
    return StoredTime(column)


class NounColumn(msgspec.Struct, frozen=True):
    """A field of the noun and how it is stored."""

    field: str
    name: str
    is_time: bool
    is_list: bool
    is_editable: bool

    def decode(self, stored: Any) -> Any:
        if self.is_time:
            return iso(stored) if stored else ""
        return msgspec.json.decode(stored, type=list[str]) if self.is_list else stored


class NounTable(Generic[T]):
    """The table of a noun. Its key is the project and `id`."""

    def __init__(self, name: str, noun: type[T], *, hidden: Mapping[str, Value]) -> None:
        self.name = name
        self.noun = noun
        hints = get_type_hints(noun, include_extras=True)
        self.fields = tuple(
            _read_column(field, hints[field])
            for field in noun.__struct_fields__
            if COMPUTED not in _marks(hints[field])
        )
        self.editable = tuple(column.name for column in self.fields if column.is_editable)
        self.columns = ", ".join([*(column.name for column in self.fields), *hidden])
        self._in_new_row: dict[str, Value] = {
            column.name: "[]" if column.is_list else None if column.is_time else "" for column in self.fields
        } | dict(hidden)

    async def insert(self, tx: Tx, values: Mapping[str, Any]) -> Row:
        """Insert a row; columns that are not given are empty."""
        if unknown := values.keys() - self._in_new_row.keys():
            raise TypeError(f"{self.name} has no column {sorted(unknown)}")
        row = self._in_new_row | self.encode(values)
        places = ", ".join(f"${n}" for n in range(1, len(row) + 1))
        await tx.queue(
            f"insert into {self.name} ({', '.join(row)}) values ({places})",
            *row.values(),
        )
        return row

    async def update(self, tx: Tx, row: Row, values: Mapping[str, Any], *, version: int) -> Row | None:
        """Set these columns of a row that still has this version; return the row as it is then, or None."""
        encoded = self.encode(values)
        changes = ", ".join(f"{column} = ${n}" for n, column in enumerate(encoded, 4))
        return await tx.one(
            f"update {self.name} set {changes} where project = $1 and id = $2 and version = $3"
            f" returning {self.columns}",
            *(row["project"], row["id"], version),
            *encoded.values(),
        )

    def encode(self, values: Mapping[str, Any]) -> dict[str, Value]:
        return {
            name: encode_texts(value) if isinstance(value, list | tuple) else value
            for name, value in values.items()
        }

    def describe(self, row: Row) -> dict[str, Any]:
        """The fields of a row that are not empty, as replies show them."""
        shown = {column.field: column.decode(row[column.name]) for column in self.fields}
        return {name: value for name, value in shown.items() if value or value == 0}

    def to_reply(self, row: Row, **computed: Any) -> T:
        return self.noun(**self.describe(row), **computed)


def list_facts(reply: msgspec.Struct) -> dict[str, Any]:
    """The fields of a reply that differ from their defaults."""
    facts: dict[str, Any] = msgspec.to_builtins(reply)
    return facts


def encode_texts(texts: list[str] | tuple[str, ...]) -> str:
    return msgspec.json.encode(list(dict.fromkeys(texts))).decode()


def _marks(hint: Any) -> tuple[Any, ...]:
    return tuple(getattr(hint, "__metadata__", ()))


def _read_column(field: str, hint: Any) -> NounColumn:
    times = [mark.column for mark in _marks(hint) if isinstance(mark, StoredTime)]
    kind = get_args(hint)[0] if _marks(hint) else hint
    return NounColumn(
        field=field,
        name=times[0] if times else field,
        is_time=bool(times),
        is_list=(get_origin(kind) or kind) is list,
        is_editable=EDITABLE in _marks(hint),
    )
