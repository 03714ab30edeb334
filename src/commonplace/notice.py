"""The texts of the notices that ride on the next reply to a session. `activity.py` stores and takes them.

A notice of mail has the id of its message, and its text holds priority, sender and title: all of them become one
line. A notice of posts on a blackboard, or of decisions, is one row with an entry for each; it becomes one line, too.
The text of a notice that a path came free is that path, so that one of several can be dropped; all become one line.
"""

from collections.abc import Collection, Sequence

from commonplace.clock import SECOND, format_time_of_day
from commonplace.shortening import shorten_line
from commonplace.store.database import Row

MAIL_PREFIX = "msg_"
POST_PREFIX = "post_"
ANSWER_PREFIX = "answer_"
FREE_PREFIX = "free_"
LOCK_RESERVATION = 60 * SECOND
"""How long a path that came free is reserved for the session that is told of it (`rooms/locks/reservations.py`)."""
NAMESAKE_PREFIX = "namesake_"
DECISION_ID = "decisions"
_MAX_ENTRIES = 20
_MAX_SENDERS = 5
_MAX_FREE_PATHS = 5
_MAX_SUBJECTS = 3
_MAX_SUBJECT_LENGTH = 60
_MAX_MAIL_TITLE_LENGTH = 80
_ANSWER_MARK = "+answer"
_FIELD, _ENTRY = "\t", "\n"


def mail_text(priority: str, sender: str, title: str, *, is_answer: bool = False) -> str:
    """`is_answer`: it replies to a message of the reader."""
    mark = _ANSWER_MARK if is_answer else ""
    return f"{priority}{mark} {sender}\n{shorten_line(title, _MAX_MAIL_TITLE_LENGTH)}"


def is_urgent_mail(row: Row) -> bool:
    return bool(row["id"].startswith(MAIL_PREFIX) and row["text"].startswith("urgent"))


def post_entry(sender: str, sequence: int, read: int) -> str:
    """`read` is the last post that the session has read."""
    return _join_fields(sender, str(sequence), str(read))


def decision_entry(author: str, document: str, title: str, details: Sequence[str] = ()) -> str:
    """`details` say how it relates to what was decided before, such as `version 2`."""
    return _join_fields(
        author, ", ".join([f'{document} "{shorten_line(title, _MAX_SUBJECT_LENGTH)}"', *details])
    )


def _join_fields(*fields: str) -> str:
    return _FIELD.join(" ".join(field.split()) for field in fields)


def join_entries(entries: str, entry: str) -> str:
    """Add an entry; of very many the first and the last ones are kept, so that a notice stays small."""
    known = entries.split(_ENTRY)
    if entry in known:
        return entries
    return _ENTRY.join([*known[: _MAX_ENTRIES - 1], entry])


def drop_entries(entries: str, names: Collection[str]) -> str:
    """Leave out the entries that begin, after their author, with one of these names, such as the id of a document."""
    kept = [
        entry for entry in entries.split(_ENTRY) if entry.partition(_FIELD)[2].split(" ", 1)[0] not in names
    ]
    return _ENTRY.join(kept)


def format_notices(rows: Sequence[Row]) -> list[str]:
    """Return one line for all mail, then the other texts, oldest first, then one line for all paths that are reserved."""
    ordered = sorted(rows, key=lambda row: (row["at"], row["id"]))
    mail = [row["text"] for row in ordered if row["id"].startswith(MAIL_PREFIX)]
    free = [row for row in ordered if row["id"].startswith(FREE_PREFIX)]
    texts = [_format_notice(row) for row in ordered if not row["id"].startswith((MAIL_PREFIX, FREE_PREFIX))]
    return [*([_format_mail(mail)] if mail else []), *texts, *([_format_free_paths(free)] if free else [])]


