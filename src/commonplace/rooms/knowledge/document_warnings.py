"""What a reader must know before trusting a document: its status and age, broken evidence, a text that gives orders."""

from commonplace.quoting.marks import INSTRUCTIONS_WARNING
from commonplace.rooms.knowledge import model, store
from commonplace.store.database import Row


def build_document_warning(row: Row, broken: Row | None, now: int, later: str = "") -> str | None:
    status = model.resolve_status(row["status"], row["expires_at"], now)
    return model.format_warning(status, row["changed_at"], now, *list_document_doubts(row, broken, later))


def list_document_doubts(row: Row, broken: Row | None, later: str = "") -> tuple[str, ...]:
    """The warnings that do not depend on the time of now; `later` is the end of the chain of what replaced it."""
    replaced = f"replaced by {later or row['superseded_by']}" if row["superseded_by"] else ""
    evidence = f"evidence {broken['state']}: {broken['place']}" if broken else ""
    return tuple(doubt for doubt in (replaced, evidence, warn_of_instructions(row)) if doubt)


def warn_of_instructions(row: Row) -> str:
    return INSTRUCTIONS_WARNING if is_instruction_like(row) else ""


def is_instruction_like(row: Row) -> bool:
    return "instruction_like" in store.decode_texts(row["flags"])
