"""The reply of memory_become_librarian: instructions, and as much source code as fits into a budget."""

from collections.abc import Sequence

import msgspec

from commonplace.call import Call
from commonplace.rooms.functions import model
from commonplace.shortening import shorten_text
from commonplace.store.database import Row

_PROMPT_BUDGET_BYTES = 8000 * 4  # about 8,000 tokens

_CODE_CHARACTERS = 4000

LIBRARIAN_PROMPT = """You are this project's librarian. For each item:
1. Read `code`; where it is missing or cut, read the file at `file_path`.
2. Call memory_enrich_function(func_id=<id>, search_summary=<one or two sentences: what it does and when to use it,\
 in the words a colleague would search with>, additional_gotchas=[<only what would surprise a caller: hidden side\
 effects, order, limits, errors>]). Add parameters, returns, calls, side_effects and complexity only if `signature`\
 is missing.
3. With `drift`: check purpose and gotchas, then call memory_register_function again with the same name and file\
 and what holds now.
Say only what the code shows. Call memory_become_librarian again until items is empty."""
EMPTY_QUEUE_PROMPT = "The queue is empty: every function of this project is described and up to date."


def render_prompt(call: Call, items: Sequence[model.QueuedFunction]) -> str:
    if not items:
        return EMPTY_QUEUE_PROMPT
    is_other_project = call.session is not None and call.session.project != call.project
    return LIBRARIAN_PROMPT + (f" Pass project='{call.project}' with each call." if is_other_project else "")


def take_within_budget(rows: Sequence[Row]) -> list[model.QueuedFunction]:
    """Take items from the front of the queue while they fit; the first is always taken."""
    items: list[model.QueuedFunction] = []
    remaining = _PROMPT_BUDGET_BYTES - len(LIBRARIAN_PROMPT)
    for row in rows:
        item = model.QueuedFunction.from_row(row, shorten_text(row["code"], _CODE_CHARACTERS))
        remaining -= len(msgspec.json.encode(item))
        if remaining < 0 and items:
            break
        items.append(item)
    return items
