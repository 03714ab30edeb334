"""Which document replaces which: as a call says it, or as the text of one of them declares it.

"Supersedes ADR-4" in a document, or "superseded by 0009-use-x.md", becomes a link when the other one is found. A link
counts while the later document is active. A document that `supersedes` names is retired as well, and the authors of what
cites it are told.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from commonplace import errors
from commonplace.call import Call
from commonplace.notices import notify_agents
from commonplace.rooms.knowledge import model, store
from commonplace.rooms.knowledge.drafts import Draft
from commonplace.search.find import find_entries_by_words
from commonplace.search.query import EntryFilter
from commonplace.search.source import SearchItem
from commonplace.store import ids
from commonplace.store.counters import lock_project
from commonplace.store.database import Row, Tx

_MAX_CHAIN = 10
_MAX_SUCCESSORS = 100
_CITING_KINDS = (store.DOCUMENT_KIND, "spec")
_HANDOFF_TYPE = "handoff"
"""It tells what was, and need not be mended."""
_MAX_CITING = 20
_MAX_CANDIDATES = 1000
_MAX_REFERENCE_CHARACTERS = 160
_PLACE_CHARACTERS = 400
_DECLARATION = re.compile(
    r"\b(?:(?P<later>(?:super[sc]ed|replac|obsolet)(?:es|ing)|amend(?:s|ing)|amend(?=\s+(?:adr|doc_|\[)))"
    r"|(?P<earlier>(?:super[sc]eded|replaced|amended|obsoleted|deprecated)[ _-](?:by|in favou?r of)))\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"(?:\b(?:not|never|nor|nothing|without)|n't)\s+(?:\w+\s+)?$", re.IGNORECASE)
_LINKS = re.compile(r"(?:\[[^\]]+\](?:\([^)]*\))?(?:\s*(?:,|and)\s*)*)+|\d+\.\s[^\n]+")
_FRAGMENT_END = re.compile(r"\n\s*\n|[.;](?=\s)|(?<=\S)\n(?!\s*[-*[])")
_NUMBER = re.compile(
    r"(?:\b(?:adr|rfc|pep|decision|record|no\.?)[\s#_-]*|#|\[)(\d{1,5})\b|\b(0\d{2,4})\b", re.IGNORECASE
)
_FILE = re.compile(r"[\w.-]*\w\.(?:md|rst|txt|adoc)\b")
_QUOTED = re.compile(r"\[([^\]]{4,})\]|[\"“]([^\"”]{4,})[\"”]")
_TITLE_NUMBER = re.compile(
    r"(?:(?:adr|rfc|pep|decision)[\s#_:-]*)?(\d{1,5})\b[\s.:)\u2013\u2014-]*", re.IGNORECASE
)
_FILE_NUMBER = re.compile(r"(?:^|/)(?:adr[_-]?)?(\d{1,5})[_-][\w.-]*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reference:
    """What a text says of another document: its id, number, file or title."""

    ids: frozenset[str]
    numbers: frozenset[int]
    files: frozenset[str]
    titles: frozenset[str]


class Declarations(NamedTuple):
    """The documents that a text says it replaces or amends, and those that it says replace it."""

    earlier: list[Reference]
    later: list[Reference]

    def __bool__(self) -> bool:
        return bool(self.earlier or self.later)


def parse_declarations(content: str) -> Declarations:
    found = Declarations([], [])
    for match in _DECLARATION.finditer(content):
        if _DENIED.search(content[max(0, match.start() - 30) : match.start()]):
            continue
        rest = content[match.end() : match.end() + _MAX_REFERENCE_CHARACTERS].lstrip(" :*_\t|-\n")
        links = _LINKS.match(rest)
        reference = parse_reference(links[0] if links else _FRAGMENT_END.split(rest)[0])
        (found.earlier if match["later"] else found.later).append(reference)
    return found


def parse_reference(fragment: str) -> Reference:
    """Everything in this piece of text that may name a document."""
    quoted = [one or other for one, other in _QUOTED.findall(fragment)]
    titles = {_normalize_title(each) for each in (fragment, fragment.partition(" (")[0], *quoted)}
    files = {each.lower() for each in _FILE.findall(fragment)}
    named = [number for pair in _NUMBER.findall(fragment) for number in pair if number]
    in_files = [number for file in files for number in _FILE_NUMBER.findall(file)]
    return Reference(
        frozenset(store.DOCUMENT_ID.findall(fragment)),
        frozenset(int(number) for number in (*named, *in_files)),
        frozenset(files),
        frozenset(each for each in titles if each),
    )


def _normalize_title(title: str) -> str:
    """A title without its number, case and marks."""
    plain = re.sub(r"[`*_\"“”\[\]]", "", title).strip().lower().rstrip(".")
    return " ".join(plain[match.end() :].split() if (match := _TITLE_NUMBER.match(plain)) else plain.split())


def _is_named(row: Row, reference: Reference) -> bool:
    """Does the reference mean this document? A file or a title that it names beside a number must not be another's."""
    if row["id"] in reference.ids:
        return True
    places = [*store.decode_texts(row["files"]), *_FILE.findall(row["place"])]
    names = {place.rpartition("/")[2].lower() for place in places}
    if reference.files and names:
        return not names.isdisjoint(reference.files)
    if _normalize_title(row["title"]) in reference.titles:
        return True
    own = _TITLE_NUMBER.match(row["title"])
    numbers = {int(own[1])} if own else {int(each) for name in names for each in _FILE_NUMBER.findall(name)}
    return not numbers.isdisjoint(reference.numbers)


