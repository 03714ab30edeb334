"""The tables of documents, their tags and what sessions were shown. Each change writes a version, and but for a new document
its index entry."""

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from operator import itemgetter

import msgspec

from commonplace.rooms.knowledge import index_entries
from commonplace.rooms.knowledge.index_entries import DocumentWords
from commonplace.search import index
from commonplace.search.source import EntryUse
from commonplace.search.words import ENTRY_COUNTER
from commonplace.store.counters import add_to_counter
from commonplace.store.database import Row, Statement, Tx, Value
from commonplace.store.row_hashes import HashedTable, set_hash_if_unchanged

# What the hash of a row covers is not the list of the statements: a column that is added here changes every hash.
# Without `opened` and `recalled`: uses are counted without the rest of the row.
_DOCUMENT = (
    "project, id, type, title, content, status, author, tags, files, derived_from, flags, interface_name,"
    " interface_version, interface_owner, interface_schema, superseded_by, digest, version, created_at, changed_at,"
    " updated_at, expires_at"
)
_VERSION = "project, document, version, at, author, what, status, title, content, reason"

HASHED_DOCUMENTS = HashedTable("document", ("id",), tuple(_DOCUMENT.split(", ")))
HASHED_VERSIONS = HashedTable(
    "document_version", ("document", "version"), tuple(_VERSION.split(", ")), number_keys=("version",)
)

DOCUMENT_KIND = index_entries.DOCUMENT_KIND
DOCUMENT_ID = re.compile(r"\bdoc_[0-9a-f]{12}\b")
DOCUMENT_COLUMNS = (
    "project, id, type, title, content, status, author, tags, files, derived_from, flags, interface_name,"
    " interface_version, interface_owner, interface_schema, superseded_by, version, opened, recalled, created_at, changed_at,"
    " updated_at, expires_at, digest, row_hash"
)
_COLUMN_NAMES = tuple(DOCUMENT_COLUMNS.split(", "))
_INSERT_DOCUMENT = f"insert into document ({DOCUMENT_COLUMNS}) values ({', '.join(f'${n + 1}' for n in range(len(_COLUMN_NAMES)))})"
_list_values = itemgetter(*_COLUMN_NAMES)
_UNSET_FIELDS: dict[str, Value] = {
    "derived_from": "[]",
    "flags": "[]",
    "interface_name": "",
    "interface_version": "",
    "interface_owner": "",
    "interface_schema": "",
    "superseded_by": "",
    "opened": 0,
    "recalled": 0,
}
_MAX_LISTED_VERSIONS = 100
_ACTIVE_CLAUSE = "status = 'active' and (expires_at is null or expires_at > $2)"
_EXPIRED = "status = 'active' and expires_at <= $2"


def compute_digest(title: str, content: str) -> str:
    """A digest that ignores white space and case."""
    plain = "\n".join(" ".join(part.split()).lower() for part in (title, content))
    return hashlib.sha256(plain.encode()).hexdigest()[:32]


async def insert_document(
    tx: Tx,
    project: str,
    *,
    type: str,
    title: str,
    content: str,
    author: str,
    now: int,
    tags: Sequence[str] = (),
    files: Sequence[str] = (),
    expires_at: int | None = None,
    digest: str,
    words: DocumentWords,
    **more: Value,
) -> index.IndexEntry:
    """Insert a document with its first version and its tags; return its index entry, which the caller must put.

    `digest` and `words` are computed before the transaction.
    """
    document_id = f"doc_{secrets.token_hex(6)}"
    row: dict[str, Value] = {
        "project": project,
        "id": document_id,
        "type": type,
        "title": title,
        "content": content,
        "status": "active",
        "author": author,
        "tags": encode_texts(tags),
        "files": encode_texts(files),
        **_UNSET_FIELDS,
        "digest": digest,
        "version": 1,
        "created_at": now,
        "changed_at": now,
        "updated_at": now,
        "expires_at": expires_at,
        **more,
    }
    await add_to_counter(tx, project, "documents", 1)
    await _insert_row(tx, row)
    await insert_document_version(tx, row, author, "created", "", content)
    await _insert_tags(tx, project, document_id, tags)
    return index_entries.build_index_entry(row, tags, files, words)


async def _insert_row(tx: Tx, row: dict[str, Value]) -> None:
    row["row_hash"] = HASHED_DOCUMENTS.compute_hash(row)
    await tx.queue(_INSERT_DOCUMENT, *_list_values(row))


