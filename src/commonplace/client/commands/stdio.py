"""`commonplace stdio`: MCP over standard input and output, forwarded to the server (`client/proxy/`)."""

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.client.link.upstream import McpUpstream

_MISUSED_EXIT_CODE = 2
_INTERRUPTED_EXIT_CODE = 130


def main(words: list[str]) -> int:
    """Run without building the parser of the other commands: an agent waits."""
    command = argparse.ArgumentParser("commonplace stdio", add_help=False)
    for name in ("--data", "--url", "--key", "--toolsets"):
        command.add_argument(name)
    return run(command.parse_args(words[1:]))


def run(arguments: argparse.Namespace) -> int:
    from commonplace.client.link.relay import StdioRelay  # --help should not wait for it
    from commonplace.client.link.remote import ServerUnknown

    try:
        upstream = _build_upstream(arguments)
    except (OSError, ValueError, ServerUnknown) as error:
        print(f"commonplace: {error}", file=sys.stderr)
        return _MISUSED_EXIT_CODE
    try:
        StdioRelay(upstream).run()
    except KeyboardInterrupt:
        return _INTERRUPTED_EXIT_CODE
    return 0


def _build_upstream(arguments: argparse.Namespace) -> "McpUpstream":
    """From the flags, else the environment, else .commonplace.toml, else config.toml, else this machine's data folder."""
    from commonplace.client.link import remote
    from commonplace.client.link.server_location import FolderServer, NamedServer
    from commonplace.client.link.upstream import McpUpstream

    toolsets = _parse_toolsets(arguments.toolsets or os.environ.get("COMMONPLACE_TOOLSETS", ""))
    given_key = arguments.key or ""
    if arguments.url or not arguments.data:
        server = remote.find_named_server("key", Path.cwd(), given_key, arguments.url or "")
        if server:
            return McpUpstream(NamedServer(remote.validate_url(server.url)), server.key, toolsets)
    folder = Path(arguments.data).expanduser().absolute() if arguments.data else remote.default_data_folder()
    key = given_key or remote.read_secret("key", remote.read_configuration()) or remote.read_token_file()
    return McpUpstream(FolderServer(folder), key, toolsets)


def _parse_toolsets(toolsets: str) -> str:
    names = [name.strip() for name in toolsets.split(",") if name.strip()]
    if not all(name.isidentifier() and name.isascii() for name in names):
        raise ValueError(f"'{toolsets}' is not a list of toolset names.")
    return ",".join(names)
