"""The transaction of a write: refuse what is known word for word, write the rest, and answer with a receipt.

Drafts come prepared from `drafts.py`. Here is only what must be exact: the digest of the text, the document that it is
another version of, and the documents that were written after the draft was compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from commonplace import errors
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.identity.liveness import list_live_sessions
from commonplace.notices import Notice, merge_notices
from commonplace.rooms.knowledge import evidence, model, replacement, store
from commonplace.rooms.knowledge.contributes import DOCUMENT_CHANGED, DOCUMENT_STORED
from commonplace.rooms.knowledge.drafts import (
    RELATED_SIMILARITY,
    CleanDraft,
    Draft,
    PreparedDraft,
    compare_documents,
    merge_files,
    merge_tags,
    must_lock_documents,
)
from commonplace.rooms.knowledge.index_entries import DocumentWords
from commonplace.search import index, text
from commonplace.store.counters import lock_project, lock_project_at_end
from commonplace.store.database import Row, Value

_MAX_SIMILAR_SHOWN = 5
_MAX_LATE_COMPARED = 4
# The index counts the words of a title twice, so its counts are only a first sieve.
_LATE_SIMILARITY = RELATED_SIMILARITY / 2
# Of distinct words, however often they occur: a little less than what is reported.
_LATE_WORD_SIMILARITY = RELATED_SIMILARITY * 0.8
_INTERFACE_TYPES = ("interface", "api_spec")


async def write_document(
    call: Call, prepared: PreparedDraft, *, force: bool, status: str, superseded: Row | None = None
) -> model.StoreReceipt:
    """Write a document or another version of one; similar documents are reported.

    `superseded`: the document that this one replaces.
    """
    clean = _set_owner(call, prepared.clean)
    draft = clean.draft
    is_locked = must_lock_documents(draft, may_rewrite=force) or call.is_retry
    facts = await _load_facts(call, prepared, is_locked=is_locked)
    is_new_text = force or superseded is not None
    _refuse_known(facts.twin, "" if is_new_text else prepared.recalled_id)
    similar = await _add_late_documents(call, prepared, facts.late)
    about = await _list_same_interface(call, draft)
    former = _find_former(draft, force, about, facts.namesake)
    if not facts.is_locked:
        await _expect_same_facts(call, prepared, facts)
    document_id, version = await _write_version(call, clean, former, prepared.words)
    refined = await replacement.link_declared(call, document_id, draft, is_new=former is None)
    replaced = superseded["id"] if superseded and superseded["id"] != document_id else ""
    call.subject = document_id
    call.emit(DOCUMENT_STORED, id=document_id, type=draft.type, title=draft.title)
    if draft.type == "adr":
        details = _relate_decision(version, replaced, [each for each in refined if each != replaced])
        await _announce_decision(call, document_id, draft.title, details)
    others = [each for each in similar if each.id not in {document_id, replaced}][:_MAX_SIMILAR_SHOWN]
    receipt = model.StoreReceipt(
        status=status,
        id=document_id,
        version=version,
        expires_at=iso(draft.expires_at) if draft.expires_at else None,
        overlap_warning=_warn_of_owner(draft, about),
        similar=others,
        refines=refined,
        flags=clean.flags,
        masked=clean.masked,
        message=_name_near_duplicate(others, refined),
    )
    if superseded and replaced:
        told = await replacement.supersede_document(call, superseded, document_id)
        call.emit(DOCUMENT_CHANGED, id=replaced, status="superseded")
        receipt.superseded, receipt.cited_by, receipt.notified = replaced, told.cited_by, told.notified
    return receipt


def _name_near_duplicate(similar: Sequence[model.SimilarDocument], refined: Sequence[str]) -> str:
    """How to say that this document replaces one that says nearly the same."""
    near = next((each for each in similar if each.similarity >= model.NEAR_DUPLICATE_SIMILARITY), None)
    if near is None or near.id in refined:
        return ""
    return (
        f'{near.id} says nearly the same, and this one is shown before it; to retire it, pass supersedes="{near.id}"'
        " with a text that replaces it."
    )


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the project knows when the document is written."""

    twin: Row | None
    late: Sequence[Row]
    namesake: Row | None
    last_entry: int
    is_locked: bool


async def _load_facts(call: Call, prepared: PreparedDraft, *, is_locked: bool) -> _Facts:
    """Read them under the lock where a former version may be changed; else they were read with the session."""
    if is_locked:
        await lock_project(call.tx, call.project, "documents")
    rows = call.session_rows[: len(prepared.session_reads)]
    twins, late, namesakes = await call.tx.together(*prepared.facts) if is_locked or not rows else rows
    last_entry = max((row["n"] for row in late), default=prepared.last_entry)
    return _Facts(
        twins[0] if twins else None, late, namesakes[0] if namesakes else None, last_entry, is_locked
    )


async def _expect_same_facts(call: Call, prepared: PreparedDraft, facts: _Facts) -> None:
    """Nobody wrote the same, or something about it, since the facts were read; documents are locked until commit."""
    twin, _, namesake = prepared.facts
    await lock_project_at_end(call.tx, call.project, "documents")
    await call.tx.expect_no_row(*twin)
    if facts.namesake is None:
        await call.tx.expect_no_row(*namesake)
    await index.expect_no_related_entry(
        call.tx,
        call.project,
        store.DOCUMENT_KIND,
        facts.last_entry,
        prepared.clean.words,
        _LATE_WORD_SIMILARITY,
    )


async def write_record(call: Call, prepared: PreparedDraft) -> str:
    """Write an account of something that happened, also if the same was written before; return its id."""
    document_id, _ = await _write_version(call, prepared.clean, None, prepared.words)
    return document_id