async def update_document_content(
    tx: Tx, row: Row, author: str, now: int, words: DocumentWords | None = None, **changed: Value
) -> int:
    """Write another version of the document's content; return its number."""
    after: dict[str, Value] = {
        **row,
        **changed,
        "version": row["version"] + 1,
        "changed_at": now,
        "updated_at": now,
    }
    if "digest" not in changed:
        after["digest"] = compute_digest(str(after["title"]), str(after["content"]))
    names = dict.fromkeys((*changed, "version", "changed_at", "updated_at", "digest"))
    await _update_document(tx, row, {name: after[name] for name in names})
    await insert_document_version(tx, after, author, "content", "", str(after["content"]))
    tags, files = decode_texts(after["tags"]), decode_texts(after["files"])
    await _insert_tags(tx, row["project"], row["id"], tags)
    await index.put_entries(tx, [index_entries.build_index_entry(after, tags, files, words)])
    return int(row["version"]) + 1


async def update_document_statuses(
    tx: Tx,
    rows: Sequence[Row],
    statuses: Sequence[str],
    author: str,
    reason: str,
    now: int,
    superseded_by: str = "",
) -> None:
    """Set the status of each row, with a version and in the index; `changed_at` stays."""
    for row, status in zip(rows, statuses, strict=True):
        changed = {
            "status": status,
            "version": row["version"] + 1,
            "updated_at": now,
            "superseded_by": superseded_by or ("" if status == "active" else row["superseded_by"]),
        }
        after = {**row, **changed}
        await _update_document(tx, row, changed)
        await insert_document_version(tx, after, author, "status", reason, "")
        await add_to_counter(
            tx, row["project"], "documents", (status == "active") - (row["status"] == "active")
        )
        await index.update_entry_status(tx, row["project"], DOCUMENT_KIND, [row["id"]], status)


async def update_document_expiry(tx: Tx, row: Row, expires_at: int | None) -> None:
    """Set the time of expiry; None means never."""
    await _update_document(tx, row, {"expires_at": expires_at})
    await index.update_entry_expiry(tx, row["project"], DOCUMENT_KIND, row["id"], expires_at)


async def _update_document(tx: Tx, row: Row, changed: Mapping[str, Value]) -> None:
    sets = ", ".join(f"{name} = ${position}" for position, name in enumerate(changed, 5))
    await tx.queue(
        f"update document set {sets}, {set_hash_if_unchanged(3, 4)} where project = $1 and id = $2",
        row["project"],
        row["id"],
        row["row_hash"],
        HASHED_DOCUMENTS.hash_after(row, {**row, **changed}),
        *changed.values(),
    )


async def list_document_counts(tx: Tx) -> Sequence[Row]:
    """The number of active documents of each project, from a counter."""
    return await tx.all("select project, n from counter where name = 'documents' order by project")


def documents_statement(project: str, ids: Sequence[str]) -> Statement:
    return (
        f"select {DOCUMENT_COLUMNS} from document where project = $1 and id = any($2)",
        project,
        list(ids),
    )


async def load_documents(tx: Tx, project: str, ids: Sequence[str]) -> dict[str, Row]:
    return {row["id"]: row for row in await tx.all(*documents_statement(project, ids))} if ids else {}


async def load_document(tx: Tx, project: str, identity: str) -> Row | None:
    return (await load_documents(tx, project, [identity])).get(identity)


async def list_indexed_projects(tx: Tx, limit: int) -> list[str]:
    """The projects that have index entries, for everyone or for some readers."""
    rows = await tx.all(
        "select distinct project from counter where (name = $1 or name like $2) and n > 0 order by project limit $3",
        ENTRY_COUNTER,
        f"{ENTRY_COUNTER}@%",
        limit,
    )
    return [row["project"] for row in rows]


def identical_document_statement(projects: Sequence[str], digest: str, now: int, but: str = "") -> Statement:
    """Reads an active document with the same digest, other than `but`."""
    return (
        (
            "select id, title from document where project = any($1) and digest = $2 and status = 'active'"
            " and (expires_at is null or expires_at > $3) and id <> $4 order by created_at, id limit 1"
        ),
        list(projects),
        digest,
        now,
        but,
    )


async def find_identical_ids(
    tx: Tx, projects: Sequence[str], digests: Sequence[str], now: int
) -> dict[str, str]:
    """The id of the active document with each of these digests."""
    rows = await tx.all(
        "select digest, min(id) as id from document where project = any($1) and digest = any($2)"
        " and status = 'active' and (expires_at is null or expires_at > $3) group by digest",
        list(projects),
        list(digests),
        now,
    )
    return {row["digest"]: row["id"] for row in rows}


