"""Opens the store, starts the background work, serves HTTP or stdio, and closes everything in order."""

import asyncio
import contextlib
import gc
import logging
import os
import secrets
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING

from commonplace import background, errors
from commonplace.access import LOCAL, Caller
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.client.link.remote import local_token_path
from commonplace.clock import Clock, read_wall_clock
from commonplace.config import Settings
from commonplace.edges.identity import Identity
from commonplace.edges.mcp.publisher import Publisher
from commonplace.edges.mcp.stdio_transport import serve_stdio as mcp_stdio
from commonplace.edges.product_host import ProductHost
from commonplace.edges.webhook_sender import SEND_INTERVAL_SECONDS, WebhookSender
from commonplace.local_token import load_or_create_local_token, record_local_address
from commonplace.project import list_old_spellings
from commonplace.quoting.instruction_texts import prepare_patterns
from commonplace.retention import RetentionRun
from commonplace.rooms.admin import store as keys
from commonplace.rooms.admin.audit_sealing import SEAL_INTERVAL_SECONDS, AuditSealer
from commonplace.rooms.locks import store as lease_time
from commonplace.row_checks import hash_rows_without_hash
from commonplace.store.database import Database, Tx
from commonplace.store.lease_clock import LeaseClock
from commonplace.store.migrate import migrate

if TYPE_CHECKING:
    from commonplace.edges.oauth.token_callers import TokenCallers

_log = logging.getLogger(__name__)
_OLD_SPELLING = (
    "was set up under a name that earlier versions shortened; its rows stay under `stored`, and calls that say `named`"
    " start a new project: go on with the stored name, or export the project and import it under the other"
)

_RETENTION_INTERVAL_SECONDS = 3600
_FIRST_RETENTION_SECONDS = 60
_PAGE_CHECK_INTERVAL_SECONDS = 86_400
_RETRY_START_SECONDS = 1.0
_LOOPBACK_OF_WILDCARD = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where this machine's programs find it


async def open_store(settings: Settings, clock: Clock) -> Database:
    """The store that the settings name; only its driver is imported."""
    if settings.store == "sqlite":
        from commonplace.store.sqlite import Sqlite  # noqa: PLC0415 - see above

        return Sqlite(settings.data, clock, LeaseClock())
    from commonplace.store.postgres import Postgres  # noqa: PLC0415 - see above

    return await Postgres.open(settings.store, lease_clock=LeaseClock())


@contextlib.asynccontextmanager
async def open_calls(settings: Settings, wait_seconds: float = 0) -> AsyncIterator[Calls]:
    """A migrated store, and the `Calls` that run operations on it; every surface starts here."""
    database = await _open_migrated_store(settings, wait_seconds)
    try:
        yield Calls(database, CATALOGUE, settings, read_wall_clock)
    finally:
        await database.close()


async def _open_migrated_store(settings: Settings, wait_seconds: float) -> Database:
    """Open and migrate the store; for `wait_seconds` try again if it is not up yet, or if another server migrates it."""
    ends = time.monotonic() + wait_seconds
    last_reason = ""
    while True:
        try:
            return await _open_migrated_store_once(settings)
        except errors.Unavailable as refusal:
            if "retry_after" not in refusal.details or time.monotonic() + _RETRY_START_SECONDS > ends:
                raise
            if refusal.message != last_reason:
                _log.warning("waiting for the database", extra={"reason": refusal.message})
            last_reason = refusal.message
        await asyncio.sleep(_RETRY_START_SECONDS)


async def _open_migrated_store_once(settings: Settings) -> Database:
    database = await open_store(settings, read_wall_clock)
    try:
        await database.check_pages(only_if_quick=True)
        await migrate(database, is_confirmed=settings.migrate_data, without_vector_indexes=True)
        await _warn_of_old_spellings(database)
        await lease_time.resume_lease_clock(database)
    except BaseException:
        await database.close()
        raise
    return database


async def _warn_of_old_spellings(database: Database) -> None:
    """Say which projects earlier versions kept under a name without its marks or signs."""
    for stored, named in await database.read(list_old_spellings):
        _log.warning("project name", extra={"stored": stored, "named": named, "reason": _OLD_SPELLING})


