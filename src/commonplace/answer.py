"""What a call returns: the reply of its operation, and what rides beside it: notices, suggestions, verified authors."""

from collections.abc import Collection
from typing import Any

import msgspec

from commonplace import access
from commonplace.authors import find_shown_authors
from commonplace.quoting.marks import mark_notice, mark_reply

_encode = msgspec.json.Encoder().encode


class Answer(msgspec.Struct, frozen=True):
    reply: Any
    notices: list[str]
    project: str = access.SHARED
    suggestions: Collection[str] = ()
    key_names: Collection[str] = ()
    """Names of other agents that belong to a key: whoever writes under one of them is verified."""
    rules: Any = None
    """The rules of the project, for a hook that has another version of them."""

    def to_text(self) -> bytes:
        body = mark_reply(_encode(self.reply))
        if not (self.notices or self.suggestions or self.key_names or self.rules):
            return body
        verified = find_shown_authors(body, self.notices, self.key_names) if self.key_names else []
        notices = [mark_notice(notice) for notice in self.notices]
        beside = {
            "did_you_mean": list(self.suggestions),
            "_notice": notices,
            "_verified": verified,
            "_rules": self.rules,
        }
        fields = _encode({name: value for name, value in beside.items() if value})
        if fields == b"{}":
            return body
        comma = b"," if len(body) > len(b"{}") else b""
        return body[:-1] + comma + fields[1:]
