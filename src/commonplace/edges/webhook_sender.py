"""Sends what is queued for webhooks, in the background: each delivery is claimed, sent, and tried again when it fails.

A request that was answered or closed meanwhile is not sent. `server.py` starts this; `outgoing_http.py` decides which
addresses may be reached.
"""

import asyncio
import logging
import secrets

from commonplace import errors
from commonplace.call import Calls
from commonplace.clock import DAY, MINUTE
from commonplace.outgoing_http import OutgoingFailure, parse_outgoing_url, send_post
from commonplace.project import list_all_project_names
from commonplace.rooms.live_state.standup import build_standup
from commonplace.rooms.requests import model as request_model
from commonplace.rooms.requests import store as request_store
from commonplace.rooms.webhooks import model, store
from commonplace.rooms.webhooks.operations import find_digest_time
from commonplace.store.database import Row, Tx

_log = logging.getLogger(__name__)

SEND_INTERVAL_SECONDS = 5.0
_SEND_SECONDS = 10.0
_CLAIM = 2 * MINUTE
_MAX_PROJECTS = 500


class WebhookSender:
    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def send_due(self) -> None:
        """One round: queue digests that are due, then send what is due."""
        calls = self._calls
        if calls.settings.webhooks == "off":
            return
        now = calls.clock()
        due = await calls.database.read(lambda tx: store.list_due_digests(tx, now))
        for row in due:
            await calls.database.write(lambda tx, row=row: self._queue_digest(tx, row))  # type: ignore[misc]
        for row in await calls.database.read(lambda tx: store.list_due_deliveries(tx, now)):
            await self._deliver(row)

    async def _queue_digest(self, tx: Tx, row: Row) -> None:
        now = self._calls.clock()
        if not await store.claim_digest(tx, row, find_digest_time(now, row["digest_hour"])):
            return
        projects = (
            (await list_all_project_names(tx))[:_MAX_PROJECTS] if row["every_project"] else [row["project"]]
        )
        standup = await build_standup(tx, projects, now - DAY, now)
        digest_id = f"digest_{secrets.token_hex(6)}"
        delivery = (row["project"], digest_id, row["id"], "", "", standup.markdown, now, now)
        await store.insert_deliveries(tx, [delivery])

    async def _deliver(self, row: Row) -> None:
        database, now = self._calls.database, self._calls.clock()
        if not await database.write(lambda tx: store.claim_delivery(tx, row, now + _CLAIM)):
            return
        webhook, message = await database.read(lambda tx: self._load(tx, row))
        error, is_final = "", True
        if webhook is not None and message is not None:
            error, is_final = await self._send(webhook, message)
        attempts = row["attempts"] + 1
        is_over = not error or is_final or attempts >= model.MAX_ATTEMPTS

        async def finish(tx: Tx) -> None:
            if is_over:
                await store.delete_delivery(tx, row)
            else:
                await store.postpone_delivery(tx, row, now + model.pause_after(attempts))
            if message is not None:
                await store.record_outcome(tx, row, error, now)

        await database.write(finish)

    async def _load(self, tx: Tx, row: Row) -> tuple[Row | None, model.OutgoingMessage | None]:
        """The webhook and what to send; nothing if nobody waits any more."""
        webhook = await store.load_webhook(tx, row["project"], row["webhook"])
        if row["body"]:
            topic = "digest" if row["id"].startswith("digest") else "test"
            described = model.describe_digest(row["body"], row["project"])
            return webhook, described if topic == "digest" else model.OutgoingMessage(
                "test", "Commonplace", row["body"]
            )
        request = await request_store.load_request(tx, row["request_project"], row["request"])
        if request is None or request["state"] != "open" or request["ended_at"] is not None:
            return webhook, None
        questions = [item.question for item in request_model.decode_questions(request["questions"])]
        return webhook, model.describe_request(request, questions)

    async def _send(self, webhook: Row, message: model.OutgoingMessage) -> tuple[str, bool]:
        """What went wrong, and whether trying again is of no use; the address is never part of it."""
        allows_private = self._calls.settings.webhooks == "private"
        body, headers = model.render_message(webhook["kind"], message, webhook["token"])
        try:
            address = parse_outgoing_url(webhook["url"], allows_private=allows_private)
            await asyncio.to_thread(
                send_post, address, body, headers, allows_private=allows_private, seconds=_SEND_SECONDS
            )
        except errors.Invalid as refusal:
            return refusal.message, True
        except OutgoingFailure as failure:
            _log.warning("webhook failed", extra={"webhook": webhook["id"], "reason": str(failure)})
            return str(failure), failure.is_final
        return "", True