async def find_declared_links(tx: Tx, project: str, document: str, draft: Draft) -> list[tuple[str, str]]:
    """(document, later) for what the text of this document declares, and for earlier decisions that wait for it."""
    declared = parse_declarations(draft.content)
    if not declared and draft.type != "adr":
        return []
    mentioned = sorted(set(store.DOCUMENT_ID.findall(draft.content)))
    rows = await _load_candidates(tx, project, draft.type, mentioned)
    others = [row for row in rows if row["id"] != document]
    own = {
        "id": document,
        "title": draft.title,
        "files": store.encode_texts(draft.files),
        "place": draft.content[-_PLACE_CHARACTERS:],
    }
    links = [
        (row["id"], document) for row in others if any(_is_named(row, each) for each in declared.earlier)
    ]
    links += [(document, row["id"]) for row in others if any(_is_named(row, each) for each in declared.later)]
    links += [
        (row["id"], document)
        for row in others
        if row["content"] and any(_is_named(own, each) for each in parse_declarations(row["content"]).later)
    ]
    return list(dict.fromkeys(links))


async def _load_candidates(tx: Tx, project: str, type_: str, also: Sequence[str]) -> Sequence[Row]:
    """The active documents of a type with what names them; the text only of those that say what replaces them."""
    return await tx.all(
        f"select id, title, files, substr(content, length(content) - {_PLACE_CHARACTERS}) as place,"
        " case when type = 'adr' and lower(content) like '%ed by%' then content else '' end as content"
        " from document where project = $1 and status = 'active' and (type = $2 or id = any($3))"
        " order by created_at desc, id limit $4",
        project,
        type_,
        list(also),
        _MAX_CANDIDATES,
    )


async def link_declared(call: Call, document: str, draft: Draft, *, is_new: bool) -> list[str]:
    """Link the document with what its text declares; return the ids of what it replaces or amends. A document that is
    written anew is the latest, unless its text says otherwise."""
    tx, project = call.tx, call.project
    if not is_new:
        await tx.queue("delete from document_link where project = $1 and document = $2", project, document)
    links = await find_declared_links(tx, project, document, draft)
    for earlier, later in links:
        await tx.queue(
            "delete from document_link where project = $1 and document = $2 and later = $3",
            project,
            later,
            earlier,
        )
    await tx.many(
        "insert into document_link (project, document, later, at) values ($1, $2, $3, $4)"
        " on conflict (project, document, later) do update set at = excluded.at",
        [(project, *link, call.now) for link in links],
    )
    return [earlier for earlier, later in links if later == document]


