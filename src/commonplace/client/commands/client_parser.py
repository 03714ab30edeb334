"""Flags and help of the client commands. `cli/parser.py` adds them to the others."""

import argparse

from commonplace.client.agents import AGENTS, AGENTS_WITH_HOOKS, AGENTS_WITH_TRANSCRIPTS, PROGRAMS
from commonplace.client.commands import stdio
from commonplace.client.commands.command_flags import Commands, RawHelp, run_lazily


def add_client_commands(commands: Commands) -> None:
    """Add every client command, in the order of --help."""
    _add_connect(commands)
    _add_join(commands)
    _add_install(commands)
    _add_uninstall(commands)
    _add_sync(commands)
    _add_stdio(commands)
    _add_hook(commands)
    _add_statusline(commands)
    _add_guard(commands)
    _add_git(commands)


def _add_stdio(commands: Commands) -> None:
    command = commands.add_parser(
        "stdio",
        help="MCP over standard input and output, forwarded to the server",
        description=_STDIO,
        formatter_class=RawHelp,
    )
    stdio.add_stdio_flags(command)
    command.set_defaults(run=stdio.run)


_STDIO = """Forward MCP messages between standard input and output and the server of this machine. The server is started if it
does not run, and continues after this command ends. Any number of agents can share it.
  claude mcp add commonplace -- commonplace stdio"""


def _add_statusline(commands: Commands) -> None:
    commands.add_parser(
        "statusline",
        help="one line for Claude Code's status line: who needs you, agents, locks",
        description=_STATUSLINE,
        formatter_class=RawHelp,
    )


_STATUSLINE = """Read Claude Code's JSON on standard input and print one line: who needs you, agents, locks, what was prevented.
`commonplace install --status-line` sets it up where no other status line is set. It answers at once and never fails."""


def _add_join(commands: Commands) -> None:
    command = commands.add_parser(
        "join",
        help="let a repository use the project that its .commonplace.toml names",
        description=_JOIN,
        formatter_class=RawHelp,
    )
    command.add_argument(
        "folder", nargs="?", default=".", help="a folder of the repository (default: this one)"
    )
    command.add_argument("--yes", action="store_true", help="agree without being asked")
    command.set_defaults(run=run_lazily("commonplace.client.commands.join"))


_JOIN = """Confirm that agents in a repository may use the project that its .commonplace.toml names. Anybody can commit that
file, so until you confirm, the repository's own name is its project. Stored in config.toml under [projects];
trusted_projects = ["shop"] there trusts a project in every repository.
  commonplace join
  commonplace join ~/src/shop --yes"""


def _add_connect(commands: Commands) -> None:
    command = commands.add_parser(
        "connect",
        help="add the server to an agent's settings",
        description=_CONNECT,
        formatter_class=RawHelp,
    )
    command.add_argument("agent", choices=(*AGENTS, "all"), help="all: every agent on this machine")
    command.add_argument("--print", action="store_true", help="only print the entry for its settings")
    command.add_argument("--yes", action="store_true", help="create a missing key without asking")
    command.add_argument("--dry-run", action="store_true", help="only show the changes")
    scope = command.add_mutually_exclusive_group()
    scope.add_argument(
        "--project-scope", action="store_true", help="write to the project's settings, without the key"
    )
    scope.add_argument("--user", action="store_true", help="write to your own settings (default)")
    _add_server_flags(command)
    command.set_defaults(run=run_lazily("commonplace.client.commands.connect"))


_CONNECT = """Add the server, with its key, to the settings of an agent. Everything else in them stays as it is.
  commonplace connect claude
  commonplace connect all --url https://memory.example.com --key KEY
  commonplace connect cursor --print"""


def _add_install(commands: Commands) -> None:
    command = commands.add_parser(
        "install",
        help="connect the agents on this machine, with hooks and uploads",
        description=_INSTALL,
        formatter_class=RawHelp,
    )
    _add_agent_flags(command, "default: those on this machine")
    _add_server_flags(command)
    command.add_argument("--sync-token", metavar="T", help="another key for uploads (default: --key)")
    command.add_argument(
        "--learnings", type=int, metavar="N", help="add up to N learnings to every prompt (0)"
    )
    command.add_argument(
        "--guard", action="store_true", help="also check leases before git commits in this repository"
    )
    command.add_argument(
        "--status-line",
        action="store_true",
        help="also show who needs you in Claude Code's status line, unless it has one",
    )
    command.add_argument("--no-diff", action="store_true", help="show the summary only")
    command.add_argument("--no-schedule", action="store_true", help="do not schedule uploads of transcripts")
    command.set_defaults(run=run_lazily("commonplace.client.commands.install"), removes=False)


_INSTALL = """Connect each agent on this machine to the server, install its hooks, and schedule uploads of transcripts.
Shows a summary and a diff, and asks before it writes. Everything else in the settings stays as it is, to the byte.
  commonplace install
  commonplace install --url http://memory.lan:8080 --key KEY --guard
  commonplace install --agent claude codex --yes"""


def _add_uninstall(commands: Commands) -> None:
    command = commands.add_parser("uninstall", help="remove exactly what install and connect added")
    _add_agent_flags(command, "default: all")
    command.set_defaults(run=run_lazily("commonplace.client.commands.install"), removes=True)


def _add_agent_flags(command: argparse.ArgumentParser, default: str) -> None:
    command.add_argument(
        "--agent",
        action="extend",
        nargs="+",
        choices=AGENTS,
        metavar="A",
        help=f"only these agents ({default}): {', '.join(AGENTS)}",
    )
    command.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    command.add_argument("--dry-run", action="store_true", help="only show the changes")