def _format_free_paths(rows: Sequence[Row]) -> str:
    """A region is named as it was asked for, with its version, so that the same lines can be locked."""
    paths = [row["text"] for row in rows]
    verb, pronoun = ("is", "it") if len(set(paths)) == 1 else ("are", "them")
    names = list_names(paths, _MAX_FREE_PATHS)
    until = format_time_of_day(min(row["at"] for row in rows) + LOCK_RESERVATION)
    seconds = LOCK_RESERVATION // SECOND
    return f"{names} {verb} free and reserved for you until {until} ({seconds} s): lock {pronoun} with memory_lock_files."


def _format_notice(row: Row) -> str:
    if row["id"].startswith(POST_PREFIX):
        return _format_posts(row["id"].removeprefix(POST_PREFIX), row["text"])
    return _format_decisions(row["text"]) if row["id"] == DECISION_ID else str(row["text"])


def _format_posts(blackboard: str, text: str) -> str:
    entries = [_split_post(entry) for entry in text.split(_ENTRY)]
    sequences = [int(sequence) for _, sequence, _ in entries]
    after = min(int(read) for _, _, read in entries)
    count = max(len(entries), max(sequences) - min(sequences) + 1 if len(entries) == _MAX_ENTRIES else 0)
    posts = f"{count} new post{'s' if count > 1 else ''} on blackboard {blackboard}"
    authors = list_names([sender for sender, _, _ in entries], _MAX_SENDERS)
    return f'{posts} by {authors}: get_context(session_id="{blackboard}", after={after})'


def _split_post(entry: str) -> tuple[str, str, str]:
    """An entry of an earlier release does not say what was read: it began with its own post."""
    sender, sequence, *read = entry.split(_FIELD)
    return sender, sequence, read[0] if read else str(int(sequence) - 1)


def _format_decisions(text: str) -> str:
    entries = [entry.split(_FIELD) for entry in text.split(_ENTRY)]
    authors = list_names([author for author, *_ in entries], _MAX_SENDERS)
    listed = [" ".join(what) for _, *what in entries[-_MAX_SUBJECTS:]]
    more = f" and {len(entries) - len(listed)} more" if len(entries) > len(listed) else ""
    what = "a decision" if len(entries) == 1 else f"{len(entries)} decisions"
    return f"{authors} recorded {what}: {', '.join(listed)}{more} (memory_get_by_id)"


def _format_mail(texts: Sequence[str]) -> str:
    heads = [text.partition("\n") for text in texts]
    priorities, senders = zip(*(head.split(" ", 1) for head, _, _ in heads), strict=True)
    urgent = sum(priority.startswith("urgent") for priority in priorities)
    count = f"{len(texts)} new message{'s' if len(texts) > 1 else ''}"
    mail = f"{count}{f' ({urgent} urgent)' if urgent else ''} from {list_names(senders, _MAX_SENDERS)}"
    titles = _list_mail_titles(priorities, [" ".join(title.split()) for _, _, title in heads])
    more = f" and {len(titles) - _MAX_SUBJECTS} more" if len(titles) > _MAX_SUBJECTS else ""
    return f"{mail}: {', '.join(titles[:_MAX_SUBJECTS])}{more}" if titles else mail


def _list_mail_titles(priorities: Sequence[str], titles: Sequence[str]) -> list[str]:
    """The answers to the reader first, then what is urgent."""
    ranked = sorted(
        zip(priorities, titles, strict=True),
        key=lambda mail: (not mail[0].endswith(_ANSWER_MARK), not mail[0].startswith("urgent")),
    )
    shown = (
        f'"{title}"{" (answers yours)" if priority.endswith(_ANSWER_MARK) else ""}'
        for priority, title in ranked
        if title
    )
    return list(dict.fromkeys(shown))


def list_names(names: Sequence[str], limit: int) -> str:
    """List a few names and count the rest: `a.py, b.py and 3 more`."""
    distinct = sorted(set(names))
    more = len(distinct) - limit
    return ", ".join(distinct[:limit]) + (f" and {more} more" if more > 0 else "")