async def find_later_documents(tx: Tx, project: str, documents: Sequence[str]) -> dict[str, str]:
    """The id of the document that holds now instead of each of these: the end of the chain of what replaced it."""
    later = await _find_next_documents(tx, project, documents)
    asked = set(documents)
    for _ in range(_MAX_CHAIN):
        further = set(later.values()) - asked
        if not further:
            break
        later |= await _find_next_documents(tx, project, list(further))
        asked |= further
    return {document: _follow_chain(later, document) for document in documents if document in later}


def _follow_chain(later: Mapping[str, str], document: str) -> str:
    """The last document of the chain; in a circle the next one."""
    passed = [document]
    while (following := later.get(passed[-1])) is not None:
        if following in passed:
            return later[document]
        passed.append(following)
    return passed[-1]


async def _find_next_documents(tx: Tx, project: str, documents: Sequence[str]) -> dict[str, str]:
    """The newest active document that is declared to be later than each of these, or the one that replaced it."""
    rows = await tx.all(
        "select link.document, link.later, link.at from document_link as link join document as successor"
        " on successor.project = $1 and successor.id = link.later and successor.status = 'active'"
        " where link.project = $1 and link.document = any($2)"
        " union all select id, superseded_by, updated_at from document"
        " where project = $1 and id = any($2) and status = 'superseded' and superseded_by <> ''"
        " order by 3, 2",
        project,
        list(documents),
    )
    return {row["document"]: row["later"] for row in rows}


async def resolve_successor(call: Call, identity: str, prefix: str) -> str:
    """The full id of the document that replaces this one; refuses itself and cycles."""
    projects = call.list_read_projects(include_shared=True)
    matches = await ids.find_ids_by_prefix(call.tx, "document", projects, prefix)
    if not matches:
        raise errors.NotFound(
            f"There is no document '{prefix}'.", hint="Set superseded_by to the id of an existing document."
        )
    if matches[0][1] == identity:
        raise errors.Invalid(
            "A document cannot replace itself.", hint="Set superseded_by to the id of another document."
        )
    await _refuse_cycle(call, projects, identity, matches[0][1])
    return matches[0][1]


async def _refuse_cycle(call: Call, projects: Sequence[str], identity: str, after: str) -> None:
    following = after
    for _ in range(_MAX_SUCCESSORS):
        matches = await ids.find_ids_by_prefix(call.tx, "document", list(projects), following)
        row = await store.load_document(call.tx, *matches[0]) if matches else None
        following = row["superseded_by"] if row else ""
        if following == identity:
            raise errors.Conflict(
                f"{after} is itself replaced by {identity}.",
                hint=f"If {after} is the valid one, set its status to active first.",
                id=after,
            )
        if not following:
            return


async def load_superseded(call: Call, named: str, type_: str) -> Row:
    """The document that the text of this call replaces, by its id, number or title; nobody else changes it until this
    call is over."""
    await lock_project(call.tx, call.project, "documents")
    if named.startswith("doc_"):
        identities = [await ids.resolve_id(call.tx, "document", call.project, named)]
    else:
        number = named.strip().lstrip("#")
        reference = parse_reference(f"#{number}" if number.isdecimal() else named)
        rows = await _load_candidates(call.tx, call.project, type_, ())
        identities = [row["id"] for row in rows if _is_named(row, reference)]
        if not identities:
            identities = await store.find_ids_by_title(call.tx, call.project, named)
    if len(identities) > 1:
        raise errors.Conflict(
            f"'{named}' names {len(identities)} documents.",
            hint=f"Pass one of the ids: {', '.join(identities[:5])}.",
        )
    row = await store.load_document(call.tx, call.project, identities[0]) if identities else None
    if row is None:
        raise errors.NotFound(
            f"There is no document '{named}'.",
            hint="Set supersedes to the id, the number or the title of an existing document.",
        )
    return row


