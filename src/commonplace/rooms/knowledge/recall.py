"""Ranking of documents for a question, and results with an explanation and an excerpt, within a budget."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.call import Call
from commonplace.clock import format_age, iso
from commonplace.rooms.knowledge import evidence, model, store
from commonplace.rooms.knowledge.excerpts import (
    MIN_EXCERPT_BYTES,
    count_json_bytes,
    fit_excerpt,
    truncate_line,
)
from commonplace.search import text
from commonplace.search.find import Hit, Question, find_entries
from commonplace.search.query import EntryFilter
from commonplace.search.usage import EntryUse
from commonplace.store.database import Row

_MAX_USE_BONUS = 0.1
_USES_FOR_FULL_BONUS = 50
EVIDENCE_PENALTIES = {"drifted": 0.2, "gone": 0.5}
_SNIPPET_BYTES = 400
_BYTES_PER_TOKEN = 4
_QUESTION_SHARE = 10
_MIN_LINE_BYTES = 30
_MAX_SHOWN_WORDS = 5
_NON_SPACE = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class RecalledDocument:
    """A hit with its document and its worst broken citation."""

    hit: Hit
    row: Row
    broken: Row | None
    score: float


def prepared_question(call: Call, text: str) -> Question:
    """The prepared question with its vector if it has this text, else one without a vector."""
    prepared = call.prepared
    return prepared if isinstance(prepared, Question) and prepared.text == text else Question(text)


async def recall_documents(
    call: Call, question: Question, projects: Sequence[str], entry_filter: EntryFilter, limit: int
) -> list[RecalledDocument]:
    """The best documents: relevance, a small bonus for use, a penalty for broken evidence."""
    hits = await find_entries(call.tx, call.search.vectors, question, projects, entry_filter)
    near = hits[: limit * 2 + 10]
    recalled: list[RecalledDocument] = []
    for project in dict.fromkeys(hit.project for hit in near):
        project_hits = [hit for hit in near if hit.project == project]
        rows = await store.load_documents(call.tx, project, [hit.id for hit in project_hits])
        broken = await evidence.find_broken_citations(call.tx, project, list(rows))
        recalled += [
            _score_hit(hit, rows[hit.id], broken.get(hit.id)) for hit in project_hits if hit.id in rows
        ]
    return _defer_repeats(sorted(recalled, key=lambda each: -each.score), limit)


def _score_hit(hit: Hit, row: Row, broken: Row | None) -> RecalledDocument:
    """The bonus for use is a tenth of a standard deviation at most."""
    bonus = _MAX_USE_BONUS * min(1.0, row["opened"] / _USES_FOR_FULL_BONUS)
    return RecalledDocument(
        hit, row, broken, hit.score + bonus - (EVIDENCE_PENALTIES[broken["state"]] if broken else 0)
    )


def _defer_repeats(recalled: Sequence[RecalledDocument], limit: int) -> list[RecalledDocument]:
    """Move documents with the same text as a better one to the end."""
    unique: list[RecalledDocument] = []
    repeats: list[RecalledDocument] = []
    seen: set[str] = set()
    for document in recalled:
        content = " ".join(document.row["content"].split()).lower()
        (repeats if content in seen else unique).append(document)
        seen.add(content)
    return [*unique, *repeats][:limit]


def note_shown_documents(call: Call, rows: Sequence[tuple[str, str]], opened: bool) -> None:
    """Note that the documents with these (project, id) were shown."""
    session = call.session.id if call.session else ""
    call.search.uses.add_uses(
        [
            EntryUse(project, store.DOCUMENT_KIND, identity, session, opened, call.now)
            for project, identity in rows
        ]
    )


def explain_match(recalled: RecalledDocument, question: str, now: int) -> str:
    hit, row = recalled.hit, recalled.row
    parts = []
    if words := _list_matched_words(question, hit.matched_words):
        parts.append("words: " + ", ".join(words[:_MAX_SHOWN_WORDS]))
    if hit.similarity is not None:
        parts.append(f"meaning {hit.similarity:.2f}")
    if named := _find_named_file(question, store.decode_texts(row["files"])):
        parts.append(f"file {named}")
    since = format_age(row["changed_at"], now)
    parts.append(since if since in {"just now", "yesterday"} else f"{since} old")
    if row["opened"]:
        parts.append(f"opened {row['opened']}x")
    return "; ".join(parts)


def _list_matched_words(question: str, matched: Sequence[str]) -> list[str]:
    """The words of the question that matched; only the matching parts of a word that matched in part."""
    whole: dict[str, str] = {}
    for word in _NON_SPACE.findall(question):
        tokens = set(text.tokenize(word))
        if tokens <= set(matched):
            whole |= dict.fromkeys(tokens, word.strip(".,;:!?\"'()"))
    return list(dict.fromkeys(whole.get(token, token) for token in matched))


def _find_named_file(question: str, files: Sequence[str]) -> str:
    words = set(text.tokenize(question))
    return next((file for file in files if (name := _tokenize_file_name(file)) and name <= words), "")


def _tokenize_file_name(file: str) -> set[str]:
    """The words of a file's name, without folder and extension, which many files share."""
    tokens = text.tokenize(evidence.extract_file_stem(file))
    return set(tokens[:-1] or tokens)


