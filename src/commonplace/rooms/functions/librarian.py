"""What an agent is given that takes the librarian's duty: what to do, and as much source as its budget holds."""

from collections.abc import Sequence

import msgspec

from commonplace.call import Call
from commonplace.rooms.functions import model
from commonplace.store.database import Row

_BUDGET = 8000 * 4
"""Bytes; about 8,000 tokens."""

_CODE = 4000

PROMPT = """You are this project's librarian. For each item:
1. Read `code`; where it is missing or cut, read the file at `file_path`.
2. Call memory_enrich_function(func_id=<id>, search_summary=<one or two sentences: what it does and when to use it,\
 in the words a colleague would search with>, additional_gotchas=[<only what would surprise a caller: hidden side\
 effects, order, limits, errors>]). Add parameters, returns, calls, side_effects and complexity only if `signature`\
 is missing.
3. With `drift`: check purpose and gotchas, then call memory_register_function again with the same name and file\
 and what holds now.
Say only what the code shows. Call memory_become_librarian again until items is empty."""
NOTHING = "Nothing waits: every function of this project is described and up to date."


def prompt(call: Call, items: Sequence[model.Waiting]) -> str:
    if not items:
        return NOTHING
    elsewhere = call.session is not None and call.session.project != call.project
    return PROMPT + (f" Pass project='{call.project}' with each call." if elsewhere else "")


def within_budget(rows: Sequence[Row]) -> list[model.Waiting]:
    """From the front of the queue as many as fit; the first always does."""
    items: list[model.Waiting] = []
    left = _BUDGET - len(PROMPT)
    for row in rows:
        item = model.Waiting.of(row, row["code"][:_CODE])
        left -= len(msgspec.json.encode(item))
        if left < 0 and items:
            break
        items.append(item)
    return items
