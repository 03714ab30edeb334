"""`commonplace stdio`: MCP over standard input and output, forwarded to the server (`client/proxy/`)."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.client.proxy.upstream import McpUpstream

_MISUSED_EXIT_CODE = 2
_INTERRUPTED_EXIT_CODE = 130


def add_stdio_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--data", metavar="DIR", help="use the server of this data folder; start it if none runs"
    )
    command.add_argument("--url", help="use the server at this address; never start one")
    command.add_argument(
        "--key", help="its key (default: COMMONPLACE_KEY, which other users cannot see in the process list)"
    )
    command.add_argument("--toolsets", metavar="A,B", help="offer only these toolsets (all)")


def main(words: list[str]) -> int:
    """Run without building the parser of the other commands: an agent waits."""
    command = argparse.ArgumentParser("commonplace stdio", add_help=False)
    add_stdio_flags(command)
    return run(command.parse_args(words[1:]))


def run(arguments: argparse.Namespace) -> int:
    from commonplace.client.proxy.relay import StdioRelay  # noqa: PLC0415 - --help should not wait for it

    try:
        upstream = _build_upstream(arguments)
    except (OSError, ValueError) as error:
        print(f"commonplace: {error}", file=sys.stderr)
        return _MISUSED_EXIT_CODE
    try:
        StdioRelay(upstream).run()
    except KeyboardInterrupt:
        return _INTERRUPTED_EXIT_CODE
    return 0


def _build_upstream(arguments: argparse.Namespace) -> "McpUpstream":
    """From the flags, else the environment, else config.toml, else this machine's data folder.

    The key in config.toml is used only for the server that it names, or for this machine's own.
    """
    from commonplace.client import remote  # noqa: PLC0415 - as above
    from commonplace.client.proxy.server_location import FolderServer, NamedServer  # noqa: PLC0415 - as above
    from commonplace.client.proxy.upstream import McpUpstream  # noqa: PLC0415 - as above

    configured = {} if arguments.url or arguments.data else remote.read_configuration()
    url = arguments.url or (
        "" if arguments.data else os.environ.get("COMMONPLACE_URL") or configured.get("url")
    )
    folder = Path(arguments.data).expanduser().absolute() if arguments.data else None
    url = remote.validate_url(url) if url else ""
    key = arguments.key or remote.read_secret(
        "key", remote.configuration_for(url, configured) if url else configured
    )
    toolsets = arguments.toolsets or os.environ.get("COMMONPLACE_TOOLSETS", "")
    location = NamedServer(url) if url else FolderServer(folder or remote.default_data_folder())
    return McpUpstream(location, key, _parse_toolsets(toolsets))


def _parse_toolsets(toolsets: str) -> str:
    names = [name.strip() for name in toolsets.split(",") if name.strip()]
    if not all(name.isidentifier() and name.isascii() for name in names):
        raise ValueError(f"'{toolsets}' is not a list of toolset names.")
    return ",".join(names)