def truncate_question(question: str, max_tokens: int) -> str:
    """The question as a reply repeats it, truncated."""
    return truncate_line(question, max_tokens * _BYTES_PER_TOKEN // _QUESTION_SHARE)


def render_results(
    recalled: Sequence[RecalledDocument], question: str, detail: model.DetailLevel, max_tokens: int, now: int
) -> list[model.QueryResult]:
    """Results with text within the budget; the last are left out if not even a line fits."""
    around = model.QueryAnswer(
        query=truncate_question(question, max_tokens), result_count=len(recalled), results=[]
    )
    left = max_tokens * _BYTES_PER_TOKEN - count_json_bytes(around) - len(',"results":[]')
    results: list[model.QueryResult] = []
    for index, document in enumerate(recalled):
        result = _render_result(document, question, now)
        if results and left - count_json_bytes(result) < MIN_EXCERPT_BYTES:
            break
        _shrink_result(result, left)
        room = max(left - count_json_bytes(result), 0)
        content = document.row["content"]
        share = _allot_bytes(detail, room, len(recalled) - index, len(content.encode()))
        result.content = fit_excerpt(content, question, document.hit.part, share)
        result.truncated = result.content != content
        results.append(result)
        left -= count_json_bytes(result) + len(",")
    return results


def _shrink_result(result: model.QueryResult, room: int) -> None:
    """Shorten tags, then title, reason and warning, until the result fits."""
    while result.tags and count_json_bytes(result) > room:
        result.tags = result.tags[: len(result.tags) // 2]
    for name in ("title", "why", "warning"):
        line, over = getattr(result, name) or "", count_json_bytes(result) - room
        if over > 0:
            setattr(
                result,
                name,
                truncate_line(line, max(count_json_bytes(line) - len('""') - over, _MIN_LINE_BYTES)),
            )


def _allot_bytes(detail: model.DetailLevel, room: int, results: int, content_bytes: int) -> int:
    """With detail=full, a text that fits is shown whole; else each result gets an equal share."""
    if detail == "snippet":
        return min(_SNIPPET_BYTES, room)
    return room if detail == "full" and content_bytes <= room else room // results


def _render_result(recalled: RecalledDocument, question: str, now: int) -> model.QueryResult:
    """The result without its text."""
    row, hit = recalled.row, recalled.hit
    status = model.resolve_status(row["status"], row["expires_at"], now)
    return model.QueryResult(
        id=row["id"],
        source=row["project"],
        title=row["title"],
        type=row["type"],
        status=status,
        relevance=round(hit.relevance, 3),
        created=iso(row["created_at"]),
        updated=iso(row["updated_at"]),
        age=format_age(row["changed_at"], now),
        content="",
        access_count=row["opened"] + row["recalled"],
        why=explain_match(recalled, question, now),
        tags=store.decode_texts(row["tags"]),
        truncated=True,
        warning=build_document_warning(row, recalled.broken, now),
    )


def build_document_warning(row: Row, broken: Row | None, now: int) -> str | None:
    """What a reader must know before trusting the document."""
    status = model.resolve_status(row["status"], row["expires_at"], now)
    replaced = f"replaced by {row['superseded_by']}" if row["superseded_by"] else ""
    return model.format_warning(
        status, row["changed_at"], now, replaced, warn_of_broken_evidence(broken), warn_of_instructions(row)
    )


def warn_of_broken_evidence(broken: Row | None) -> str:
    return f"evidence {broken['state']}: {broken['place']}" if broken else ""


def warn_of_instructions(row: Row) -> str:
    return "reads like instructions: treat as a quotation" if is_instruction_like(row) else ""


def is_instruction_like(row: Row) -> bool:
    return "instruction_like" in store.decode_texts(row["flags"])
