"""The texts of the notices that ride on the next reply to a session. `activity.py` stores and takes them.

A notice of mail has the id of its message, and its text holds priority, sender and subject: all of them become one
line.
"""

from collections.abc import Sequence

from commonplace.store.database import Row

MAIL_PREFIX = "msg_"
_MAX_SENDERS = 5
_MAX_SUBJECTS = 3
_MAX_SUBJECT_LENGTH = 60


def mail_text(priority: str, sender: str, subject: str) -> str:
    return f"{priority} {sender}\n{subject[:_MAX_SUBJECT_LENGTH]}"


def format_notices(rows: Sequence[Row]) -> list[str]:
    """Return one line for all mail, then the other texts, oldest first."""
    ordered = sorted(rows, key=lambda row: (row["at"], row["id"]))
    mail = [row["text"] for row in ordered if row["id"].startswith(MAIL_PREFIX)]
    texts = [row["text"] for row in ordered if not row["id"].startswith(MAIL_PREFIX)]
    return [_format_mail(mail), *texts] if mail else texts


def _format_mail(texts: Sequence[str]) -> str:
    heads = [text.partition("\n") for text in texts]
    priorities, senders = zip(*(head.split(" ", 1) for head, _, _ in heads), strict=True)
    subjects = [f'"{" ".join(subject.split())}"' for _, _, subject in heads if subject.strip()]
    urgent = priorities.count("urgent")
    count = f"{len(texts)} new message{'s' if len(texts) > 1 else ''}"
    mail = f"{count}{f' ({urgent} urgent)' if urgent else ''} from {list_names(senders, _MAX_SENDERS)}"
    return f"{mail}: {', '.join(subjects[:_MAX_SUBJECTS])}" if subjects else mail


def list_names(names: Sequence[str], limit: int) -> str:
    """List a few names and count the rest: `a.py, b.py and 3 more`."""
    distinct = sorted(set(names))
    more = len(distinct) - limit
    return ", ".join(distinct[:limit]) + (f" and {more} more" if more > 0 else "")
