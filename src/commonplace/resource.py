"""A resource: a URI template whose placeholders are the arguments of the operation that reads it.

Each room defines its resources in `rooms/<room>/resources.py`. Clients read them and subscribe to them over MCP;
`events.py` says which events notify the subscribers.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote

from commonplace.operation import Operation

PLAIN = ":@+.-_/"
"""Characters that are not escaped in an address, besides letters and digits."""

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Resource:
    template: str
    title: str
    operation: Operation
    mime_type: str = "application/json"
    full_ids: Callable[[Any], Mapping[str, str]] | None = None
    """For templates whose ids may be abbreviated: reads the full ids from the reply."""

    @cached_property
    def placeholders(self) -> tuple[str, ...]:
        return tuple(_PLACEHOLDER.findall(self.template))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Each placeholder matches one segment, except the last, which may contain slashes."""
        parts = _PLACEHOLDER.split(self.template)
        pattern = re.escape(parts[0])
        for index in range(1, len(parts), 2):
            segment = ".+" if index == len(parts) - 2 else "[^/]+"
            pattern += f"(?P<{parts[index]}>{segment})" + re.escape(parts[index + 1])
        return re.compile(pattern)

    def match_uri(self, uri: str) -> dict[str, str] | None:
        """The values of the placeholders, or None if the template does not match."""
        match = self._pattern.fullmatch(uri)
        return {name: unquote(value) for name, value in match.groupdict().items()} if match else None

    def format_uri(self, **values: str) -> str:
        """The canonical address of one thing: reserved characters are escaped."""
        return _PLACEHOLDER.sub(lambda match: quote(values[match[1]], safe=PLAIN), self.template)
