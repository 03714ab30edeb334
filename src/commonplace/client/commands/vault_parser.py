"""Flags and help of `commonplace vault`."""

from collections.abc import Callable
from typing import Any

from commonplace.client.commands.command_flags import Commands, RawHelp, add_store_flags

_INTERVAL_SECONDS = 5.0


def add_vault(commands: Commands, run_with_operations: Callable[[str], Callable[..., Any]]) -> None:
    command = commands.add_parser(
        "vault",
        help="keep a folder of Markdown in step with documents",
        description=_VAULT,
        formatter_class=RawHelp,
    )
    command.add_argument("path", metavar="PATH", help="the folder, or one Markdown file")
    command.add_argument("--project", help="the project of the documents (this repository's)")
    command.add_argument(
        "--tag", help="write files only for documents with this tag, and give it to new ones"
    )
    command.add_argument("--watch", action="store_true", help="go on until the command is stopped")
    command.add_argument(
        "--interval",
        type=float,
        default=_INTERVAL_SECONDS,
        metavar="SECONDS",
        help="how often --watch looks (5)",
    )
    command.add_argument("--restore", action="store_true", help="write files again that were deleted")
    command.add_argument("--dry-run", action="store_true", help="only show what would change")
    add_store_flags(command)
    command.set_defaults(run=run_with_operations("commonplace.client.commands.vault"))


_VAULT = """Keep a folder of Markdown, such as an Obsidian vault, in step with the documents of a project, in both directions.
A changed file becomes another version of its document, a changed document rewrites its file. If both changed, both are
kept; what was deleted on one side stays on the other.
  commonplace vault ~/vault --project shop --dry-run
  commonplace vault ~/vault --project shop --watch
  commonplace vault MEMORY.md --project shop"""
