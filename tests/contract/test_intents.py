"""An agent that searches the tools in its own words finds the right one first."""

import math
import re
from collections import Counter

from commonplace.catalogue import CATALOGUE
from commonplace.edges.schema import tool_definition

MIN_FOUND_FIRST = 50
INTENTS = {
    "todo": "memory_list_backlog memory_add_backlog_item",
    "add a todo": "memory_add_backlog_item",
    "create a ticket": "memory_add_backlog_item",
    "file a bug": "memory_add_backlog_item",
    "new task": "memory_add_backlog_item",
    "list open tasks": "memory_list_backlog",
    "what should I do next": "memory_list_backlog",
    "claim a task": "memory_update_backlog_item",
    "assign a ticket to somebody": "memory_update_backlog_item",
    "change priority of an issue": "memory_update_backlog_item",
    "mark task done": "memory_complete_backlog_item",
    "close ticket": "memory_complete_backlog_item",
    "create many tasks at once": "memory_batch_backlog",
    "remember this": "memory_store memory_record_learning",
    "save a note for the team": "memory_store memory_record_learning",
    "gotcha": "memory_record_learning",
    "lesson learned": "memory_record_learning",
    "architecture decision": "memory_store",
    "search knowledge": "memory_query search_knowledge",
    "do we already know how to solve this problem": "memory_query",
    "search all projects": "memory_search_global",
    "open document by id": "memory_get_by_id",
    "outdated document": "memory_change_status",
    "api contract": "memory_define_spec memory_get_spec memory_list_specs",
    "publish interface contract": "memory_define_spec",
    "read the api contract": "memory_get_spec",
    "list contracts": "memory_list_specs",
    "who is working on what": "memory_get_active_work",
    "who is online": "memory_get_agent_status",
    "team members": "memory_list_agents",
    "inbox": "memory_get_messages",
    "read mail": "memory_get_messages",
    "wait for a reply": "memory_get_messages",
    "send a message to another agent": "memory_send_message",
    "ask a teammate a question": "memory_send_message",
    "broadcast to everyone": "memory_send_message",
    "acknowledge message": "memory_acknowledge_message",
    "lock a file": "memory_lock_files",
    "reserve files before editing": "memory_lock_files",
    "unlock": "memory_unlock_files",
    "who has this file locked": "memory_get_locks",
    "start working": "memory_start_session",
    "register myself as an agent": "memory_start_session",
    "hand off to the next session": "memory_end_session",
    "finish and say goodbye": "memory_end_session",
    "report progress": "memory_update_work",
    "I am blocked": "memory_update_work",
    "keep alive": "memory_heartbeat",
    "coding rules": "memory_guidelines",
    "conventions of the project": "memory_guidelines",
    "checklist": "memory_checklist",
    "release steps": "memory_checklist",
    "find existing helper function": "memory_find_function",
    "document a function": "memory_register_function",
    "run sql query": "memory_db",
    "list projects": "memory_list_projects",
    "create api key": "memory_admin",
    "how was this error fixed before": "search_sessions",
    "past conversations": "search_sessions",
    "private scratchpad": "set_memory add_private_note",
}


def _words(text: str) -> list[str]:
    return [word.removesuffix("s") for word in re.findall(r"[a-z0-9]+", text.lower().replace("_", " "))]


def _rank_first(documents: dict[str, list[str]], query: str) -> str:
    """The best tool by BM25 over name, description and parameters; the first by name among equals."""
    mean = sum(map(len, documents.values())) / len(documents)
    holding = Counter(word for words in documents.values() for word in set(words))

    def score(words: list[str]) -> float:
        counts, total = Counter(words), 0.0
        for word in set(_words(query)):
            rarity = math.log(1 + (len(documents) - holding[word] + 0.5) / (holding[word] + 0.5))
            weight = counts[word] + 1.2 * (0.25 + 0.75 * len(words) / mean)
            total += rarity * counts[word] * 2.2 / weight
        return total

    return max(sorted(documents), key=lambda name: score(documents[name]))


def test_tools_are_found_in_the_words_of_their_users():
    documents = {}
    for name in CATALOGUE.model_tools:
        shown = tool_definition(CATALOGUE.tools[name])
        documents[name] = _words(
            f"{name} {shown['description']} {' '.join(shown['inputSchema']['properties'])}"
        )
    missed = {
        intent: first
        for intent, right in INTENTS.items()
        if (first := _rank_first(documents, intent)) not in right.split()
    }
    assert len(INTENTS) == 60
    assert len(INTENTS) - len(missed) >= MIN_FOUND_FIRST, missed
