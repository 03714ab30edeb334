"""What a call returns: the reply of its operation, and what rides beside it: notices, suggestions, verified authors."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from commonplace import access
from commonplace.authors import find_shown_authors
from commonplace.identity.names import NameOwner, describe_author
from commonplace.quoting.marks import mark_notice, mark_reply

_encode = msgspec.json.Encoder().encode


class Answer(msgspec.Struct, frozen=True):
    reply: Any
    notices: list[str]
    project: str = access.SHARED
    suggestions: Collection[str] = ()
    name_owners: Mapping[str, NameOwner] = {}
    """Names of others that belong to a key or a person: whoever writes under one of them is verified."""
    rules: Any = None
    """The rules of the project, for a hook that has another version of them."""

    def to_text(self) -> bytes:
        body = mark_reply(_encode(self.reply))
        if not (self.notices or self.suggestions or self.name_owners or self.rules):
            return body
        shown = find_shown_authors(body, self.notices, self.name_owners) if self.name_owners else []
        by = [describe_author(self.name_owners, name) for name in shown]
        notices = [mark_notice(notice) for notice in self.notices]
        beside = {
            "did_you_mean": list(self.suggestions),
            "_notice": notices,
            "_by": by,
            "_rules": self.rules,
        }
        fields = _encode({name: value for name, value in beside.items() if value})
        if fields == b"{}":
            return body
        comma = b"," if len(body) > len(b"{}") else b""
        return body[:-1] + comma + fields[1:]
