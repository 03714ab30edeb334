"""How the hooks behave: COMMONPLACE_HOOKS_<NAME> first, then [hooks] in config.toml, else these."""

import os
from typing import Any, NamedTuple

from commonplace.client import remote
from commonplace.client.hooks import fault_log

_LOCK_MODES = ("auto", "check", "off")


class HookSettings(NamedTuple):
    lock: str = "auto"
    """auto: take the lease before an edit; check: only look; off: neither."""
    minutes: int = 30
    """How long a lease lasts after the last sign of life."""
    seconds: float = 0.3
    """The longest that an agent waits for the server."""
    learnings: int = 0
    """How many are added to a prompt."""
    transcripts: bool = True
    """Whether they are handed to `commonplace sync`."""


def read_hook_settings() -> HookSettings:
    told = remote.read_configuration().get("hooks")
    configured = told if isinstance(told, dict) else {}
    given: dict[str, Any] = {}
    for name, usual in HookSettings._field_defaults.items():
        value = os.environ.get(f"COMMONPLACE_HOOKS_{name.upper()}", configured.get(name))
        if value is not None:
            given[name] = _parse_setting(name, value, usual)
    return HookSettings(**given)


def _parse_setting(name: str, value: Any, default: Any) -> Any:
    """What cannot be read is as if it were not there, and stands in the log."""
    if isinstance(default, bool):
        return str(value).lower() in ("1", "true", "yes", "on")
    try:
        read = str(value).lower() if isinstance(default, str) else type(default)(value)
    except (TypeError, ValueError):
        read = None
    if read is None or (name == "lock" and read not in _LOCK_MODES):
        fault_log.log_text("settings", f"hooks.{name} cannot be {value!r}; it is {default!r}.")
        return default
    return read
