"""SQL of the tables `webhook` and `webhook_delivery`. Webhooks for every project belong to the shared one."""

from collections.abc import Sequence

from commonplace.access import SHARED
from commonplace.store.database import Row, Tx

_COLUMNS = (
    "webhook.project, webhook.id, webhook.kind, webhook.url, webhook.token, webhook.every_project, webhook.needs_you,"
    " webhook.digest, webhook.delay, webhook.digest_hour, webhook.digest_at, webhook.created_by, webhook.succeeded_at,"
    " webhook.last_error"
)
_MAX_DUE = 20


async def insert_webhook(
    tx: Tx,
    project: str,
    id: str,
    *,
    kind: str,
    url: str,
    token: str,
    every_project: bool,
    topics: Sequence[str],
    delay: int,
    digest_hour: int,
    digest_at: int,
    person: str,
    now: int,
) -> None:
    await tx.run(
        "insert into webhook (project, id, kind, url, token, every_project, needs_you, digest, delay, digest_hour,"
        " digest_at, created_by, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        project,
        id,
        kind,
        url,
        token,
        int(every_project),
        int("needs_you" in topics),
        int("digest" in topics),
        delay,
        digest_hour,
        digest_at,
        person,
        now,
    )


async def list_webhooks(tx: Tx, projects: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        f"select {_COLUMNS}, (select count(*) from webhook_delivery where webhook_delivery.project = webhook.project"
        "  and webhook_delivery.webhook = webhook.id) as waiting"
        " from webhook where webhook.project = any($1) order by webhook.created_at, webhook.id limit 200",
        list(projects),
    )


async def load_webhook(tx: Tx, project: str, id: str) -> Row | None:
    return await tx.one(f"select {_COLUMNS} from webhook where project = $1 and id = $2", project, id)


async def count_webhooks(tx: Tx, project: str) -> int:
    row = await tx.one("select count(*) as n from webhook where project = $1", project)
    return int(row["n"]) if row else 0


async def delete_webhook(tx: Tx, project: str, id: str) -> bool:
    rows = await tx.all("delete from webhook where project = $1 and id = $2 returning id", project, id)
    await tx.run("delete from webhook_delivery where project = $1 and webhook = $2", project, id)
    return bool(rows)


_WANTS_REQUESTS = (
    "from webhook where project = any($1) and needs_you = 1"
    " and (project = $2 and every_project = 0 or project = $3 and every_project = 1)"
)


async def has_webhook_for_requests(tx: Tx, project: str) -> bool:
    """Is what waits for a person in this project sent to a webhook?"""
    row = await tx.one(f"select 1 as yes {_WANTS_REQUESTS} limit 1", [project, SHARED], project, SHARED)
    return row is not None


async def queue_request(tx: Tx, project: str, request: str, now: int) -> None:
    """Queue a request for every webhook that wants it; it is sent only if it still waits after the delay."""
    rows = await tx.all(
        f"select project, id, delay {_WANTS_REQUESTS} order by project, id limit 40",
        [project, SHARED],
        project,
        SHARED,
    )
    await insert_deliveries(
        tx,
        [
            (
                row["project"],
                f"{request}.{row['id']}",
                row["id"],
                project,
                request,
                "",
                now + row["delay"],
                now,
            )
            for row in rows
        ],
    )


async def insert_deliveries(tx: Tx, deliveries: Sequence[tuple[str | int, ...]]) -> None:
    """Each: project, id, webhook, project and id of the request, text, when it is due, now."""
    await tx.many(
        "insert into webhook_delivery (project, id, webhook, request_project, request, body, attempts, due_at, created_at)"
        " values ($1, $2, $3, $4, $5, $6, 0, $7, $8)",
        list(deliveries),
    )


async def list_due_deliveries(tx: Tx, now: int) -> Sequence[Row]:
    return await tx.all(
        "select project, id, webhook, request_project, request, body, attempts, due_at from webhook_delivery"
        " where due_at <= $1 order by due_at, id limit $2 -- every project",
        now,
        _MAX_DUE,
    )


async def claim_delivery(tx: Tx, row: Row, until: int) -> bool:
    """Of several servers one sends it; if that one dies, another sends it after `until`."""
    claimed = await tx.all(
        "update webhook_delivery set due_at = $4, attempts = attempts + 1"
        " where project = $1 and id = $2 and due_at = $3 returning id",
        row["project"],
        row["id"],
        row["due_at"],
        until,
    )
    return bool(claimed)


async def delete_delivery(tx: Tx, row: Row) -> None:
    await tx.run("delete from webhook_delivery where project = $1 and id = $2", row["project"], row["id"])


async def postpone_delivery(tx: Tx, row: Row, due_at: int) -> None:
    await tx.run(
        "update webhook_delivery set due_at = $3 where project = $1 and id = $2",
        row["project"],
        row["id"],
        due_at,
    )


async def record_outcome(tx: Tx, row: Row, error: str, now: int) -> None:
    await tx.run(
        "update webhook set last_error = $3, succeeded_at = case when $3 = '' then $4 else succeeded_at end"
        " where project = $1 and id = $2",
        row["project"],
        row["webhook"],
        error,
        now,
    )


async def list_due_digests(tx: Tx, now: int) -> Sequence[Row]:
    return await tx.all(
        f"select {_COLUMNS} from webhook where digest = 1 and digest_at <= $1 order by digest_at limit $2 -- every project",
        now,
        _MAX_DUE,
    )


async def claim_digest(tx: Tx, row: Row, next_at: int) -> bool:
    claimed = await tx.all(
        "update webhook set digest_at = $4 where project = $1 and id = $2 and digest_at = $3 returning id",
        row["project"],
        row["id"],
        row["digest_at"],
        next_at,
    )
    return bool(claimed)