def document_by_title_statement(
    project: str,
    type: str,
    title: str,
    now: int,
) -> Statement:
    """Reads the active document of this type and title, ignoring case."""
    return (
        (
            f"select {DOCUMENT_COLUMNS} from document where project = $1 and type = $2 and lower(title) = lower($3)"
            " and status = 'active' and (expires_at is null or expires_at > $4) order by changed_at desc, id limit 1"
        ),
        project,
        type,
        title,
        now,
    )


async def list_documents_of_interface(tx: Tx, project: str, name: str, now: int) -> Sequence[Row]:
    """The active documents about an interface, the last changed first."""
    return await tx.all(
        f"select {DOCUMENT_COLUMNS} from document where project = $1 and interface_name = $2 and status = 'active'"
        " and (expires_at is null or expires_at > $3) order by changed_at desc, id limit 100",
        project,
        name,
        now,
    )


async def list_documents_by_tag(tx: Tx, project: str, tag: str) -> Sequence[Row]:
    return await tx.all(
        f"select {_prefix_columns('d')} from document_tag t join document d on d.project = t.project and d.id = t.document"
        " where t.project = $1 and t.tag = $2 and d.status <> 'archived' order by d.id",
        project,
        tag,
    )


async def insert_archived_documents(tx: Tx, tag: str, rows: Sequence[Row], now: int) -> None:
    await tx.many(
        "insert into archived (project, tag, document, former, at) values ($1, $2, $3, $4, $5)"
        " on conflict (project, tag, document) do update set former = excluded.former, at = excluded.at",
        [(row["project"], tag, row["id"], row["status"], now) for row in rows],
    )


async def delete_archive_marks(tx: Tx, row: Row) -> None:
    """After a decision on this one document, restoring by tag must not change it."""
    await tx.queue(
        "delete from archived where project = $1 and tag = any($2) and document = $3",
        row["project"],
        decode_texts(row["tags"]),
        row["id"],
    )


async def pop_archived_documents(tx: Tx, project: str, tag: str) -> Sequence[Row]:
    """The documents archived by this tag and not changed since, with their `former` status; forgets the marks."""
    rows = await tx.all(
        f"select {_prefix_columns('d')}, a.former from archived a join document d on d.project = a.project"
        " and d.id = a.document where a.project = $1 and a.tag = $2 and d.status = 'archived' order by d.id",
        project,
        tag,
    )
    await tx.run("delete from archived where project = $1 and tag = $2", project, tag)
    return rows


async def increment_use_counts(tx: Tx, project: str, column: str, ids: Sequence[str]) -> None:
    """Add one for each id; an id may be listed more than once."""
    await tx.many(
        f"update document set {column} = {column} + 1 where project = $1 and id = $2",
        [(project, identity) for identity in sorted(ids)],
    )


async def record_served_documents(tx: Tx, uses: Sequence[EntryUse]) -> None:
    await tx.many(
        "insert into served (project, session, document, at) values ($1, $2, $3, $4)"
        " on conflict (project, session, document) do update set at = excluded.at",
        [(use.project, use.session, use.id, use.at) for use in uses if use.session],
    )


def served_documents_statement(project: str, session: str, also: Sequence[str], limit: int) -> Statement:
    """Reads the documents that a session was shown, and those in `also`."""
    return (
        (
            "select id, title, content from document where project = $1 and (id = any($3) or id in"
            " (select document from served where project = $1 and session = $2 order by at desc limit $4))"
        ),
        project,
        session,
        list(also),
        limit,
    )


async def insert_document_version(
    tx: Tx, row: Mapping[str, Value], author: str, what: str, reason: str, content: str
) -> None:
    version: dict[str, Value] = {
        "project": row["project"],
        "document": row["id"],
        "version": row["version"],
        "at": row["updated_at"],
        "author": author,
        "what": what,
        "status": row["status"],
        "title": row["title"],
        "content": content,
        "reason": reason,
    }
    await tx.queue(
        "insert into document_version (project, document, version, at, author, what, status, title, content, reason,"
        " row_hash) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        *version.values(),
        HASHED_VERSIONS.compute_hash(version),
    )


async def _insert_tags(tx: Tx, project: str, identity: str, tags: Sequence[str]) -> None:
    await tx.many(
        "insert into document_tag (project, tag, document) values ($1, $2, $3)"
        " on conflict (project, tag, document) do nothing",
        [(project, tag, identity) for tag in dict.fromkeys(tags)],
    )


