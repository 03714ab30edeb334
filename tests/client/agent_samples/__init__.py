"""What the tests know of each agent program, one module per agent of the registry.

A sample has `SETTINGS` (files as users have them), `CONNECTION` and `PROJECT_CONNECTION` (file, keys and entry that
connect writes; None without a project scope), `HOOKS` (file and events that install writes; None if it is not JSON),
`EVENTS` (the agent's name of each kind of event), `DENIAL` (exit code and output, without reasons, that deny an edit)
`build_payload` (what its hook
sends) and `build_command` (what its hook sends before a shell command).
"""

from importlib import import_module
from typing import Any

from commonplace.client.agents import AGENTS

SAMPLES: dict[str, Any] = {}
EVENT_WORD = "the event, on the command line"
"""A key of a payload for an agent whose input does not name its event."""


def load_samples() -> dict[str, Any]:
    if not SAMPLES:
        SAMPLES.update({name: import_module(f"agent_samples.{name}") for name in AGENTS})
    return SAMPLES
