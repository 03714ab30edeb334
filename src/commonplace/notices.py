"""Notices: what a session should know at once rides on its next reply, once.

A notice has a kind and a body, and one line is made of them here when it is read. One that has a subject, such as the
id of a message, replaces an unread one of the same kind and subject, or its entry joins it; whoever reads the thing
itself is not told of it any more. Who is alive is decided in `identity/liveness.py`.
"""

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

import msgspec

from commonplace.identity.liveness import list_live_sessions
from commonplace.identity.session import AgentSession
from commonplace.shortening import list_names, shorten_line
from commonplace.store.database import Row, Tx, Value

NoticeKind = Literal[
    "text",
    "mail",
    "post",
    "decision",
    "free",
    "wanted",
    "lapsed",
    "wait",
    "arrival",
    "answer",
    "guideline",
    "spec",
    "handoff",
    "namesake",
]

_MAX_ENTRIES = 20
_MAX_NAMES = 5
_MAX_TITLES = 3
_MAX_WHOLE_MAIL = 5
_MAX_DECISION_CHARACTERS = 60
_MAX_MAIL_TITLE_CHARACTERS = 80
_MAX_RULE_CHARACTERS = 200
_MAX_HANDOFF_CHARACTERS = 160

_Body = Mapping[str, Any]
_encode = msgspec.json.Encoder().encode


class Notice(msgspec.Struct, frozen=True):
    kind: NoticeKind
    body: dict[str, Any]
    subject: str = ""


def _read_news(news: Notice | str) -> Notice:
    return Notice("text", {"text": news}) if isinstance(news, str) else news


async def notify_sessions(
    tx: Tx, project: str, sessions: Sequence[str], news: Notice | str, now: int
) -> None:
    """Leave a notice, or news in free words, for each of these sessions."""
    notice = _read_news(news)
    if notice.subject:
        await drop_notices(tx, project, notice.kind, sessions=sessions, subjects=[notice.subject])
    await leave_notices(tx, project, dict.fromkeys(sessions, notice), now)


async def notify_agents(
    tx: Tx, project: str, agents: Sequence[str], news: Notice | str, now: int
) -> list[str]:
    """Leave a notice for every live session of these agents; return the agents that have one."""
    rows = await list_live_sessions(tx, project, now, agents=agents) if agents else []
    return await _notify_rows(tx, project, rows, news, now)


async def notify_project(tx: Tx, project: str, news: Notice | str, now: int, but: str = "") -> list[str]:
    """Leave a notice for every live session of a project, except the one that made it; return their agents."""
    return await _notify_rows(tx, project, await list_live_sessions(tx, project, now, but=but), news, now)


async def _notify_rows(tx: Tx, project: str, rows: Sequence[Row], news: Notice | str, now: int) -> list[str]:
    await notify_sessions(tx, project, [row["id"] for row in rows], news, now)
    return sorted({row["agent"] for row in rows})


async def merge_notices(tx: Tx, project: str, notice_by_session: Mapping[str, Notice], now: int) -> None:
    """Add the body of each as an entry to the unread notice of its kind and subject, or leave it as the first one."""
    if not notice_by_session:
        return
    first = next(iter(notice_by_session.values()))
    rows = await tx.all(
        "select session, at, id, body from notice where project = $1 and session = any($2) and kind = $3"
        " and subject = $4",
        project,
        list(notice_by_session),
        first.kind,
        first.subject,
    )
    await tx.many(
        "update notice set body = $5 where project = $1 and session = $2 and at = $3 and id = $4",
        [
            (
                project,
                row["session"],
                row["at"],
                row["id"],
                _add_entry(row, notice_by_session[row["session"]]),
            )
            for row in rows
        ],
    )
    known = {row["session"] for row in rows}
    fresh = {
        session: msgspec.structs.replace(notice, body={"entries": [notice.body]})
        for session, notice in notice_by_session.items()
        if session not in known
    }
    await leave_notices(tx, project, fresh, now)


def _add_entry(row: Row, notice: Notice) -> str:
    """Of very many entries the first and the last ones are kept, so that a notice stays small."""
    entries = msgspec.json.decode(row["body"])["entries"]
    if notice.body not in entries:
        entries = [*entries[: _MAX_ENTRIES - 1], notice.body]
    return _encode({"entries": entries}).decode()


async def leave_notices(tx: Tx, project: str, notice_by_session: Mapping[str, Notice], now: int) -> None:
    """Leave a notice of its own for each session, beside what is unread."""
    await tx.many(
        "insert into notice (project, session, at, id, text, kind, subject, body)"
        " values ($1, $2, $3, $4, '', $5, $6, $7)",
        [
            (
                project,
                session,
                now,
                secrets.token_hex(4),
                each.kind,
                each.subject,
                _encode(each.body).decode(),
            )
            for session, each in notice_by_session.items()
        ],
    )


