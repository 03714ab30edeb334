"""What a reader must know before trusting a document: its status and age, broken evidence, a text that gives orders."""

from commonplace.clock import format_age
from commonplace.quoting.marks import INSTRUCTIONS_WARNING
from commonplace.rooms.knowledge import model, store
from commonplace.rooms.knowledge.claims import extract_claims, find_clash
from commonplace.rooms.knowledge.refining_words import says_refines
from commonplace.shortening import shorten_line
from commonplace.store.database import Row

_MAX_TITLE_LENGTH = 80


def build_document_warning(
    row: Row,
    broken: Row | None,
    now: int,
    later: str = "",
    successor: Row | None = None,
    outdated: str = "",
) -> str | None:
    """`successor`: the later document, of a document that is still active; `outdated`: what it cites and should not."""
    status = model.resolve_status(row["status"], row["expires_at"], now)
    doubts = list_document_doubts(row, broken, later, outdated)
    refined = _name_successor(row, successor, now) if successor else ""
    others = model.format_warning(status, row["changed_at"], now, *doubts)
    return "; ".join(each for each in (refined, others) if each) or None


def _name_successor(row: Row, successor: Row, now: int) -> str:
    relation = "followed by"
    if says_refines(successor["content"], row["id"]):
        relation = "refined by"
    elif find_clash(extract_claims(successor["content"]), extract_claims(row["content"])):
        relation = "contradicted by"
    title, age = shorten_line(successor["title"], _MAX_TITLE_LENGTH), format_age(successor["changed_at"], now)
    return f'{relation} {successor["id"]} "{title}" ({successor["author"]}, {age}): read that first'


def list_document_doubts(
    row: Row, broken: Row | None, later: str = "", outdated: str = ""
) -> tuple[str, ...]:
    """The warnings that do not depend on the time of now; `later` is the end of the chain of what replaced it."""
    replaced = f"replaced by {later or row['superseded_by']}" if row["superseded_by"] else ""
    evidence = f"evidence {broken['state']}: {broken['place']}" if broken else ""
    return tuple(doubt for doubt in (replaced, outdated, evidence, warn_of_instructions(row)) if doubt)


def warn_of_instructions(row: Row) -> str:
    return INSTRUCTIONS_WARNING if is_instruction_like(row) else ""


def is_instruction_like(row: Row) -> bool:
    return "instruction_like" in store.decode_texts(row["flags"])