@contextlib.asynccontextmanager
async def run_background_work(calls: Calls) -> AsyncIterator[Calls]:
    """Deliver events, write activity, feed the search index, seal the audit log and apply retention while the block runs."""
    sealer = AuditSealer(calls)
    await sealer.open()
    await calls.bus.open()
    calls.activity.open()
    await calls.search.open()
    retention = background.every(
        _RETENTION_INTERVAL_SECONDS,
        partial(delete_old_rows, calls),
        name="retention",
        first_after=_FIRST_RETENTION_SECONDS,
    )
    page_check = background.every(
        _PAGE_CHECK_INTERVAL_SECONDS, calls.database.check_pages, name="page check", first_after=0
    )
    sealing = background.every(SEAL_INTERVAL_SECONDS, sealer.seal_new_rows, name="audit seals")
    webhooks = background.every(SEND_INTERVAL_SECONDS, WebhookSender(calls).send_due, name="webhooks")
    clock_watch = background.every(
        lease_time.WATCH_SECONDS,
        partial(lease_time.watch_lease_clock, calls.database),
        name="lease clock",
        essential=True,
    )
    try:
        async with _run_librarian(calls):
            yield calls
    finally:
        await background.stop(page_check)
        await background.stop(sealing)
        await background.stop(webhooks)
        await background.stop(clock_watch)
        await background.stop(retention)
        await calls.search.close()
        await calls.activity.close()
        await calls.bus.close()


@contextlib.asynccontextmanager
async def _run_librarian(calls: Calls) -> AsyncIterator[None]:
    """Run the librarian on the folders that the settings name."""
    if not calls.settings.librarian:
        yield
        return
    from commonplace.librarian import server_watch  # noqa: PLC0415 - the grammars are loaded only for it

    async with server_watch.watch_source_trees(
        calls, server_watch.parse_watched_trees(calls.settings.librarian)
    ):
        yield


async def load_or_create_secret(database: Database, name: str) -> bytes:
    """A random secret that all replicas share and that survives restarts."""

    async def made_once(tx: Tx) -> bytes:
        await tx.run(
            "insert into setting (name, value) values ($1, $2) on conflict (name) do nothing",
            name,
            secrets.token_hex(32),
        )
        row = await tx.one("select value from setting where name = $1", name)
        return bytes.fromhex(row["value"]) if row else b""

    return await database.write(made_once)


async def delete_old_rows(calls: Calls) -> None:
    """Apply the retention rules of every room, then run their chores, which may touch files outside of the store.

    Last, hash the rows that these left without a hash.
    """
    await RetentionRun(calls).sweep_all()
    for run_chore in calls.catalogue.chores:
        await run_chore(calls)
    await hash_rows_without_hash(calls)


async def serve_http(settings: Settings, announce: Callable[[str], None]) -> None:
    """Serve until a signal stops it; `announce` is called with its address on this machine."""
    from commonplace.beacon import Beacon  # noqa: PLC0415 - as above
    from commonplace.edges.application import build_application  # noqa: PLC0415 - as above
    from commonplace.edges.http import listener  # noqa: PLC0415 - stdio, which must start at once, needs none of HTTP
    from commonplace.edges.project_events import ProjectEvents  # noqa: PLC0415 - as above
    from commonplace.edges.readiness import Readiness  # noqa: PLC0415 - as above
    from commonplace.edges.shared_subscriptions import SharedSubscriptions  # noqa: PLC0415 - as above
    from commonplace.tool_schema import prepare_schemas  # noqa: PLC0415 - over stdio nobody waits beside a first list

    _require_keys_or_loopback(settings)
    _end_on_signal()
    # No daemon: a thread that compiles patterns while the interpreter ends would abort the process.
    threading.Thread(target=prepare_patterns).start()
    async with open_calls(settings, settings.wait) as calls, run_background_work(calls):
        await _require_owner_key(calls)
        listening = listener.open_socket(settings.host, settings.port)
        host = _LOOPBACK_OF_WILDCARD.get(settings.host, settings.host)
        url = f"http://{_format_host(host)}:{listening.getsockname()[1]}"
        beacon = Beacon(settings.data, url)
        tokens = _open_token_callers(calls)
        identity = _build_identity(calls, beacon.token, tokens)
        if settings.auth == "local":
            record_local_address(local_token_path(), url)
        identity.open(calls.bus)
        readiness = Readiness(calls)
        subscriptions = SharedSubscriptions(calls.database, calls.bus, calls.clock)
        try:
            await readiness.open()
            subscriptions.open()
            publisher, events = Publisher(), ProjectEvents(calls, identity.identify)
            mcp_secret = await load_or_create_secret(calls.database, "mcp")
            resource_routes = tokens.resource.public_routes() if tokens else {}
            app = build_application(
                calls, identity, publisher, events, mcp_secret, readiness, subscriptions, resource_routes
            )
            prepare_schemas(calls.catalogue)
            gc.freeze()  # what is made until here lasts: no collection looks at it again
            listening.listen(2048)
            announce(url)
            _log.info("listening", extra={"url": url, "store": calls.database.kind, "auth": settings.auth})
            end_streams = (publisher.close, events.close, calls.admission.stop_waiting)
            await listener.serve(app, listening, end_streams, settings.idle_seconds)
        finally:
            beacon.remove_file()
            await subscriptions.close()
            await readiness.close()
            await identity.close()
            if tokens:
                await tokens.close()
            _log.info("stopped")