async def drop_notices(
    tx: Tx,
    project: str,
    kind: NoticeKind,
    *,
    sessions: Sequence[str] | None = None,
    subjects: Sequence[str] | None = None,
) -> None:
    """Drop the unread notices of this kind, of all or of these sessions, about anything or these subjects."""
    statement, values = "delete from notice where project = $1 and kind = $2", list[Value]([project, kind])
    for column, names in (("session", sessions), ("subject", subjects)):
        if names is not None:
            values.append(list(names))
            statement += f" and {column} = any(${len(values)})"
    await tx.queue(statement, *values)


async def drop_notice_entries(
    tx: Tx, session: AgentSession, kind: NoticeKind, field: str, names: Collection[str]
) -> None:
    """Drop from merged notices of this kind the entries that have one of these names in the field."""
    rows = await tx.all(
        "delete from notice where project = $1 and session = $2 and kind = $3 returning at, subject, body",
        *(session.project, session.id, kind),
    )
    for row in rows:
        entries = [
            entry for entry in msgspec.json.decode(row["body"])["entries"] if entry[field] not in names
        ]
        if entries:
            kept = Notice(kind, {"entries": entries}, row["subject"])
            await leave_notices(tx, session.project, {session.id: kept}, row["at"])


async def move_notices(
    tx: Tx,
    session: AgentSession,
    earlier: Sequence[str],
    *,
    only: Sequence[NoticeKind] = (),
    but: Sequence[NoticeKind] = (),
) -> None:
    """Give a session what earlier ones of its agent were not told."""
    await tx.queue(
        "update notice set session = $2 where project = $1 and session = any($3)"
        " and ($4 = 1 or kind = any($5)) and not kind = any($6)",
        *(session.project, session.id, list(earlier), int(not only), list(only), list(but)),
    )


async def list_notices(tx: Tx, session: AgentSession) -> list[Notice]:
    """What the session has not been told yet, the oldest first."""
    rows = await tx.all(
        "select at, id, text, kind, subject, body from notice where project = $1 and session = $2"
        " order by at, id limit 200",
        session.project,
        session.id,
    )
    return [_read_row(row) for row in rows]


def is_urgent_mail(notice: Notice) -> bool:
    return notice.kind == "mail" and notice.body["priority"] == "urgent"


async def take_notices(tx: Tx, session: AgentSession, now: int) -> list[str]:
    """The lines that the reply shows; they are told once, and mail that they show whole is delivered with them."""
    rows = await tx.all(
        "delete from notice where project = $1 and session = $2 returning at, id, text, kind, subject, body",
        session.project,
        session.id,
    )
    notices = [_read_row(row) for row in sorted(rows, key=lambda row: (row["at"], row["id"]))]
    return render_notices(await _deliver_whole_mail(tx, session, notices, now))


async def _deliver_whole_mail(
    tx: Tx, session: AgentSession, notices: Sequence[Notice], now: int
) -> list[Notice]:
    """Mark short mail as delivered; leave out what another session of the agent was given meanwhile."""
    whole = [notice.subject for notice in _rank_mail(notices) if "text" in notice.body][:_MAX_WHOLE_MAIL]
    if not whole:
        return list(notices)
    rows = await tx.all(
        "update delivery set state = 1, changed_by = $2, changed_at = $4"
        " where project = $1 and agent = $2 and message = any($3) and state = 0 returning message",
        *(session.project, session.agent, whole, now),
    )
    given = set(whole) - {row["message"] for row in rows}
    return [notice for notice in notices if notice.kind != "mail" or notice.subject not in given]


def _rank_mail(notices: Sequence[Notice]) -> list[Notice]:
    """Answers to the reader first, then what is urgent."""
    mail = [notice for notice in notices if notice.kind == "mail"]
    return sorted(mail, key=lambda each: (not each.body.get("is_answer"), each.body["priority"] != "urgent"))


def _read_row(row: Row) -> Notice:
    if row["kind"]:
        return Notice(row["kind"], msgspec.json.decode(row["body"]), row["subject"])
    return Notice("text", {"text": " ".join(row["text"].split())})


def render_notices(notices: Sequence[Notice]) -> list[str]:
    """One line for all mail, then the others in order, then one line for all paths that came free."""
    mail = _rank_mail(notices)
    free = [notice.body for notice in notices if notice.kind == "free"]
    lines = [_render_notice(notice) for notice in notices if notice.kind not in ("mail", "free")]
    every = [*([_render_mail(mail)] if mail else []), *lines, *([_render_free_paths(free)] if free else [])]
    return list(dict.fromkeys(every))


