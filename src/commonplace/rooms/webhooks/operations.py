"""Add, list, remove and test webhooks. `edges/webhook_sender.py` sends what is queued."""

import secrets
from typing import Annotated

from pydantic import Field

from commonplace import errors
from commonplace.access import ALL_PROJECTS, SHARED, require_role
from commonplace.arguments import ProjectOrAll
from commonplace.call import Call
from commonplace.clock import DAY, HOUR, SECOND
from commonplace.operation import operation
from commonplace.outgoing_http import parse_outgoing_url
from commonplace.project import list_visible_project_names
from commonplace.rooms.webhooks import model, store

_MAX_WEBHOOKS = 20


@operation(
    "memory_add_webhook",
    role="admin",
    writes=True,
    session="optional",
    example={"project": "shop", "kind": "slack", "url": "https://hooks.example.org/T0/B0/x"},
    verbatim=("url", "token"),
)
async def add_webhook(
    call: Call,
    kind: Annotated[
        model.WebhookKind,
        Field(
            description="The form of the messages: slack (also Mattermost, Discord's /slack), ntfy, or json."
        ),
    ],
    url: model.WebhookUrl,
    project: Annotated[
        ProjectOrAll | None, Field(description="The project; left out or `*`, every project (owners only).")
    ] = None,
    topics: model.WebhookTopics | None = None,
    token: model.WebhookToken = "",
    delay_seconds: model.DelaySeconds = 20,
    digest_hour: model.DigestHour = 7,
) -> model.WebhookChange:
    """Send who waits for a person, or a daily standup, to an address. Without a project: for every project."""
    place = _require_place(call, project)
    if call.settings.webhooks == "off":
        raise errors.Forbidden(
            "Webhooks are off on this server.", hint="The operator can set serve --webhooks public."
        )
    address = parse_outgoing_url(url, allows_private=call.settings.webhooks == "private")
    if await store.count_webhooks(call.tx, place) >= _MAX_WEBHOOKS:
        raise errors.TooMany(f"A project can have {_MAX_WEBHOOKS} webhooks.", hint="Remove one first.")
    webhook_id = f"hook_{secrets.token_hex(4)}"
    await store.insert_webhook(
        call.tx,
        place,
        webhook_id,
        kind=kind,
        url=url,
        token=token,
        every_project=not isinstance(project, str),
        topics=topics or ["needs_you"],
        delay=delay_seconds * SECOND,
        digest_hour=digest_hour,
        digest_at=find_digest_time(call.now, digest_hour),
        person=call.agent,
        now=call.now,
    )
    call.subject = f"{webhook_id} {kind} {address.shown}"
    return model.WebhookChange(status="added", id=webhook_id)


def find_digest_time(now: int, hour: int) -> int:
    """The next time that it is this hour, in UTC."""
    today = now - now % DAY + hour * HOUR
    return today if today > now else today + DAY


def _require_place(call: Call, project: object) -> str:
    """The project that a webhook belongs to; one for every project needs an owner who may see all of them."""
    if isinstance(project, str):
        return call.project
    require_role(call.caller, "owner", "A webhook for every project")
    if ALL_PROJECTS not in call.caller.projects:
        raise errors.Forbidden("This key does not see every project.", hint="Name a project.")
    return SHARED


@operation("memory_list_webhooks", role="admin", session="optional", example={})
async def list_webhooks(
    call: Call,
    project: Annotated[
        ProjectOrAll | None, Field(description="A project; left out or `*`, every project that you may see.")
    ] = None,
) -> model.WebhookListing:
    """Webhooks with their last success or failure; addresses are shortened and tokens left out."""
    projects = (
        [call.project]
        if isinstance(project, str)
        else [
            *await list_visible_project_names(call.tx, call.caller),
            *([SHARED] if call.caller.has_role("owner") else []),
        ]
    )
    rows = await store.list_webhooks(call.tx, list(dict.fromkeys(projects)))
    return model.WebhookListing(webhooks=[model.build_webhook(row) for row in rows])


@operation(
    "memory_remove_webhook", role="admin", writes=True, session="optional", destroys=True, idempotent=True
)
async def remove_webhook(
    call: Call,
    id: model.WebhookId,
    project: Annotated[
        ProjectOrAll | None, Field(description="Its project; left out or `*` for one of every project.")
    ] = None,
) -> model.WebhookChange:
    """Remove a webhook, with what it has not sent yet."""
    if not await store.delete_webhook(call.tx, _require_place(call, project), id):
        raise _not_found(id)
    call.subject = id
    return model.WebhookChange(status="removed", id=id)


@operation("memory_test_webhook", role="admin", writes=True, session="optional")
async def send_test(
    call: Call,
    id: model.WebhookId,
    project: Annotated[
        ProjectOrAll | None, Field(description="Its project; left out or `*` for one of every project.")
    ] = None,
) -> model.WebhookChange:
    """Queue a test message; memory_list_webhooks shows whether it arrived."""
    place = _require_place(call, project)
    if await store.load_webhook(call.tx, place, id) is None:
        raise _not_found(id)
    text = f"A test of {id}: messages of Commonplace arrive here."
    delivery = (place, f"test_{secrets.token_hex(6)}", id, "", "", text, call.now, call.now)
    await store.insert_deliveries(call.tx, [delivery])
    call.subject = id
    return model.WebhookChange(status="queued", id=id)


def _not_found(webhook_id: str) -> errors.NotFound:
    return errors.NotFound(
        f"There is no webhook '{webhook_id}' here.", hint="List them: commonplace webhook list."
    )
