"""Which authors of a reply are verified: their name belongs to a key, so that nobody else could write under it.

Every reply shows who wrote its texts. A name without a key is what its agent calls itself.
"""

import re
from collections.abc import Collection, Sequence

import msgspec

_AUTHOR_FIELD = re.compile(
    rb'"(?:author|from|sender|by|owner|agent|held_by|claimed_by|was_claimed_by|(?:created|updated|completed|checked|added|'
    rb'described|enriched|closed)_by)":("[^"\\\\]+")'
)
_MAIL_NOTICE = re.compile(r'\d+ new messages?(?: \(\d+ urgent\))? from (.+?)(?:: ".*)?')


def find_shown_authors(reply: bytes, notices: Sequence[str], names: Collection[str]) -> list[str]:
    """Those of the names that a reply, as JSON, or its notices show as an author."""
    shown = {msgspec.json.decode(match, type=str) for match in _AUTHOR_FIELD.findall(reply)}
    shown |= {name for notice in notices for name in _list_notice_authors(notice)}
    return sorted(shown & set(names))


def _list_notice_authors(notice: str) -> list[str]:
    """A notice begins with who did something, or names whom mail is from; its other words may be anybody's text."""
    mail = _MAIL_NOTICE.fullmatch(notice)
    return mail[1].split(", ") if mail else notice.split(maxsplit=1)[:1]