def _prefix_columns(table: str) -> str:
    return ", ".join(f"{table}.{column.strip()}" for column in DOCUMENT_COLUMNS.split(","))


def encode_texts(texts: Sequence[str]) -> str:
    return msgspec.json.encode(list(texts)).decode()


def decode_texts(stored: object) -> list[str]:
    return msgspec.json.decode(str(stored), type=list[str])


async def list_document_versions(tx: Tx, project: str, identity: str, until: int) -> Sequence[Row]:
    """The versions up to `until`, newest first, without their texts."""
    return await tx.all(
        "select version, at, author, what, status, title, reason from document_version"
        " where project = $1 and document = $2 and version <= $3 order by version desc limit $4",
        project,
        identity,
        until,
        _MAX_LISTED_VERSIONS,
    )


async def find_version_text(tx: Tx, project: str, identity: str, number: int) -> Row | None:
    """The title and content at a version: those of the last change of content up to it."""
    return await tx.one(
        "select title, content from document_version where project = $1 and document = $2 and version <= $3"
        " and what <> 'status' order by version desc limit 1",
        project,
        identity,
        number,
    )


async def find_ids_by_title(tx: Tx, project: str, title: str) -> list[str]:
    rows = await tx.all(
        "select id from document where project = $1 and lower(title) = lower($2) and status = 'active' order by id limit 10",
        project,
        title,
    )
    return [row["id"] for row in rows]


async def list_newest_of_types(
    tx: Tx, project: str, now: int, types: Sequence[str], limit: int, since: int = 0
) -> Sequence[Row]:
    """Documents of these types since then, except those that read like instructions: nobody asked for them."""
    return await tx.all(
        "select project, id, type, title, content, author, status, flags, superseded_by, changed_at, expires_at from document"
        f" where project = $1 and {_ACTIVE_CLAUSE} and type = any($3) and flags not like '%instruction_like%'"
        " and created_at >= $5 order by created_at desc, id limit $4",
        project,
        now,
        list(types),
        limit,
        since,
    )


async def list_newest_documents(tx: Tx, project: str, now: int, limit: int) -> Sequence[Row]:
    return await tx.all(
        f"select id, title, type from document where project = $1 and {_ACTIVE_CLAUSE} order by created_at desc, id limit $3",
        project,
        now,
        limit,
    )


async def list_documents_of_type(
    tx: Tx, project: str, now: int, kind: str, limit: int, author: str | None = None
) -> Sequence[Row]:
    return await tx.all(
        "select id, title, content, author, files, flags, created_at from document"
        f" where project = $1 and {_ACTIVE_CLAUSE} and type = $3 and (CAST($4 as text) is null or author = $4)"
        " order by created_at desc, id limit $5",
        project,
        now,
        kind,
        author,
        limit,
    )


async def list_changed_interfaces(tx: Tx, project: str, now: int, since: int, limit: int) -> Sequence[Row]:
    return await tx.all(
        "select id, title, interface_name, interface_version, interface_owner, changed_at from document"
        f" where project = $1 and {_ACTIVE_CLAUSE} and interface_name > '' and changed_at > $3"
        " order by changed_at desc limit $4",
        project,
        now,
        since,
        limit,
    )


async def list_agent_names(tx: Tx, project: str, limit: int) -> list[str]:
    rows = await tx.all("select name from agent where project = $1 order by name limit $2", project, limit)
    return [row["name"] for row in rows]


async def mark_expired_documents(tx: Tx, project: str, now: int, limit: int) -> int:
    """Set the status of documents past their time; queries leave them out already."""
    rows = await tx.all(
        f"select {DOCUMENT_COLUMNS} from document where project = $1 and {_EXPIRED} limit $3",
        project,
        now,
        limit,
    )
    await update_document_statuses(tx, rows, ["expired"] * len(rows), "commonplace", "its time is over", now)
    return len(rows)


async def list_projects_with_expired_documents(
    tx: Tx, projects: Sequence[str], now: int, limit: int
) -> set[str]:
    rows = await tx.all(
        f"select project from document where project = any($1) and {_EXPIRED} limit $3", projects, now, limit
    )
    return {row["project"] for row in rows}


async def count_expired_documents(tx: Tx, project: str, now: int) -> int:
    row = await tx.one(f"select count(*) as n from document where project = $1 and {_EXPIRED}", project, now)
    return int(row["n"]) if row else 0
