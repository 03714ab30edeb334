"""A resource: a URI template whose placeholders are the arguments of an operation that reads it."""

import re
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, unquote

from commonplace.operation import Operation

PLAIN = ":@+.-_/"
"""What is not escaped in an address, besides letters and digits."""

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Resource:
    template: str
    title: str
    operation: Operation
    mime_type: str = "application/json"

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(_PLACEHOLDER.findall(self.template))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Each placeholder is one segment, but the last, which may hold slashes."""
        parts = _PLACEHOLDER.split(self.template)
        pattern = re.escape(parts[0])
        for place in range(1, len(parts), 2):
            segment = ".+" if place == len(parts) - 2 else "[^/]+"
            pattern += f"(?P<{parts[place]}>{segment})" + re.escape(parts[place + 1])
        return re.compile(pattern)

    def match(self, uri: str) -> dict[str, str] | None:
        found = self._pattern.fullmatch(uri)
        return {name: unquote(value) for name, value in found.groupdict().items()} if found else None

    def uri(self, **values: str) -> str:
        """The address of one thing, with odd characters escaped."""
        return _PLACEHOLDER.sub(lambda found: quote(values[found[1]], safe=PLAIN), self.template)


def escaped(uri: str) -> str:
    """The spelling in which a resource is listed, of an address that may be escaped already."""
    return quote(uri, safe=PLAIN + "%")
