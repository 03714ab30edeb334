"""The commands at the agents' side: their flags and their help."""

import argparse

from commonplace.client.agents import AGENTS, AGENTS_WITH_HOOKS, AGENTS_WITH_TRANSCRIPTS
from commonplace.client.commands import stdio
from commonplace.client.commands.command_flags import Commands, RawHelp, run_lazily


def add_client_commands(commands: Commands) -> None:
    """Every command that runs beside an agent, in the order of --help."""
    _add_connect(commands)
    _add_install(commands)
    _add_uninstall(commands)
    _add_sync(commands)
    _add_stdio(commands)
    _add_hook(commands)
    _add_guard(commands)


def _add_stdio(commands: Commands) -> None:
    command = commands.add_parser(
        "stdio",
        help="for agents that start a program: speak to the one server",
        description=_STDIO,
        formatter_class=RawHelp,
    )
    stdio.add_stdio_flags(command)
    command.set_defaults(run=stdio.run)


_STDIO = """Pass MCP between standard input and output and the server of this machine, which is started if none runs
and outlives this command. As many agents as you like share it.
  claude mcp add commonplace -- commonplace stdio"""


def _add_connect(commands: Commands) -> None:
    command = commands.add_parser(
        "connect",
        help="write the server into an agent's settings",
        description=_CONNECT,
        formatter_class=RawHelp,
    )
    command.add_argument("agent", choices=(*AGENTS, "all"), help="all: every one that is found here")
    command.add_argument("--print", action="store_true", help="only print what belongs into its settings")
    command.add_argument("--dry-run", action="store_true", help="only show what would change")
    scope = command.add_mutually_exclusive_group()
    scope.add_argument(
        "--project-scope", action="store_true", help="into the project's files; they get no key"
    )
    scope.add_argument("--user", action="store_true", help="into the user's own settings (default)")
    _add_server_flags(command)
    command.set_defaults(run=run_lazily("commonplace.client.commands.connect"))


_CONNECT = """Write the server, with its key, into the settings of an agent. All else that stands there stays.
  commonplace connect claude
  commonplace connect all --url https://memory.example.com --key KEY
  commonplace connect cursor --print"""


def _add_install(commands: Commands) -> None:
    command = commands.add_parser(
        "install", help="set up the agents of this machine", description=_INSTALL, formatter_class=RawHelp
    )
    _add_agent_flags(command, "those that are found")
    _add_server_flags(command)
    command.add_argument("--sync-token", metavar="T", help="the uploader's key, of the role sync")
    command.add_argument("--learnings", type=int, metavar="N", help="look up so many for every prompt (0)")
    command.add_argument("--no-schedule", action="store_true", help="do not upload transcripts regularly")
    command.set_defaults(run=run_lazily("commonplace.client.commands.install"), removes=False)


_INSTALL = """Give each agent of this machine the server, the hooks, and a schedule that uploads transcripts.
Shows a diff and asks before it writes. What stands in the settings stays, to the byte.
  commonplace install
  commonplace install --agent claude codex --yes"""


def _add_uninstall(commands: Commands) -> None:
    command = commands.add_parser("uninstall", help="take away exactly what install and connect added")
    _add_agent_flags(command, "all")
    command.set_defaults(run=run_lazily("commonplace.client.commands.install"), removes=True)


def _add_agent_flags(command: argparse.ArgumentParser, default: str) -> None:
    command.add_argument(
        "--agent",
        action="extend",
        nargs="+",
        choices=AGENTS,
        metavar="A",
        help=f"only these ({default}): {', '.join(AGENTS)}",
    )
    command.add_argument("--yes", action="store_true", help="do not ask")
    command.add_argument("--dry-run", action="store_true", help="only show what would change")


def _add_server_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("--url", help="the server's address (the one that this machine speaks to)")
    command.add_argument("--key", help="the agent's key (COMMONPLACE_KEY, else the one that is configured)")


def _add_hook(commands: Commands) -> None:
    command = commands.add_parser(
        "hook", help="what an agent's own hooks run", description=_HOOK, formatter_class=RawHelp
    )
    command.add_argument("agent", choices=AGENTS_WITH_HOOKS, help="whose input it is")


_HOOK = """Read an agent's hook event from standard input, act on it, and answer as that agent expects: the project's
memory when a session starts, a lease before an edit, the transcript to the uploader when it stops.
`commonplace install` writes it into the settings of your agents."""


def _add_guard(commands: Commands) -> None:
    guard = commands.add_parser("guard", help="refuse commits of files that another agent has leased")
    acts = guard.add_subparsers(title="acts", metavar="ACT", required=True)
    acts.add_parser("install", help="put the check before every commit of this repository")
    acts.add_parser("uninstall", help="take it away again; other hooks stay as they are")
    for act in ("install", "uninstall"):
        acts.choices[act].set_defaults(run=run_lazily("commonplace.client.commands.guard"), act=act)
    acts.add_parser("check", help="check the files that are staged now")


def _add_sync(commands: Commands) -> None:
    command = commands.add_parser(
        "sync",
        help="send transcripts and tracked files to their workspaces",
        description=_SYNC,
        formatter_class=RawHelp,
    )
    acts = command.add_subparsers(title="acts", metavar="ACT", dest="act")
    for each in (command, acts.add_parser("run", help="send what changed (what plain sync does)")):
        _add_sync_flags(each)
    acts.add_parser("test", help="address, token, clock and permissions, in words")
    tracked = acts.add_parser("init-manifest", help="say which files of a folder are kept in a workspace")
    tools = ", ".join(AGENTS[name].transcript_tool for name in AGENTS_WITH_TRANSCRIPTS)
    tracked.add_argument("--tool", required=True, help=f"the agent: {tools} or another")
    tracked.add_argument("--project", required=True)
    tracked.add_argument("--cwd", required=True, metavar="DIR", help="the folder that the agent works in")
    hook = acts.add_parser("hook", help="for an agent's hook: spool its transcript and return at once")
    hook.add_argument("--tool", help="the agent, if its folder does not tell")
    hook.add_argument("event", nargs="?", help="the hook's JSON, if not on standard input")
    command.set_defaults(run=run_lazily("commonplace.client.commands.sync"))


def _add_sync_flags(command: argparse.ArgumentParser) -> None:
    # Given to both parsers: a default of the inner one would undo what the outer one was told.
    for flag, told in _SYNC_FLAGS.items():
        command.add_argument(flag, action="store_true", default=argparse.SUPPRESS, help=told)


_SYNC_FLAGS = {
    "--dry-run": "only say what would be sent",
    "--raw": "do not mask secrets",
    "--spool": "only what hooks have spooled",
}


_SYNC = """Send what is new of every agent's transcripts, and the tracked files, to this machine's workspaces.
Secrets are masked first. It goes on where it stopped, and what a server that is away missed is sent by the next run.
  commonplace sync test
  commonplace sync --dry-run
  commonplace sync init-manifest --tool claude-code --project shop --cwd ~/shop"""
