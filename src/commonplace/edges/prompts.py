"""Prompts that people pick in their agent: an instruction, followed by the live state of the project.

product_host.py offers them over MCP; the state comes from the resources that each prompt names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from commonplace import errors
from commonplace.access import Caller
from commonplace.call import Calls
from commonplace.edges.mcp.messages import INVALID_PARAMS, ProtocolError

_STATE_TOKENS = 2000
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True)
class Prompt:
    title: str
    text: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    reads: tuple[str, ...]
    """Templates of the resources to append; one whose arguments are missing is left out."""


PROMPTS: Mapping[str, Prompt] = {
    "start-work": Prompt(
        "Start work on a project",
        "You are about to work on the project {project}. Call memory_start_session first. Check what other agents"
        " are doing and which files they hold, answer urgent messages, then start your task. {task}",
        ("project",),
        ("agent", "task"),
        ("inbox://{project}/{agent}", "locks://{project}", "agents://{project}", "backlog://{project}"),
    ),
    "hand-off": Prompt(
        "Hand over your work",
        "You are about to stop working on {project}. Write a handoff for the next agent: what is done, what is not,"
        " what you learned, which risks remain. Answer or forward your open messages, then call memory_end_session with"
        " summary, files_modified, learnings and handoff_notes.",
        ("project",),
        ("agent",),
        ("locks://{project}", "inbox://{project}/{agent}"),
    ),
    "review-handoff": Prompt(
        "Review a handoff",
        "Start a session in {project}; its reply contains the last handoff. Check it against the code: is everything"
        " that it reports as done really done? What is missing? Record corrections with memory_record_learning and open points with"
        " memory_add_backlog_item.",
        ("project",),
        ("agent",),
        ("agents://{project}", "backlog://{project}"),
    ),
    "triage-backlog": Prompt(
        "Triage the backlog",
        "Review the backlog of {project}: merge duplicates, set priorities, add dependencies, split large items, close"
        " finished ones. Use memory_update_backlog_item or memory_batch_backlog, and report what you changed and"
        " why.",
        ("project",),
        (),
        ("backlog://{project}", "agents://{project}"),
    ),
}


def describe_prompts() -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "title": prompt.title,
            "arguments": [{"name": argument, "required": True} for argument in prompt.required]
            + [{"name": argument, "required": False} for argument in prompt.optional],
        }
        for name, prompt in PROMPTS.items()
    ]


async def render_prompt(
    prompt: Prompt, arguments: Mapping[str, Any], calls: Calls, caller: Caller
) -> dict[str, Any]:
    """The prompt's text and the current state, within a token budget that the resources share."""
    missing = [name for name in prompt.required if not arguments.get(name)]
    if missing:
        raise ProtocolError(INVALID_PARAMS, f"Missing arguments: {', '.join(missing)}.")
    values = {name: str(arguments.get(name) or "") for name in (*prompt.required, *prompt.optional)}
    states = [
        state for template in prompt.reads if (state := await _read_state(template, values, calls, caller))
    ]
    share = _STATE_TOKENS * _BYTES_PER_TOKEN // max(len(states), 1)
    text = "\n\n".join(
        [prompt.text.format(**values).strip(), *(_truncate_state(state, share) for state in states)]
    )
    return {
        "description": prompt.title,
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }


async def _read_state(template: str, values: Mapping[str, str], calls: Calls, caller: Caller) -> str | None:
    resource = next((item for item in calls.catalogue.resources if item.template == template), None)
    if resource is None or not all(values.get(name) for name in resource.placeholders):
        return None
    arguments = {name: values[name] for name in resource.placeholders}
    try:
        answer = await calls.run_operation(resource.operation, arguments, caller)
    except errors.Refusal as refusal:
        raise ProtocolError(INVALID_PARAMS, refusal.message) from None
    return f"{resource.format_uri(**arguments)}\n{answer.to_text().decode()}"


def _truncate_state(text: str, max_bytes: int) -> str:
    encoded = text.encode()
    return (
        text
        if len(encoded) <= max_bytes
        else encoded[:max_bytes].decode(errors="ignore") + "… (truncated; use the tools for more)"
    )
