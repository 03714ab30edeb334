"""Settings of the hooks: COMMONPLACE_HOOKS_<NAME>, else [hooks] in config.toml, else the defaults below."""

import os
from typing import Any, NamedTuple

from commonplace.client.companion import fault_log
from commonplace.client.link import remote

_MODES = {
    "lock": ("auto", "check", "off"),
    "git": ("guard", "warn", "off"),
    "idle": ("auto", "on", "off"),
}


class HookSettings(NamedTuple):
    lock: str = "auto"
    """auto: take a lease before an edit; check: only look for leases of others; off: neither."""
    minutes: int = 30
    """How long a lease lasts after the session's last activity."""
    seconds: float = 0.0
    """The longest time that an agent waits for the server; 0: by event and distance (`server_link.py`)."""
    learnings: int = 0
    """How many learnings are added to a prompt."""
    companion: int = 10
    """How many minutes the companion stays without use; 0: none is started, and each hook acts in a process of its own."""
    git: str = "guard"
    """guard: refuse shell commands that would take or destroy the work of others; warn: only say so; off: neither.
    `git` in .commonplace.toml of the repository takes precedence."""
    regions: str = "on"
    """on: an edit leases the lines that it changes; off: the file. `regions` in .commonplace.toml takes precedence."""
    radar: bool = True
    """Whether coming merge conflicts with other working trees are looked for after edits."""
    transcripts: bool = True
    """Whether transcripts are spooled for `commonplace sync`."""
    trailers: bool = True
    """Whether a commit of an agent names its session: `Commonplace-Session:`."""
    answers: bool = True
    """Whether people see what the agent's program waits for, and may answer it elsewhere."""
    permission_seconds: int = 0
    """How long Codex and Copilot CLI wait for an answer from elsewhere before their own dialog opens, up to 50; 0: not."""
    idle: str = "auto"
    """Whether people see that the agent ended its turn: on, off, or auto: where its program has a terminal."""


def read_hook_settings() -> HookSettings:
    table = remote.read_configuration().get("hooks")
    configured = table if isinstance(table, dict) else {}
    settings: dict[str, Any] = {}
    for name, default in HookSettings._field_defaults.items():
        value = os.environ.get(f"COMMONPLACE_HOOKS_{name.upper()}", configured.get(name))
        if value is not None:
            settings[name] = _parse_setting(name, value, default)
    return HookSettings(**settings)


def _parse_setting(name: str, value: Any, default: Any) -> Any:
    """The parsed value; an invalid one is logged and replaced by the default."""
    if isinstance(default, bool):
        return str(value).lower() in ("1", "true", "yes", "on")
    try:
        parsed = str(value).lower() if isinstance(default, str) else type(default)(value)
    except (TypeError, ValueError):
        parsed = None
    if parsed is None or (name in _MODES and parsed not in _MODES[name]):
        fault_log.log_text("settings", f"hooks.{name} is invalid: {value!r}; using {default!r}.")
        return default
    return parsed