class Replacement(NamedTuple):
    """The ids of what cites a replaced document and not its successor, and the agents that were told to check it."""

    cited_by: list[str]
    notified: list[str]


async def supersede_document(call: Call, row: Row, successor: str) -> Replacement:
    """Retire the document for the other; return what cites it and may be outdated."""
    await _refuse_cycle(call, [call.project], row["id"], successor)
    await store.delete_archive_marks(call.tx, row)
    await store.update_document_statuses(call.tx, [row], ["superseded"], call.agent, "", call.now, successor)
    return await announce_replacement(call, row["id"], successor)


async def announce_replacement(call: Call, replaced: str, successor: str) -> Replacement:
    """Tell the authors of what cites the replaced document."""
    citing = [
        item
        for item in await _list_citing_items(call, replaced)
        if item.id != successor and successor not in item.text and item.type != _HANDOFF_TYPE
    ]
    ids_by_author: dict[str, list[str]] = defaultdict(list)
    for item in citing:
        ids_by_author[item.details.get("owner") or item.author].append(_name_item(item))
    notified: list[str] = []
    for author in sorted(ids_by_author.keys() - {call.agent}):
        own = ", ".join(ids_by_author[author])
        text = f"{call.agent} replaced {replaced} with {successor}: check {own} of yours, which cites it."
        notified += await notify_agents(call.tx, call.project, [author], text, call.now)
    return Replacement(sorted(item.id for item in citing), notified)


def _name_item(item: SearchItem) -> str:
    return f"spec {item.title}" if item.details.get("owner") else item.id


async def _list_citing_items(call: Call, document: str) -> list[SearchItem]:
    """The active documents and specs whose text has the id, found by its rarest part."""
    unique = document.partition("_")[2]
    found: list[SearchItem] = []
    for kind in _CITING_KINDS:
        entry_filter = EntryFilter(call.now, (kind,))
        hits = await find_entries_by_words(call.tx, unique, call.project, entry_filter, _MAX_CITING)
        if hits:
            source = call.search.sources[kind]
            found += await source.load(call.tx, call.project, [hit.id for hit in hits])
    return [item for item in found if document in item.text]


async def refuse_active_duplicate(call: Call, row: Row) -> None:
    """Refuse to reactivate a document if an active one has the same text."""
    if model.resolve_status(row["status"], row["expires_at"], call.now) == "active":
        return
    projects = call.list_read_projects(include_shared=True)
    digest = store.compute_digest(row["title"], row["content"])
    twin = await call.tx.one(*store.identical_document_statement(projects, digest, call.now, but=row["id"]))
    if twin is not None:
        raise errors.Duplicate(
            "An active document has the same text.",
            hint="Use that document, or archive it first.",
            id=twin["id"],
        )


async def restore_documents(
    call: Call, rows: Sequence[Row], tag: str
) -> tuple[list[Row], list[dict[str, str]]]:
    """Give each document its former status, except where an active one has the same text; return both lists."""
    restored: list[Row] = []
    duplicates: list[dict[str, str]] = []
    digests = [store.compute_digest(row["title"], row["content"]) for row in rows]
    active = await store.find_identical_ids(
        call.tx, call.list_read_projects(include_shared=True), digests, call.now
    )
    for row, digest in zip(rows, digests, strict=True):
        if row["former"] != "active" or active.setdefault(digest, row["id"]) == row["id"]:
            restored.append(row)
        else:
            duplicates.append({"id": row["id"], "title": row["title"], "duplicate_of": active[digest]})
    reason = f"restored with the tag {tag}"
    await store.update_document_statuses(
        call.tx, restored, [row["former"] for row in restored], call.agent, reason, call.now
    )
    return restored, duplicates