def _add_server_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("--url", help="the server's address (default: the server that this machine uses)")
    command.add_argument("--key", help="the agent's key (default: COMMONPLACE_KEY, else the configured one)")
    command.add_argument(
        "--toolsets", metavar="A,B", help="offer only these sets of tools, or all (as last time)"
    )
    command.add_argument("--force", action="store_true", help="write even if the server does not answer")


def _add_hook(commands: Commands) -> None:
    command = commands.add_parser(
        "hook", help="the program that an agent's hooks run", description=_HOOK, formatter_class=RawHelp
    )
    command.add_argument("agent", choices=AGENTS_WITH_HOOKS, help="the agent that sends the event")
    command.add_argument("event", nargs="?", help="the event, if the agent's input does not name it")


_HOOK = """Read an agent's hook event from standard input, act on it, and answer in that agent's format: load the
project's memory when a session starts, take a lease before an edit, upload the transcript when the agent stops.
`commonplace install` adds this command to the settings of your agents."""


def _add_guard(commands: Commands) -> None:
    guard = commands.add_parser("guard", help="refuse commits of files that another agent has leased")
    acts = guard.add_subparsers(title="acts", metavar="ACT", required=True)
    acts.add_parser("install", help="check every commit in this repository")
    acts.add_parser("uninstall", help="remove the check; other hooks stay as they are")
    for act in ("install", "uninstall"):
        acts.choices[act].set_defaults(run=run_lazily("commonplace.client.commands.guard"), act=act)
    acts.add_parser("check", help="check the staged files now")


def _add_git(commands: Commands) -> None:
    git = commands.add_parser(
        "git",
        help="shelve your own changes, and restore what a command destroyed",
        description=_GIT,
        formatter_class=RawHelp,
    )
    acts = git.add_subparsers(title="acts", metavar="ACT", dest="act", required=True)
    stage = acts.add_parser("stage", help="stage your own lines of a file that others edit too")
    stage.add_argument("paths", nargs="+", metavar="FILE")
    shelve = acts.add_parser("shelve", help="put your own changes aside, and nobody else's")
    shelve.add_argument("paths", nargs="*", metavar="FILE", help="only these files")
    shelve.add_argument("-m", "--message", help="what they are")
    unshelve = acts.add_parser("unshelve", help="bring shelved changes back")
    unshelve.add_argument("name", nargs="?", help="the shelf (default: your last one)")
    acts.add_parser("shelves", help="list what is shelved, by agent")
    rescue = acts.add_parser("rescue", help="changes that were kept before a command destroyed them")
    rescue_acts = rescue.add_subparsers(title="acts", metavar="ACT", dest="rescue_act", required=True)
    rescue_acts.add_parser("list", help="list them, the newest first")
    for act, text in (("show", "list the files of one"), ("restore", "write its files back")):
        parser = rescue_acts.add_parser(act, help=text)
        parser.add_argument("name", help="as in the list, or `last`")
    rescue_acts.choices["restore"].add_argument("paths", nargs="*", metavar="FILE", help="only these files")
    git.set_defaults(run=run_lazily("commonplace.client.commands.git"))


_GIT = """Work in a checkout that others use too. A shelf holds your own changes only, in a commit under
refs/commonplace/<agent>/. Before the hooks let a command destroy changes, they keep them for 14 days.
  commonplace git stage src/cart.py
  commonplace git shelve -m "half of the tax"
  commonplace git unshelve
  commonplace git rescue list
  commonplace git rescue restore last src/cart.py"""


def _add_sync(commands: Commands) -> None:
    command = commands.add_parser(
        "sync",
        help="upload transcripts and tracked files",
        description=_SYNC,
        formatter_class=RawHelp,
    )
    acts = command.add_subparsers(title="acts", metavar="ACT", dest="act")
    for parser in (command, acts.add_parser("run", help="upload what changed (the default)")):
        _add_sync_flags(parser)
    acts.add_parser("test", help="check address, token, clock and permissions")
    tracked = acts.add_parser("init-manifest", help="create a manifest of tracked files")
    tools = ", ".join(PROGRAMS[name].transcript_tool for name in AGENTS_WITH_TRANSCRIPTS)
    tracked.add_argument("--tool", required=True, help=f"the agent: {tools} or another")
    tracked.add_argument("--project", required=True)
    tracked.add_argument("--cwd", required=True, metavar="DIR", help="the folder that the agent works in")
    hook = acts.add_parser("hook", help="for an agent's hook: spool its transcript and return")
    hook.add_argument("--tool", help="the agent, if the transcript's folder does not identify it")
    hook.add_argument("event", nargs="?", help="the hook's JSON (default: standard input)")
    command.set_defaults(run=run_lazily("commonplace.client.commands.sync"))


def _add_sync_flags(command: argparse.ArgumentParser) -> None:
    # Added to both parsers without a default: the inner parser's default would override the outer one's value.
    for flag, help_text in _SYNC_FLAGS.items():
        command.add_argument(flag, action="store_true", default=argparse.SUPPRESS, help=help_text)
    command.add_argument(
        "--seconds",
        type=float,
        metavar="N",
        default=argparse.SUPPRESS,
        help="after N seconds send the rest in the background",
    )


_SYNC_FLAGS = {
    "--dry-run": "only show what would be sent",
    "--raw": "do not mask secrets",
    "--spool": "send only what hooks have spooled",
}


_SYNC = """Upload new lines of every agent's transcripts, and tracked files, to this machine's workspaces.
Secrets are masked first. Each run continues where the last one stopped; if no server answers, the next run sends it.
  commonplace sync test
  commonplace sync --dry-run
  commonplace sync init-manifest --tool claude-code --project shop --cwd ~/shop"""
