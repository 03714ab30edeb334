"""The texts of the notices that ride on the next reply to a session. `activity.py` stores and takes them.

A notice of mail has the id of its message, and its text holds only priority and sender: all of them become one line.
"""

from collections.abc import Sequence

from commonplace.store.database import Row

MAIL_PREFIX = "msg_"
_MAX_SENDERS = 5


def mail_text(priority: str, sender: str) -> str:
    return f"{priority} {sender}"


def format_notices(rows: Sequence[Row]) -> list[str]:
    """Return one line for all mail, then the other texts, oldest first."""
    ordered = sorted(rows, key=lambda row: (row["at"], row["id"]))
    mail = [row["text"] for row in ordered if row["id"].startswith(MAIL_PREFIX)]
    texts = [row["text"] for row in ordered if not row["id"].startswith(MAIL_PREFIX)]
    return [_format_mail(mail), *texts] if mail else texts


def _format_mail(texts: Sequence[str]) -> str:
    priorities, senders = zip(*(text.split(" ", 1) for text in texts), strict=True)
    urgent = priorities.count("urgent")
    count = f"{len(texts)} new message{'s' if len(texts) > 1 else ''}"
    return f"{count}{f' ({urgent} urgent)' if urgent else ''} from {list_names(senders, _MAX_SENDERS)}"


def list_names(names: Sequence[str], limit: int) -> str:
    """List a few names and count the rest: `a.py, b.py and 3 more`."""
    distinct = sorted(set(names))
    more = len(distinct) - limit
    return ", ".join(distinct[:limit]) + (f" and {more} more" if more > 0 else "")
