"""A document before its transaction: cleaned, counted and compared with what the team knows.

SQLite has one writer, so everything that takes processor time happens here, in a thread, with candidates from a read
transaction. `writing.py` writes the result, and compares again with documents that arrived in between.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from commonplace import errors, masking
from commonplace.access import Caller
from commonplace.call import Call, Calls
from commonplace.clock import format_age
from commonplace.config import Settings
from commonplace.quoting.hidden_characters import remove_hidden_characters
from commonplace.quoting.instruction_texts import is_instruction_like
from commonplace.rooms.knowledge import model, store
from commonplace.rooms.knowledge.index_entries import (
    DocumentWords,
    count_document_words,
    write_document_words,
)
from commonplace.search import index, text
from commonplace.search.find import find_entries_like
from commonplace.search.query import EntryFilter
from commonplace.store.database import Kind, Row, Statement, Tx, Value

RELATED_SIMILARITY = 0.25
"""From here on two documents are about the same thing: reported as similar."""
_WORD = re.compile(r"\w+")
_MIN_RECALL_TOKENS = 8
_MAX_NEAR_DOCUMENTS = 8
_MAX_SERVED_DOCUMENTS = 50
_MAX_LATE_DOCUMENTS = 50
_MAX_MENTIONS = 50
_MAX_COMPARED_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class CleanText:
    text: str
    flags: tuple[str, ...]
    masked: tuple[str, ...]
    """The kinds of secrets that were masked."""


def clean_text(original: str) -> CleanText:
    """The text without secrets and hidden characters, flagged if it reads like instructions to a model."""
    visible = remove_hidden_characters(original)
    flags = ["hidden_characters"] if visible != original else []
    if is_instruction_like(original):
        flags.append("instruction_like")
    safe = masking.mask_secrets(visible)
    return CleanText(safe.text, tuple(flags), safe.kinds)


@dataclass(frozen=True, slots=True)
class Draft:
    """A document as its writer gave it."""

    type: str
    title: str
    content: str
    tags: tuple[str, ...]
    files: tuple[str, ...]
    expires_at: int | None
    interface_name: str = ""
    interface_version: str = ""
    interface_owner: str = ""
    interface_schema: str = ""
    cites: bool = True
    """Whether `files` are evidence for the document, or were only worked on at the time."""

    @property
    def interface_fields(self) -> dict[str, Value]:
        return {
            "interface_name": self.interface_name,
            "interface_version": self.interface_version,
            "interface_owner": self.interface_owner,
            "interface_schema": self.interface_schema,
        }


@dataclass(frozen=True, slots=True)
class CleanDraft:
    """A draft without secrets and hidden characters, with what was found in it and its words."""

    draft: Draft
    flags: list[str]
    masked: list[str]
    content_words: Counter[str]
    words: Counter[str]
    """Of title and content."""
    digest: str
    mentioned_ids: list[str]
    """Of other documents."""


@dataclass(frozen=True, slots=True)
class PreparedDraft:
    """A clean draft and its similarity to every document up to the index entry `last_entry`."""

    clean: CleanDraft
    similar: list[model.SimilarDocument]
    words: DocumentWords
    recalled_id: str = ""
    """The document that the session was shown and that says the same, if there is one."""
    last_entry: int = 0
    facts: Sequence[Statement] = ()
    """They read twins in the projects, late entries and namesakes."""
    session_reads: Sequence[Statement] = ()
    """What its transaction asks together with the session: nothing if it asks under a lock."""


@dataclass(frozen=True, slots=True)
class _Candidates:
    project: str
    near: Sequence[Row]
    served: Sequence[Row]
    last_entry: int
    facts: Sequence[Statement]
    now: int
    former: Row | None
    """The document that the draft probably becomes the next version of."""


async def prepare_record(calls: Calls, draft: Draft) -> PreparedDraft:
    """Prepare an account of something that happened: it is not compared, for it may happen again."""
    return await asyncio.to_thread(prepare_short_record, draft, calls.settings)


def prepare_short_record(draft: Draft, settings: Settings) -> PreparedDraft:
    """The same for a text that is so short that a transaction can prepare it."""
    clean = _clean_draft(draft, settings)
    return PreparedDraft(clean, [], _count_words_after(clean, None))


async def prepare_document(
    calls: Calls, arguments: Mapping[str, Any], caller: Caller, draft: Draft, *, may_rewrite: bool = False
) -> PreparedDraft:
    """Prepare a document for the session and project that the arguments name.

    `may_rewrite`: it becomes the next version of the document with its title, if there is one.
    """
    clean = await asyncio.to_thread(_clean_draft, draft, calls.settings)

    async def read_candidates(tx: Tx) -> _Candidates:
        session_id, project = arguments["session_id"], arguments.get("project")
        call = await calls.bind_call(tx, caller, session_id, project)
        return await _load_candidates(call, clean, may_rewrite)

    candidates = await calls.database.read(read_candidates)
    return await asyncio.to_thread(_compare_candidates, clean, candidates, calls.database.kind, may_rewrite)


def _clean_draft(draft: Draft, settings: Settings) -> CleanDraft:
    title, content = clean_text(draft.title), clean_text(draft.content)
    masked = sorted({*title.masked, *content.masked})
    _require_acceptable(title.text, content.text, masked, settings)
    content_words = text.count_tokens(content.text)
    return CleanDraft(
        replace(draft, title=title.text, content=content.text),
        sorted({*title.flags, *content.flags}),
        masked,
        content_words,
        content_words + text.count_tokens(title.text),
        store.compute_digest(title.text, content.text),
        list(dict.fromkeys(store.DOCUMENT_ID.findall(content.text)))[:_MAX_MENTIONS],
    )


def _require_acceptable(title: str, content: str, masked: list[str], settings: Settings) -> None:
    if not title.strip() or not content.strip():
        raise errors.Invalid(
            "Title and content must not be blank.", hint="Pass a title and a content with visible text."
        )
    if len(content.encode()) > model.MAX_CONTENT_BYTES:
        raise errors.TooLarge(
            f"content is larger than {model.MAX_CONTENT_BYTES} bytes.",
            hint="Split it, or store a summary and a path.",
        )
    if masked and settings.secrets == "refuse":
        raise errors.Invalid(
            f"The text contains a secret ({', '.join(masked)}).",
            hint="Remove the secret: many agents read these documents.",
        )


async def _load_candidates(call: Call, clean: CleanDraft, may_rewrite: bool) -> _Candidates:
    """The entry number comes first: what is written while the rest is read counts as late."""
    draft, project = clean.draft, call.project
    hits, (last,) = await find_entries_like(
        call.tx,
        f"{draft.title}\n{draft.content}",
        project,
        EntryFilter(call.now, (store.DOCUMENT_KIND,)),
        _MAX_NEAR_DOCUMENTS,
        index.last_number_statement(call.tx, project),
    )
    last_entry = last[0]["n"] if last else 0
    facts = _list_facts(call, clean, last_entry)
    near, *served = await call.tx.together(
        store.documents_statement(project, [hit.id for hit in hits]),
        *_list_served_statements(call),
        *(facts[-1:] if may_rewrite else ()),
    )
    formers = served.pop() if may_rewrite else ()
    row_by_id = {row["id"]: row for row in near}
    return _Candidates(
        project,
        [row_by_id[hit.id] for hit in hits if hit.id in row_by_id],
        list(chain.from_iterable(served)),
        last_entry,
        facts,
        call.now,
        formers[0] if formers else None,
    )


def _list_served_statements(call: Call) -> list[Statement]:
    """They read what the session was shown, in this project and in shared knowledge."""
    if call.session is None:
        return []
    uses, session = call.search.uses.list_uses_of_session(call.session.id), call.session.id
    return [
        store.served_documents_statement(
            project, session, [use.id for use in uses if use.project == project], _MAX_SERVED_DOCUMENTS
        )
        for project in call.list_read_projects(include_shared=True)
    ]


def _list_facts(call: Call, clean: CleanDraft, last_entry: int) -> tuple[Statement, ...]:
    projects, project, draft = call.list_read_projects(include_shared=True), call.project, clean.draft
    return (
        store.identical_document_statement(projects, clean.digest, call.now),
        index.entries_after_statement(project, store.DOCUMENT_KIND, last_entry, _MAX_LATE_DOCUMENTS),
        store.document_by_title_statement(project, draft.type, draft.title, call.now),
    )


def _compare_candidates(
    clean: CleanDraft, candidates: _Candidates, kind: Kind, may_rewrite: bool
) -> PreparedDraft:
    recalled = next((row["id"] for row in candidates.served if _is_recalled(clean, row)), "")
    return PreparedDraft(
        clean,
        compare_documents(clean, candidates.near, candidates.now),
        write_document_words(_count_words_after(clean, candidates.former), kind, candidates.project),
        recalled,
        candidates.last_entry,
        candidates.facts,
        () if must_lock_documents(clean.draft, may_rewrite=may_rewrite) else candidates.facts,
    )


def must_lock_documents(draft: Draft, *, may_rewrite: bool) -> bool:
    """May the draft become the next version of a document? Then nobody else may write one meanwhile."""
    return may_rewrite or bool(draft.interface_name)


def _count_words_after(clean: CleanDraft, former: Row | None) -> DocumentWords:
    """The words of the document that the draft makes of its former version."""
    draft = clean.draft
    interface = draft.interface_name or (former["interface_name"] if former else "")
    return count_document_words(
        draft.title,
        draft.content,
        clean.content_words,
        merge_tags(draft, former),
        (interface, *merge_files(draft, former)),
    )


def merge_tags(draft: Draft, former: Row | None) -> list[str]:
    """Tags are added to those of the former version."""
    return list(dict.fromkeys((*(store.decode_texts(former["tags"]) if former else ()), *draft.tags)))


def merge_files(draft: Draft, former: Row | None) -> Sequence[str]:
    """Files that are not named stay."""
    return draft.files or (store.decode_texts(former["files"]) if former else ())


def _is_recalled(clean: CleanDraft, row: Row) -> bool:
    """Has the draft no word that a document lacks which the session was shown? A correction has one."""
    content = row["content"][:_MAX_COMPARED_CHARACTERS]
    own, total = set(_WORD.findall(clean.draft.content.lower())), clean.content_words.total()
    return total >= _MIN_RECALL_TOKENS and own.issubset(_WORD.findall(content.lower()))


def compare_documents(clean: CleanDraft, rows: Sequence[Row], now: int) -> list[model.SimilarDocument]:
    """The documents that are about the same thing, the most similar first."""
    measured = [(text.measure_similarity(clean.words, _count_words(row)), row) for row in rows]
    return [
        model.SimilarDocument(
            id=row["id"],
            title=row["title"],
            similarity=round(similarity, 2),
            age=format_age(row["changed_at"], now),
            author=row["author"],
        )
        for similarity, row in sorted(measured, key=lambda pair: -pair[0])
        if similarity >= RELATED_SIMILARITY
    ]


def _count_words(row: Row) -> Counter[str]:
    return text.count_tokens(f"{row['title']}\n{row['content'][:_MAX_COMPARED_CHARACTERS]}")
