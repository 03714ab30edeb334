"""`commonplace call OPERATION`: the flags come from the operation's schema."""

import argparse
import sys
from typing import Any

import msgspec

from commonplace import errors, suggestions
from commonplace.catalogue import CATALOGUE
from commonplace.cli import operation_call
from commonplace.cli.command import SERVER_FLAGS, add_flags
from commonplace.cli.people_commands import CALL_TEXT
from commonplace.operation import Tool
from commonplace.tool_schema import input_schema


def run(arguments: argparse.Namespace) -> int:
    tools = CATALOGUE.tools
    name = arguments.operation
    if name is None:
        print(CALL_TEXT, "\n")
        for tool in tools.values():
            print(f"  {tool.name:32} {tool.description.splitlines()[0][:90]}")
        return 0
    if name not in tools:
        raise suggestions.unknown_operation(name, tools, "List them with: commonplace call")
    flags = _operation_flags(tools[name]).parse_args(arguments.rest)
    reply = operation_call.call_operation(name, _collect_arguments(flags), flags)
    print(msgspec.json.format(msgspec.json.encode(reply), indent=2).decode())
    return 0


def _operation_flags(tool: Tool) -> argparse.ArgumentParser:
    schema = input_schema(tool)
    flags = argparse.ArgumentParser(f"commonplace call {tool.name}", description=tool.description)
    for name, kind in schema["properties"].items():
        listed = kind.get("type") == "array"
        flags.add_argument(
            f"--{name.replace('_', '-')}",
            dest=f"argument_{name}",
            metavar=str(kind.get("type", "json")).upper(),
            nargs="*" if listed else None,
            help=_flag_help(name, kind, schema.get("required", ())),
        )
    flags.add_argument(
        "--json", metavar="OBJECT", help="all arguments as one JSON object; - reads standard input"
    )
    add_flags(flags, SERVER_FLAGS)
    return flags


def _flag_help(name: str, kind: dict[str, Any], required: Any) -> str:
    choices = "|".join(map(str, kind.get("enum", ()))) or str(kind.get("type", "JSON"))
    default = f" (default {kind['default']})" if "default" in kind else ""
    facts = choices + default + (", required" if name in required else "")
    return f"{kind.get('description', '')} {facts}".strip().replace("%", "%%")


def _collect_arguments(flags: argparse.Namespace) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if flags.json:
        arguments = _parse_object(sys.stdin.read() if flags.json == "-" else flags.json)
    flag_values = {
        key.removeprefix("argument_"): value
        for key, value in vars(flags).items()
        if key.startswith("argument_")
    }
    return arguments | {name: _parse_value(value) for name, value in flag_values.items() if value is not None}


def _parse_object(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise errors.Invalid(f"--json is not a valid JSON object: {error}.") from None


def _parse_value(text: Any) -> Any:
    """Objects and lists may be JSON; other text is converted by the operation's types."""
    if isinstance(text, str) and text[:1] in "{[":
        try:
            return msgspec.json.decode(text)
        except msgspec.DecodeError:
            return text
    return text
