"""Settings of the hooks: COMMONPLACE_HOOKS_<NAME>, else [hooks] in config.toml, else the defaults below."""

import os
from typing import Any, NamedTuple

from commonplace.client import remote
from commonplace.client.hooks import fault_log

_LOCK_MODES = ("auto", "check", "off")


class HookSettings(NamedTuple):
    lock: str = "auto"
    """auto: take a lease before an edit; check: only look for leases of others; off: neither."""
    minutes: int = 30
    """How long a lease lasts after the session's last activity."""
    seconds: float = 0.3
    """How long an agent waits for the server at most."""
    learnings: int = 0
    """How many learnings are added to a prompt."""
    transcripts: bool = True
    """Whether transcripts are spooled for `commonplace sync`."""


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
    """The parsed value; an invalid one is logged and replaced by the default."""
    if isinstance(default, bool):
        return str(value).lower() in ("1", "true", "yes", "on")
    try:
        read = str(value).lower() if isinstance(default, str) else type(default)(value)
    except (TypeError, ValueError):
        read = None
    if read is None or (name == "lock" and read not in _LOCK_MODES):
        fault_log.log_text("settings", f"hooks.{name} cannot be {value!r}; using {default!r}.")
        return default
    return read
