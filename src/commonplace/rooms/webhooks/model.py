"""Webhooks, what they send, and the replies about them, which never contain the address or the token."""

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from pydantic import Field

from commonplace.clock import MINUTE, SECOND, iso
from commonplace.operation import Reply
from commonplace.shortening import shorten_text
from commonplace.store.database import Row

WebhookKind = Literal["slack", "ntfy", "json"]
WebhookTopic = Literal["needs_you", "digest"]
WebhookTopics = Annotated[
    list[WebhookTopic],
    Field(
        min_length=1,
        max_length=2,
        description="needs_you: who waits for a person; digest: a standup once a day. Default: needs_you.",
    ),
]
WebhookUrl = Annotated[
    str,
    Field(
        min_length=8, max_length=2_000, description="The address, which is a secret: it is never shown again."
    ),
]
WebhookToken = Annotated[
    str,
    Field(max_length=500, pattern=r"^[\x21-\x7e]*$", description="Sent as a bearer token, such as ntfy's."),
]
WebhookId = Annotated[
    str, Field(min_length=1, max_length=64, description="The webhook, from memory_list_webhooks.")
]
DelaySeconds = Annotated[
    int,
    Field(
        ge=0,
        le=3_600,
        description="Send only what still waits after this time: most is answered at the terminal.",
    ),
]
DigestHour = Annotated[int, Field(ge=0, le=23, description="The hour of the digest, in UTC.")]

MAX_ATTEMPTS = 6
_PAUSES = (10 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 120 * MINUTE)
_MAX_TEXT_CHARACTERS = 600
_MAX_DIGEST_CHARACTERS = 3_500
_SAYS = {"permission": "asks for permission", "question": "asks", "plan": "shows a plan"}


class Webhook(Reply):
    """`address` is the host only: the rest of such addresses is a secret."""

    id: str
    project: str
    kind: str
    address: str
    topics: list[str]
    delay_seconds: int
    digest_hour: int
    created_by: str = ""
    has_token: bool = False
    last_success: str = ""
    last_error: str = ""
    waiting: int = 0


class WebhookListing(Reply):
    webhooks: list[Webhook]


class WebhookChange(Reply):
    status: str
    id: str = ""


class OutgoingMessage(msgspec.Struct, frozen=True):
    """What is sent, before it gets the form of its receiver."""

    topic: str
    title: str
    text: str
    project: str = ""
    request_id: str = ""


def pause_after(attempts: int) -> int:
    return _PAUSES[min(attempts - 1, len(_PAUSES) - 1)]


def build_webhook(row: Row) -> Webhook:
    parts = urlsplit(row["url"])
    return Webhook(
        id=row["id"],
        project="*" if row["every_project"] else row["project"],
        kind=row["kind"],
        address=f"{parts.scheme}://{parts.hostname}/…",
        topics=[topic for topic in ("needs_you", "digest") if row[topic]],
        delay_seconds=row["delay"] // SECOND,
        digest_hour=row["digest_hour"],
        created_by=row["created_by"],
        has_token=bool(row["token"]),
        last_success=iso(row["succeeded_at"]) if row["succeeded_at"] else "",
        last_error=row["last_error"],
        waiting=int(row["waiting"]),
    )


def describe_request(row: Row, questions: list[str]) -> OutgoingMessage:
    """What waits for a person, in a few lines; it was masked when it was stored."""
    what = " / ".join(filter(None, (*questions, row["body"], row["title"] if not row["body"] else "")))
    place = " ".join(part for part in (row["tool"], row["machine"], row["directory"]) if part)
    lines = [shorten_text(what, _MAX_TEXT_CHARACTERS), place, f"commonplace answer {row['id']}"]
    says = _SAYS.get(row["kind"], row["kind"])
    return OutgoingMessage(
        "needs_you",
        f"{row['agent']} ({row['project']}) {says}",
        "\n".join(line for line in lines if line),
        row["project"],
        row["id"],
    )


def describe_digest(markdown: str, project: str) -> OutgoingMessage:
    return OutgoingMessage(
        "digest", "Commonplace standup", shorten_text(markdown, _MAX_DIGEST_CHARACTERS), project
    )


def render_message(kind: str, message: OutgoingMessage, token: str) -> tuple[bytes, dict[str, str]]:
    """The body and the headers in the form of the receiver."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if kind == "ntfy":
        urgent = {"Priority": "high", "Tags": "raising_hand"} if message.topic == "needs_you" else {}
        body = f"{message.title}\n{message.text}".encode()
        return body, headers | {"Title": "Commonplace", "Content-Type": "text/plain; charset=utf-8"} | urgent
    fields: dict[str, Any] = (
        {"text": f"*{_escape_slack(message.title)}*\n{_escape_slack(message.text)}"}
        if kind == "slack"
        else msgspec.to_builtins(message)
    )
    return msgspec.json.encode(fields), headers | {"Content-Type": "application/json"}


def _escape_slack(text: str) -> str:
    """Slack's own escapes: without them `<!channel>` would call everybody."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
