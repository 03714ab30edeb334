"""Which session the next one of a place continues, and what it is told of it."""

from typing import Any

from msgspec import structs

from commonplace.call import Call
from commonplace.clock import MINUTE
from commonplace.journal.resume import MAX_RESUME_TOKENS, SessionOrigin, compose_resume
from commonplace.rooms.journals import store
from commonplace.rooms.journals.store import JournalHead
from commonplace.rooms.sessions import store as sessions

_BUSY_MICROSECONDS = 10 * MINUTE
_SHORT_TASK_CHARACTERS = 40
_MAX_EARLIER = 4


async def find_left_journal(
    call: Call, project: str, agent: str, directory: str, but: str = ""
) -> JournalHead | None:
    """The latest journal of this place, unless its session finished. Without a place, of this agent. Those of other agents
    that are at work are theirs to continue; `but` is our session that starts."""
    heads = await store.list_latest_heads(call.tx, project, call.now - store.RESUMABLE_MICROSECONDS)
    heads = [head for head in heads if head.session != but or not but]
    heads = [
        head
        for head in heads
        if (is_same_place(head.directory, directory) if directory else head.agent == agent)
    ]
    if not heads:
        return None
    busy = await sessions.list_busy_names(call.tx, project, call.now - _BUSY_MICROSECONDS)
    own = [head for head in heads if head.agent == agent]
    free = [
        head
        for head in heads
        if head.agent == agent or head.agent not in busy or head.updated_at < call.now - _BUSY_MICROSECONDS
    ]
    latest = (own or free)[:1] if own and own[0] == heads[0] else free[:1]
    return latest[0] if latest and latest[0].state != "finished" else None


def is_same_place(folder: str, other: str) -> bool:
    """The same folder, or one inside of the other."""
    first, second = folder.rstrip("/") + "/", other.rstrip("/") + "/"
    return bool(folder and other) and (first.startswith(second) or second.startswith(first))


async def tell_journal(call: Call, head: JournalHead, max_tokens: int = MAX_RESUME_TOKENS) -> dict[str, Any]:
    """A person's words are for the sessions of that person's key; others see the first line of the task."""
    found = await store.find_journal(call.tx, head.project, head.id)
    if found is None:
        return {}
    head, journal = found
    if (
        head.session
        and await store.load_key_of_session(call.tx, head.project, head.session) != call.caller.key
    ):
        journal.prompts = [structs.replace(prompt, text=head.task) for prompt in journal.prompts[:1]]
    origin = SessionOrigin(head.agent, head.tool, head.directory, await _find_earlier_task(call, head))
    return compose_resume(journal, origin, call.now, max_tokens)


async def _find_earlier_task(call: Call, head: JournalHead) -> str:
    """The task that a session took over which was only told to go on."""
    task = head.task
    for _ in range(_MAX_EARLIER):
        if len(task) >= _SHORT_TASK_CHARACTERS or not head.earlier:
            break
        found = await store.find_journal(call.tx, head.project, head.earlier)
        if found is None:
            break
        head, journal = found
        task = journal.task
    return task
