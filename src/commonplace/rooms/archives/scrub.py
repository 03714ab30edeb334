"""memory_scrub: remove a secret that slipped into a project, everywhere the store keeps it.

Archives are rewritten before the transaction, frame by frame with their offsets kept. The search index follows in the
same transaction, sessions are parsed again in the background, and the audit log gets a redaction record. `commonplace
scrub` runs it for every project and cleans the files beside the server.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.arguments import ProjectSpelling
from commonplace.call import Call, Calls
from commonplace.masking.transcript_lines import MaskedBytes
from commonplace.operation import Reply, operation
from commonplace.rooms.admin.audit_sealing import redact_audit_rows
from commonplace.rooms.archives import contributes, store
from commonplace.rooms.archives import store as archives
from commonplace.search.index import add_project_changes, refresh_entries
from commonplace.search.refresh import entry_from_item, purge_deleted_words
from commonplace.search.text import tokenize
from commonplace.store.database import Kind, Tx
from commonplace.store.last_backup import read_last_backup
from commonplace.store.row_hashes import ROW_HASH
from commonplace.transcripts.archive.frames import ArchivedSession

# Sealed, compressed, encrypted or derived from other tables: `scrub.py` treats each of them in its own way.
_OTHER_TABLES = frozenset(
    {
        "audit",
        "audit_seal",
        "entry",
        "term",
        "term_change",
        "embedding",
        "embedding_queue",
        "words",
        "index_fill",
        "idempotency",
    }
    | {"archive_frame", "archive_body", "counter", "session_key", "session_passage"}
)
_SELECT_TEXT_COLUMNS: dict[Kind, str] = {
    "sqlite": (
        "select tables.name as name, columns.name as field from pragma_table_list as tables,"
        " pragma_table_info(tables.name) as columns where tables.schema = 'main' and tables.type = 'table'"
        " and lower(columns.type) = 'text' order by tables.name, columns.cid"
    ),
    "postgresql": (
        "select table_name as name, column_name as field from information_schema.columns"
        " join information_schema.tables using (table_schema, table_name)"
        " where table_schema = current_schema() and table_type = 'BASE TABLE' and data_type = 'text'"
        " and table_name !~ '_[0-9]{6,}$' order by table_name, ordinal_position"
    ),
}


async def list_text_columns(tx: Tx) -> dict[str, list[str]]:
    """The text columns of every table that has a project, but for the project itself."""
    columns: dict[str, list[str]] = {}
    for row in await tx.all(_SELECT_TEXT_COLUMNS[tx.kind]):
        columns.setdefault(row["name"], []).append(row["field"])
    return {
        table: [field for field in fields if field != "project"]
        for table, fields in columns.items()
        if "project" in fields and table not in _OTHER_TABLES and len(fields) > 1
    }


async def count_rows_with_text(tx: Tx, table: str, columns: Sequence[str], project: str, text: str) -> int:
    row = await tx.one(
        f"select count(*) as n from {table} where project = $1 and ({_holds_text(columns)})", project, text
    )
    return int(row["n"]) if row else 0


async def replace_text(
    tx: Tx, table: str, columns: Sequence[str], project: str, text: str, replacement: str, *, is_hashed: bool
) -> None:
    """Replace it everywhere in a table; a table with hashes of its rows (`is_hashed`) gets new ones in the background."""
    changes = ", ".join(f'"{column}" = replace("{column}", $2, $3)' for column in columns)
    if is_hashed:
        changes += f", {ROW_HASH} = null"
    await tx.run(
        f"update {table} set {changes} where project = $1 and ({_holds_text(columns)})",
        project,
        text,
        replacement,
    )


def _holds_text(columns: Sequence[str]) -> str:
    return " or ".join(f'replace("{column}", $2, \'\') <> "{column}"' for column in columns)


REPLACEMENT = "[scrubbed]"
MIN_SECRET_CHARACTERS = 8
SecretText = Annotated[
    str,
    Field(
        min_length=MIN_SECRET_CHARACTERS,
        max_length=20_000,
        description="The text to remove, at least 8 characters.",
    ),
]
_MAX_ARCHIVES = 100_000


class ScrubbedProject(Reply):
    project: str
    found: dict[str, int] = {}
    """How many rows of each table, and how many archives, hold the secret, or held it."""
    is_dry_run: bool = False


def list_spellings(secret: str) -> list[str]:
    """The secret as it is, as text inside of JSON, and inside of JSON in JSON; the longest first."""
    once = json.dumps(secret, ensure_ascii=False)[1:-1]
    ascii_once = json.dumps(secret)[1:-1]
    twice = json.dumps(once, ensure_ascii=False)[1:-1]
    return sorted({secret, once, ascii_once, twice}, key=len, reverse=True)


async def _scrub_archives(
    calls: Calls, arguments: Mapping[str, Any], caller: Caller
) -> list[ArchivedSession]:
    """Before the transaction: frames are large, and bodies may be in another storage."""
    access.require_role(caller, "owner", "memory_scrub")
    project = access.normalize_project_name(arguments["name"]) if arguments["name"] else ""
    if not caller.sees_project(project):
        return []  # the operation refuses it, or scrubs what belongs to no project and has no archives
    spellings = [spelling.encode() for spelling in list_spellings(arguments["secret"])]
    stored = await calls.database.read(
        lambda tx: archives.list_archives(tx, [project], None, 0, archives.LATEST_TIME, _MAX_ARCHIVES)
    )
    touched = [archive for archive in stored if await _holds_secret(calls, archive, spellings)]
    for archive in touched if not arguments["dry_run"] else ():
        await _rewrite_archive(calls, archive, spellings)
    return touched


async def _holds_secret(calls: Calls, archive: ArchivedSession, spellings: Sequence[bytes]) -> bool:
    """The end of each piece is kept, because a secret may lie across two."""
    kept, longest = b"", max(map(len, spellings))
    async for piece in archives.session_bytes(calls.database, calls.settings.archives, archive).read_all():
        window = kept + piece
        if any(spelling in window for spelling in spellings):
            return True
        kept = window[-longest:]
    return False


async def _rewrite_archive(calls: Calls, archive: ArchivedSession, spellings: Sequence[bytes]) -> None:
    def blank_secrets(content: bytes) -> MaskedBytes:
        """As many characters as the secret has, so that offsets stay true."""
        for spelling in spellings:
            content = content.replace(spelling, b"*" * len(spelling))
        return MaskedBytes(content)

    if not await contributes.rewrite_session(calls, archive, blank_secrets):
        raise errors.Unavailable(
            f"The archive {archive.session} changed meanwhile.",
            hint="Run the same command again.",
            retry_after=1,
        )


@operation(
    "memory_scrub",
    role="owner",
    writes=True,
    session="optional",
    idempotent=True,
    verbatim=("secret",),
    prepare=_scrub_archives,
    example={"name": "shop", "secret": "not-a-real-secret", "dry_run": True},
)
async def scrub_project(
    call: Call,
    secret: SecretText,
    name: Annotated[
        ProjectSpelling | None, Field(description="The project; without one, what belongs to no project.")
    ] = None,
    dry_run: Annotated[bool, Field(description="Only count where the secret is; nothing is changed.")] = True,
) -> ScrubbedProject:
    """Remove a secret from everything that a project stores; without a name, from what belongs to no project."""
    project = access.normalize_project_name(name) if name else ""
    # What belongs to no project is for callers of all projects.
    access.require_project(call.caller, project or access.ALL_PROJECTS, writes=True)
    spellings = list_spellings(secret)
    touched: list[ArchivedSession] = call.prepared
    found = Counter(archive_frame=len(touched))
    for scope in [project] if project else ["", access.ALL_PROJECTS]:
        found += await _scrub_rows(call, scope, spellings, dry_run=dry_run)
        found["audit"] += await _scrub_audit(call, scope, spellings, dry_run=dry_run)
        found["entry"] += await _scrub_index(call, scope, secret, dry_run=dry_run)
    if not dry_run:
        for archive in touched:
            await store.delete_study_results(call.tx, archive)
            await store.reset_study(call.tx, archive, 0)
        if found.total() and project:
            # They are encrypted, so nobody can tell which of them repeats the secret.
            found["idempotency"] = await call.tx.run("delete from idempotency where project = $1", project)
    call.subject = f"{'looked for' if dry_run else 'removed'} a secret in {found.total()} places"
    return ScrubbedProject(project=project, found=dict(+found), is_dry_run=dry_run)


class LastBackupFile(Reply):
    file: str = ""


@operation("memory_last_backup", role="owner", session=False, example={})
async def find_last_backup(call: Call) -> LastBackupFile:
    """The file of the last backup, as far as this server knows of one."""
    last = await read_last_backup(call.tx, call.settings.data)
    return LastBackupFile(file=last.file if last else "")


async def _scrub_rows(call: Call, project: str, spellings: Sequence[str], *, dry_run: bool) -> Counter[str]:
    counts = Counter[str]()
    hashed = {table.name for table in call.catalogue.hashed_tables}
    for table, columns in (await list_text_columns(call.tx)).items():
        for spelling in spellings:
            count = await count_rows_with_text(call.tx, table, columns, project, spelling)
            if count and not dry_run:
                await replace_text(
                    call.tx, table, columns, project, spelling, REPLACEMENT, is_hashed=table in hashed
                )
            counts[table] = max(counts[table], count)
    return counts


async def _scrub_audit(call: Call, project: str, spellings: Sequence[str], *, dry_run: bool) -> int:
    details: dict[tuple[int, str], str] = {}
    for spelling in spellings:
        for row in await call.tx.all(
            "select at, id, detail from audit where project = $1 and replace(detail, $2, '') <> detail",
            project,
            spelling,
        ):
            detail = details.get((row["at"], row["id"]), str(row["detail"]))
            details[row["at"], row["id"]] = detail.replace(spelling, REPLACEMENT)
    if details and not dry_run:
        await redact_audit_rows(call.tx, project, details, call.now)
    return len(details)


async def _scrub_index(call: Call, project: str, secret: str, *, dry_run: bool) -> int:
    """Entries whose words come from the secret are written again from the rows as they are now."""
    word = max(tokenize(secret), key=len, default="")
    if not word:
        return 0
    rows = await call.tx.all(
        "select kind, id from entry where project = $1 and replace(counts, $2, '') <> counts order by kind, id",
        project,
        word,
    )
    if not dry_run:
        sources = {source.kind: source for source in call.catalogue.search_sources}
        for kind in sorted({row["kind"] for row in rows} & sources.keys()):
            ids = [row["id"] for row in rows if row["kind"] == kind]
            items = await sources[kind].load(call.tx, project, ids)
            entries = [entry_from_item(kind, project, item) for item in items]
            await refresh_entries(call.tx, project, kind, ids, entries)
        await add_project_changes(call.tx, project)
        await call.tx.run("delete from term where project = $1 and n <= 0", project)
        await purge_deleted_words(call.tx)
    return len(rows)
