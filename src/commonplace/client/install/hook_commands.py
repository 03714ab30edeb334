"""Recognises the commands of our hooks in settings, wherever the program was installed when they were written."""

import re
from typing import Any

_OUR_COMMAND = re.compile(
    r"""\bcommonplace(?:(?:\.exe)?['"]?,?\s+['"]?hook|[\\/]client[\\/]hook\.py)['"]?,?\s+['"]?([\w-]+)"""
)


def list_hook_commands(value: Any) -> list[str]:
    """Every command in a hook, at any depth; ours without the path of the program."""
    if isinstance(value, dict):
        own = [_without_path(value["command"])] if isinstance(value.get("command"), str) else []
        return own + [command for inner in value.values() for command in list_hook_commands(inner)]
    if isinstance(value, list):
        return [command for inner in value for command in list_hook_commands(inner)]
    return []


def runs_our_hook(text: str) -> bool:
    """Whether a whole file, such as a plugin, runs our program as a hook."""
    return _OUR_COMMAND.search(text) is not None


def _without_path(command: str) -> str:
    ours = _OUR_COMMAND.search(command)
    return f"commonplace hook {ours[1]}" if ours else command
