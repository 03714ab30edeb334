"""The filter of every index query: kinds, types, tags, status, expiry and time of change."""

from dataclasses import dataclass

import msgspec

from commonplace.store.database import Value

ENTRY_COLUMNS = (
    "e.project, e.n, e.kind, e.id, e.type, e.status, e.title, e.counts, e.length, e.changed_at, e.expires_at"
)


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """An empty tuple means any."""

    now: int
    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    inactive: bool = False
    changed_since: int = 0
    changed_until: int = 0

    def build_clause(self, first: int) -> tuple[str, list[Value]]:
        """`and ...` over an entry `e`, with its parameters from `$first` on."""
        parts: list[str] = []
        values: list[Value] = []

        def add_condition(part: str, value: Value) -> None:
            parts.append(part.replace("?", f"${first + len(values)}"))
            values.append(value)

        for column, allowed in (("kind", self.kinds), ("type", self.types)):
            if allowed:
                add_condition(f"e.{column} = any(?)", list(allowed))
        if not self.inactive:
            parts.append("e.status = 'active'")
            add_condition("e.expires_at > ?", self.now)
        if self.changed_since:
            add_condition("e.changed_at >= ?", self.changed_since)
        if self.changed_until:
            add_condition("e.changed_at <= ?", self.changed_until)
        if self.tags:
            before = len(values)
            values += [_build_like_pattern(tag) for tag in self.tags]
            likes = (f"e.tags like ${first + before + n} escape '!'" for n in range(len(self.tags)))
            parts.append(f"({' or '.join(likes)})")
        return "".join(f" and {part}" for part in parts), values


def _build_like_pattern(tag: str) -> str:
    quoted = msgspec.json.encode(tag).decode()
    for special in "!%_":
        quoted = quoted.replace(special, f"!{special}")
    return f"%{quoted}%"