def _set_owner(call: Call, clean: CleanDraft) -> CleanDraft:
    """An interface belongs to who describes it, unless the draft names an owner."""
    if not clean.draft.interface_name or clean.draft.interface_owner:
        return clean
    return replace(clean, draft=replace(clean.draft, interface_owner=call.agent))


def _refuse_known(twin: Row | None, recalled_id: str) -> None:
    if twin is not None:
        raise errors.Duplicate(
            f"An identical document exists: {twin['id']}.",
            hint=f'Use it. To retire another one for it, call memory_change_status with superseded_by="{twin["id"]}".',
            id=twin["id"],
        )
    if recalled_id:
        raise errors.Duplicate(
            f"This session was shown this text before, in {recalled_id}.",
            hint="Store only what is new, or store all of it with memory_store and force_store=true.",
            id=recalled_id,
        )


async def _add_late_documents(
    call: Call, prepared: PreparedDraft, late: Sequence[Row]
) -> list[model.SimilarDocument]:
    """Compare with documents that were written after the draft was prepared."""
    if not late:
        return prepared.similar
    measured = [
        (text.measure_similarity(prepared.clean.words, index.parse_counts(row)), row["id"]) for row in late
    ]
    related = sorted(
        ((near, entry_id) for near, entry_id in measured if near >= _LATE_SIMILARITY), reverse=True
    )
    rows = await store.load_documents(
        call.tx, call.project, [entry_id for _, entry_id in related[:_MAX_LATE_COMPARED]]
    )
    changed = {row["id"] for row in late}
    together = [each for each in prepared.similar if each.id not in changed]
    together += compare_documents(prepared.clean, list(rows.values()), call.now)
    return sorted(together, key=lambda each: -each.similarity)


def _relate_decision(version: int, replaced: str, refined: Sequence[str]) -> list[str]:
    """Say how a decision relates to earlier ones, so that readers of those do not take it for one that they know."""
    details = {
        f"version {version}": version > 1,
        f"which replaces {replaced}": bool(replaced),
        f"which refines {', '.join(refined[:2])}": bool(refined),
    }
    return [detail for detail, applies in details.items() if applies]


async def _announce_decision(call: Call, document_id: str, title: str, details: Sequence[str]) -> None:
    """Leave one notice of all new decisions for every live session of the project; those after it read of them."""
    own = call.session.id if call.session else ""
    sessions = [row["id"] for row in await list_live_sessions(call.tx, call.project, call.now, but=own)]
    entry = {"author": call.agent, "document": document_id, "title": title, "details": list(details)}
    await merge_notices(call.tx, call.project, dict.fromkeys(sessions, Notice("decision", entry)), call.now)


async def _list_same_interface(call: Call, draft: Draft) -> Sequence[Row]:
    if not draft.interface_name:
        return []
    return await store.list_documents_of_interface(call.tx, call.project, draft.interface_name, call.now)


def _find_former(draft: Draft, force: bool, about: Sequence[Row], namesake: Row | None) -> Row | None:
    """The document that this is another version of, if there is one."""
    title = draft.title.lower()
    for row in about:
        same = row["type"] == draft.type and row["interface_owner"] == draft.interface_owner
        if same and (draft.type in _INTERFACE_TYPES or row["title"].lower() == title):
            return row
    if not force or namesake is None or not draft.interface_name:
        return namesake if force else None
    return namesake if namesake["interface_owner"] in {"", draft.interface_owner} else None


async def _write_version(
    call: Call, clean: CleanDraft, former: Row | None, words: DocumentWords
) -> tuple[str, int]:
    """The id of the document and the number of its version."""
    files = merge_files(clean.draft, former)
    if former is None:
        document_id, version = await _insert_document(call, clean, words), 1
    else:
        document_id = former["id"]
        version = await _rewrite_document(call, clean, former, files, words)
    cited = files if clean.draft.cites else ()
    if cited or former is not None:
        await evidence.replace_citations(call.tx, call.project, document_id, cited)
    return document_id, version


async def _insert_document(call: Call, clean: CleanDraft, words: DocumentWords) -> str:
    draft = clean.draft
    entry = await store.insert_document(
        call.tx,
        call.project,
        type=draft.type,
        title=draft.title,
        content=draft.content,
        author=call.agent,
        now=call.now,
        tags=merge_tags(draft, None),
        files=draft.files,
        expires_at=draft.expires_at,
        digest=clean.digest,
        words=words,
        **_derived_fields(clean),
        **draft.interface_fields,
    )
    call.index_new(entry)
    return entry.id


async def _rewrite_document(
    call: Call, clean: CleanDraft, former: Row, files: Sequence[str], words: DocumentWords
) -> int:
    """What is not told of its interface stays."""
    draft = clean.draft
    return await store.update_document_content(
        call.tx,
        former,
        call.agent,
        call.now,
        words,
        title=draft.title,
        content=draft.content,
        tags=store.encode_texts(merge_tags(draft, former)),
        files=store.encode_texts(files),
        expires_at=draft.expires_at,
        digest=clean.digest,
        **_derived_fields(clean),
        **{name: value for name, value in draft.interface_fields.items() if value},
    )


def _derived_fields(clean: CleanDraft) -> dict[str, Value]:
    return {
        "flags": store.encode_texts(clean.flags),
        "derived_from": store.encode_texts(clean.mentioned_ids),
    }


def _warn_of_owner(draft: Draft, about: Sequence[Row]) -> str | None:
    other = next((row for row in about if row["interface_owner"] != draft.interface_owner), None)
    return (
        f"{other['id']} describes the same interface, owned by {other['interface_owner']}" if other else None
    )