def _render_notice(notice: Notice) -> str:
    render = _RENDERERS.get(notice.kind)
    return render(notice.body) if render else str(notice.body["text"])


def _render_mail(mail: Sequence[Notice]) -> str:
    """Short messages whole, of others the first line; each with its id."""
    urgent = sum(notice.body["priority"] == "urgent" for notice in mail)
    count = f"{len(mail)} new message{'s' if len(mail) > 1 else ''}"
    senders = list_names([notice.body["sender"] for notice in mail], _MAX_NAMES)
    whole = [notice for notice in mail if "text" in notice.body][:_MAX_WHOLE_MAIL]
    titles = [notice for notice in mail if notice not in whole]
    shown = [*whole, *titles[:_MAX_TITLES]]
    more = [f"and {len(mail) - len(shown)} more (memory_get_messages)"] if len(mail) > len(shown) else []
    names_sender = len({notice.body["sender"] for notice in mail}) > 1
    told = "; ".join([*(_quote_mail(notice, names_sender=names_sender) for notice in shown), *more])
    return f"{count}{f' ({urgent} urgent)' if urgent else ''} from {senders}: {told}"


def _quote_mail(notice: Notice, *, names_sender: bool) -> str:
    body = notice.body
    sender = f"{body['sender']}: " if names_sender else ""
    text = body.get("text") or shorten_line(body["title"], _MAX_MAIL_TITLE_CHARACTERS)
    answers = ", answers yours" if body.get("is_answer") else ""
    return f'{sender}"{text}" ({notice.subject}{answers})'


def _render_free_paths(bodies: Sequence[_Body]) -> str:
    """A region is named as it was asked for, with its version, so that the same lines can be locked."""
    paths = [body["path"] for body in bodies]
    verb, pronoun = ("is", "it") if len(set(paths)) == 1 else ("are", "them")
    until = min(str(body["until"]) for body in bodies)
    return (
        f"{list_names(paths, _MAX_NAMES)} {verb} free: lock {pronoun} with memory_lock_files. Until {until} nobody who"
        " began to wait after you gets in before you."
    )


def _render_posts(body: _Body) -> str:
    entries = body["entries"]
    sequences = [entry["sequence"] for entry in entries]
    count = max(len(entries), max(sequences) - min(sequences) + 1 if len(entries) == _MAX_ENTRIES else 0)
    board, after = entries[0]["blackboard"], min(entry["read"] for entry in entries)
    authors = list_names([entry["sender"] for entry in entries], _MAX_NAMES)
    return (
        f"{count} new post{'s' if count > 1 else ''} on blackboard {board} by {authors}:"
        f' get_context(session_id="{board}", after={after})'
    )


def _render_decisions(body: _Body) -> str:
    entries = body["entries"]
    authors = list_names([entry["author"] for entry in entries], _MAX_NAMES)
    listed = [
        ", ".join(
            [
                f'{entry["document"]} "{shorten_line(entry["title"], _MAX_DECISION_CHARACTERS)}"',
                *entry["details"],
            ]
        )
        for entry in entries[-_MAX_TITLES:]
    ]
    more = f" and {len(entries) - len(listed)} more" if len(entries) > len(listed) else ""
    what = "a decision" if len(entries) == 1 else f"{len(entries)} decisions"
    return f"{authors} recorded {what}: {', '.join(listed)}{more} (memory_get_by_id)"


def _render_wanted(body: _Body) -> str:
    purpose = f' for "{body["reason"]}"' if body["reason"] else ""
    return (
        f"{body['agent']} wants {body['files']}{purpose}, which you have locked:"
        " memory_unlock_files when you are done."
    )


def _render_guideline(body: _Body) -> str:
    rule = shorten_line(body["rule"], _MAX_RULE_CHARACTERS)
    verb = "proposes" if body.get("is_proposal") else "set"
    return f"{body['agent']} {verb} the guideline '{body['name']}' ({body['scope']}): {rule}"


def _render_handoff(body: _Body) -> str:
    left = shorten_line(body["left"], _MAX_HANDOFF_CHARACTERS)
    return f"{body['agent']} ended its session; open: {left} (memory_get_by_id {body['document']})"


_RENDERERS: dict[str, Callable[[_Body], str]] = {
    "post": _render_posts,
    "decision": _render_decisions,
    "wanted": _render_wanted,
    "lapsed": "Your lock on {files} lapsed; call memory_lock_files before you edit again.".format_map,
    "guideline": _render_guideline,
    "handoff": _render_handoff,
    "namesake": "Another session started as '{agent}' in {project}.".format_map,
}
