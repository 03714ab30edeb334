"""Prompts that people pick in their agent: a few words of what to do, and the live state to do it with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from commonplace import errors
from commonplace.access import Caller
from commonplace.call import Calls
from commonplace.edges.mcp import ProtocolError
from commonplace.edges.mcp.messages import INVALID_PARAMS

_BUDGET = 2000
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True)
class Prompt:
    title: str
    text: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    reads: tuple[str, ...]
    """Templates of the resources that are shown, each where its arguments are given."""


PROMPTS: Mapping[str, Prompt] = {
    "start-work": Prompt(
        "Start work on a project",
        "You are about to work on the project {project}. Call memory_start_session first. Look at what the others do"
        " and hold, answer urgent mail, then take up your task. {task}",
        ("project",),
        ("agent", "task"),
        ("inbox://{project}/{agent}", "locks://{project}", "agents://{project}", "backlog://{project}"),
    ),
    "hand-off": Prompt(
        "Hand your work over",
        "You are about to stop working on {project}. Write down for whoever comes next what is done, what is not, what"
        " you learned and what to beware of. Answer or pass on your open mail, then call memory_end_session with"
        " summary, files_modified, learnings and handoff_notes.",
        ("project",),
        ("agent",),
        ("locks://{project}", "inbox://{project}/{agent}"),
    ),
    "review-handoff": Prompt(
        "Review what was handed over",
        "Start a session in {project}; its reply holds the last handoff. Check it against the code: what is said to be"
        " done, is it? What is missing? Record corrections with memory_record_learning and open points with"
        " memory_add_backlog_item.",
        ("project",),
        ("agent",),
        ("agents://{project}", "backlog://{project}"),
    ),
    "triage-backlog": Prompt(
        "Put the backlog in order",
        "Go through the backlog of {project}: merge duplicates, set priorities, name dependencies, split what is too"
        " large, and close what is done. Use memory_update_backlog_item or memory_batch_backlog, and say what you"
        " changed and why.",
        ("project",),
        (),
        ("backlog://{project}", "agents://{project}"),
    ),
}


def listed() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "title": prompt.title,
            "arguments": [{"name": each, "required": True} for each in prompt.required]
            + [{"name": each, "required": False} for each in prompt.optional],
        }
        for name, prompt in PROMPTS.items()
    ]


async def filled(prompt: Prompt, given: Mapping[str, Any], calls: Calls, caller: Caller) -> dict[str, Any]:
    """The words with the state of now, within a budget that the parts share."""
    missing = [name for name in prompt.required if not given.get(name)]
    if missing:
        raise ProtocolError(INVALID_PARAMS, f"the prompt needs: {', '.join(missing)}")
    words = {name: str(given.get(name) or "") for name in (*prompt.required, *prompt.optional)}
    states = [state for template in prompt.reads if (state := await _state(template, words, calls, caller))]
    share = _BUDGET * _BYTES_PER_TOKEN // max(len(states), 1)
    text = "\n\n".join([prompt.text.format(**words).strip(), *(_within(state, share) for state in states)])
    return {
        "description": prompt.title,
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }


async def _state(template: str, words: Mapping[str, str], calls: Calls, caller: Caller) -> str | None:
    resource = next((each for each in calls.catalogue.resources if each.template == template), None)
    if resource is None or not all(words.get(name) for name in resource.names):
        return None
    arguments = {name: words[name] for name in resource.names}
    try:
        answer = await calls.read(resource.operation, arguments, caller)
    except errors.Refusal as refusal:
        raise ProtocolError(INVALID_PARAMS, refusal.message) from None
    return f"{resource.uri(**arguments)}\n{answer.text().decode()}"


def _within(text: str, most: int) -> str:
    encoded = text.encode()
    return (
        text
        if len(encoded) <= most
        else encoded[:most].decode(errors="ignore") + "… (cut; use the tools for more)"
    )