def _build_identity(calls: Calls, operator_token: str, tokens: "TokenCallers | None") -> Identity:
    settings = calls.settings
    return Identity(
        calls.database,
        settings,
        calls.clock,
        operator_token=operator_token,
        local_token=load_or_create_local_token(local_token_path()) if settings.auth == "local" else "",
        tokens=tokens,
    )


def _open_token_callers(calls: Calls) -> "TokenCallers | None":
    if not calls.settings.oauth_issuer:
        return None
    from commonplace.edges.oauth.token_callers import TokenCallers  # noqa: PLC0415 - its packages are an extra

    callers = TokenCallers(calls.database, calls.settings, calls.clock)
    callers.open()
    return callers


async def serve_stdio(settings: Settings) -> None:
    """Serve the agent that started this process over its pipes."""
    async with open_calls(settings, settings.wait) as calls, run_background_work(calls):
        publisher = Publisher()
        identity = Identity(calls.database, settings, calls.clock)
        key = os.environ.get("COMMONPLACE_KEY", "")
        headers = {"authorization": f"Bearer {key}"} if key else {}

        async def identify(*_: object, is_safe: bool = True) -> Caller:
            del is_safe
            return await identity.identify(headers) if key or settings.auth_on else LOCAL

        host, caller = ProductHost(calls, identify, publisher), await identify()
        await mcp_stdio(host, publisher, caller, secret=await load_or_create_secret(calls.database, "mcp"))


def _end_on_signal() -> None:
    """Until the listener has handlers of its own, SIGTERM ends the start: the process exits with code 0."""
    task = asyncio.current_task()
    if task is not None:
        with contextlib.suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


def _format_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _require_keys_or_loopback(settings: Settings) -> None:
    """Without keys only programs on this machine may call."""
    if settings.auth == "local" and not settings.is_loopback:
        raise errors.Invalid(
            f"--auth local is for one machine, but others can reach {settings.host}.",
            hint="Use --auth on, or --host 127.0.0.1.",
        )
    if settings.is_loopback or settings.auth_on or settings.insecure:
        return
    raise errors.Forbidden(
        f"Refusing to listen on {settings.host} without keys: everybody could call this server.",
        hint="Use --auth on (commonplace key create makes the first key), --host 127.0.0.1, or --insecure.",
    )


async def _require_owner_key(calls: Calls) -> None:
    """A server that other machines can reach needs an owner's key; without one nobody could administer it."""
    settings = calls.settings
    if settings.is_loopback or settings.insecure:
        return
    if not await calls.database.read(lambda tx: keys.has_other_owner_key(tx, "", calls.clock())):
        raise errors.Forbidden(
            f"No owner's key exists, and other machines can reach {settings.host}.",
            hint="Create one: commonplace key create --name NAME --role owner",
        )
