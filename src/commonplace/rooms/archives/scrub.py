"""memory_scrub: remove a secret that slipped into a project, everywhere the store keeps it.

Archives are rewritten before the transaction, frame by frame with their offsets kept; `scrub_store.py` has the SQL for
everything else. The search index follows in the same transaction, sessions are parsed again in the background, and the
audit log gets a redaction record. `commonplace scrub` runs it for every project and cleans the files beside the server.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.arguments import ProjectSpelling
from commonplace.call import Call, Calls
from commonplace.masking.transcript_lines import MaskedBytes
from commonplace.operation import Reply, operation
from commonplace.rooms.admin.audit_sealing import redact_audit_rows
from commonplace.rooms.archives import mask_stored, scrub_store, study_store
from commonplace.rooms.archives import store as archives
from commonplace.search.index import refresh_entries
from commonplace.search.refresh import entry_from_item, purge_deleted_words
from commonplace.search.term_counts import add_project_changes
from commonplace.search.text import tokenize
from commonplace.store.database import Tx
from commonplace.store.last_backup import read_last_backup
from commonplace.transcripts.archive.frames import ArchivedSession

REPLACEMENT = "[scrubbed]"
MIN_SECRET_CHARACTERS = 8
SecretText = Annotated[str, Field(min_length=MIN_SECRET_CHARACTERS, max_length=20_000)]
_MAX_ARCHIVES = 100_000
_MAX_TIME = 2**62


class ScrubbedProject(Reply):
    project: str
    found: dict[str, int] = {}
    """How many rows of each table, and how many archives, hold the secret, or held it."""
    is_dry_run: bool = False


@dataclass
class ArchiveFindings:
    touched: list[ArchivedSession] = field(default_factory=list)


def list_spellings(secret: str) -> list[str]:
    """The secret as it is, as text inside of JSON, and inside of JSON in JSON; the longest first."""
    once = json.dumps(secret, ensure_ascii=False)[1:-1]
    ascii_once = json.dumps(secret)[1:-1]
    twice = json.dumps(once, ensure_ascii=False)[1:-1]
    return sorted({secret, once, ascii_once, twice}, key=len, reverse=True)


def _resolve_scrubbed_project(caller: Caller, name: str | None) -> str:
    """The project, if the caller may write to it; what belongs to no project is for callers of all projects."""
    project = access.normalize_project_name(name) if name else ""
    access.require_project(caller, project or access.ALL_PROJECTS, writes=True)
    return project


async def _scrub_archives(calls: Calls, arguments: Mapping[str, Any], caller: Caller) -> ArchiveFindings:
    """Before the transaction: frames are large, and bodies may be in another storage."""
    access.require_role(caller, "owner", "memory_scrub")
    project = access.normalize_project_name(arguments["name"]) if arguments["name"] else ""
    findings = ArchiveFindings()
    if not caller.sees_project(project):
        return findings  # the operation refuses it, or scrubs what belongs to no project and has no archives
    spellings = [spelling.encode() for spelling in list_spellings(arguments["secret"])]
    stored = await calls.database.read(
        lambda tx: archives.list_archives(tx, [project], None, 0, _MAX_TIME, _MAX_ARCHIVES)
    )
    for archive in stored:
        if await _holds_secret(calls, archive, spellings):
            findings.touched.append(archive)
            if not arguments["dry_run"]:
                await _rewrite_archive(calls, archive, spellings)
    return findings


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

    if not await mask_stored.rewrite_session(calls, archive, blank_secrets):
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
    call: Call, secret: SecretText, name: ProjectSpelling | None = None, dry_run: bool = True
) -> ScrubbedProject:
    """Remove a secret from everything that a project stores; without a name, from what belongs to no project."""
    project = _resolve_scrubbed_project(call.caller, name)
    spellings = list_spellings(secret)
    found: dict[str, int] = {}
    for scope in [project] if project else ["", access.ALL_PROJECTS]:
        _add_counts(found, await _scrub_rows(call, scope, spellings, dry_run=dry_run))
        _add_counts(found, await _scrub_audit(call, scope, spellings, dry_run=dry_run))
        _add_counts(found, await _scrub_index(call, scope, secret, dry_run=dry_run))
    findings: ArchiveFindings = call.prepared
    _add_counts(found, {"archive_frame": len(findings.touched)})
    if not dry_run:
        for archive in findings.touched:
            await study_store.delete_study_results(call.tx, archive)
            await study_store.reset_study(call.tx, archive, 0)
        if found and project:
            # They are encrypted, so nobody can tell which of them repeats the secret.
            _add_counts(found, {"idempotency": await scrub_store.delete_answers(call.tx, project)})
    call.subject = f"{'looked for' if dry_run else 'removed'} a secret in {sum(found.values())} places"
    return ScrubbedProject(project=project, found=found, is_dry_run=dry_run)


class LastBackupFile(Reply):
    file: str = ""


@operation("memory_last_backup", role="owner", session=False, example={})
async def find_last_backup(call: Call) -> LastBackupFile:
    """The file of the last backup, as far as this server knows of one."""
    last = await read_last_backup(call.tx, call.settings.data)
    return LastBackupFile(file=last.file if last else "")


def _add_counts(found: dict[str, int], counts: Mapping[str, int]) -> None:
    for place, count in counts.items():
        if count:
            found[place] = found.get(place, 0) + count


async def _scrub_rows(call: Call, project: str, spellings: Sequence[str], *, dry_run: bool) -> dict[str, int]:
    counts: dict[str, int] = {}
    hashed = {table.name for table in call.catalogue.hashed_tables}
    for table, columns in (await scrub_store.list_text_columns(call.tx)).items():
        for spelling in spellings:
            count = await scrub_store.count_rows_with_text(call.tx, table, columns, project, spelling)
            if count and not dry_run:
                await scrub_store.replace_text(
                    call.tx, table, columns, project, spelling, REPLACEMENT, is_hashed=table in hashed
                )
            counts[table] = max(counts.get(table, 0), count)
    return counts


async def _scrub_audit(
    call: Call, project: str, spellings: Sequence[str], *, dry_run: bool
) -> dict[str, int]:
    details: dict[tuple[int, str], str] = {}
    for spelling in spellings:
        for row in await scrub_store.list_audit_details(call.tx, project, spelling):
            detail = details.get((row["at"], row["id"]), str(row["detail"]))
            details[row["at"], row["id"]] = detail.replace(spelling, REPLACEMENT)
    if details and not dry_run:
        await redact_audit_rows(call.tx, project, details, call.now)
    return {"audit": len(details)}


async def _scrub_index(call: Call, project: str, secret: str, *, dry_run: bool) -> dict[str, int]:
    """Entries whose words come from the secret are written again from the rows as they are now."""
    word = max(tokenize(secret), key=len, default="")
    if not word:
        return {}
    rows = await scrub_store.list_entries_with_word(call.tx, project, word)
    count = len(rows)
    if not dry_run:
        sources = {source.kind: source for source in call.catalogue.search_sources}
        for kind in sorted({row["kind"] for row in rows} & sources.keys()):
            ids = [row["id"] for row in rows if row["kind"] == kind]
            await _refresh_entries(call.tx, sources[kind], project, ids)
        await add_project_changes(call.tx, project)
        await scrub_store.delete_unused_terms(call.tx, project)
        await purge_deleted_words(call.tx)
    return {"entry": count}


async def _refresh_entries(tx: Tx, source: Any, project: str, ids: Sequence[str]) -> None:
    items = await source.load(tx, project, ids)
    await refresh_entries(
        tx, project, source.kind, ids, [entry_from_item(source.kind, project, item) for item in items]
    )
