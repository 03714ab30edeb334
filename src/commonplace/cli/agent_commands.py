"""Commands that connect agents, and those that agents and shells run."""

from commonplace.cli.command import Command, Flag, Flags, OneOf, Switch
from commonplace.client.agents import AGENTS, AGENTS_WITH_HOOKS

_SERVER: Flags = (
    Flag("--url", "the server's address (default: the server that this machine uses)"),
    Flag("--key", "the agent's key (default: COMMONPLACE_KEY, else the configured one)"),
    Flag("--toolsets", "offer only these sets of tools, or all (as last time)", metavar="A,B"),
    Switch("--force", "write even if the server does not answer"),
)
_WHICH_AGENTS: Flags = (
    Flag(
        "--agent",
        f"only these agents (default: those on this machine): {', '.join(AGENTS)}",
        action="extend",
        choices=AGENTS,
        nargs="+",
        metavar="A",
    ),
    Switch("--yes", "do not ask for confirmation"),
    Switch("--dry-run", "only show the changes"),
)

CONNECT_AGENTS = (
    Command(
        "connect",
        "add the server to an agent's settings",
        run="client.commands.connect",
        flags=(
            Flag("agent", "all: every agent on this machine", choices=(*AGENTS, "all")),
            Switch("--print", "only print the entry for its settings"),
            Switch("--yes", "create a missing key without asking"),
            Switch("--dry-run", "only show the changes"),
            OneOf(
                Switch("--project-scope", "write to the project's settings, without the key"),
                Switch("--user", "write to your own settings (default)"),
            ),
            *_SERVER,
        ),
        text="""Add the server, with its key, to the settings of an agent. Everything else in them stays as it is.
  commonplace connect claude
  commonplace connect all --url https://memory.example.com --key KEY
  commonplace connect cursor --print""",
    ),
    Command(
        "join",
        "let a repository use the project that its .commonplace.toml names",
        run="client.commands.join",
        flags=(
            Flag("folder", "a folder of the repository (default: this one)", nargs="?", default="."),
            Switch("--yes", "agree without being asked"),
        ),
        text="""Confirm that agents in a repository may use the project that its .commonplace.toml names. Anybody can commit that
file, so until you confirm, the repository's own name is its project. Stored in config.toml under [projects];
trusted_projects = ["shop"] there trusts a project in every repository.
  commonplace join
  commonplace join ~/src/shop --yes""",
    ),
    Command(
        "install",
        "connect the agents on this machine, with hooks and uploads",
        run="client.commands.install",
        flags=(
            *_WHICH_AGENTS,
            *_SERVER,
            Flag("--sync-token", "another key for uploads (default: --key)", metavar="T"),
            Flag("--learnings", "add up to N learnings to every prompt (0)", type=int, metavar="N"),
            Switch("--guard", "also set up this repository's git hooks now"),
            Switch(
                "--status-line", "also show who needs you in Claude Code's status line, unless it has one"
            ),
            Switch("--no-diff", "show the summary only"),
            Switch("--no-schedule", "do not schedule uploads of transcripts"),
        ),
        text="""Connect each agent on this machine to the server, install its hooks, and schedule uploads of transcripts.
Shows a summary and a diff, and asks before it writes. Everything else in the settings stays as it is, to the byte.
  commonplace install
  commonplace install --url http://memory.lan:8080 --key KEY --guard
  commonplace install --agent claude codex --yes""",
    ),
    Command(
        "uninstall",
        "remove exactly what install and connect added",
        run="client.commands.install:run_uninstall",
        flags=_WHICH_AGENTS,
    ),
    Command(
        "guard",
        "commits of one's own lines: the hooks of a git repository",
        acts=(
            Command(
                "install", "filter every commit of an agent in this repository", run="client.commands.guard"
            ),
            Command("uninstall", "remove it; other hooks stay as they are", run="client.commands.guard"),
            Command("check", "filter what is staged now"),
        ),
    ),
)

WHAT_AGENTS_RUN = (
    Command(
        "stdio",
        "MCP over standard input and output, forwarded to the server",
        run="client.commands.stdio",
        flags=(
            Flag("--data", "use the server of this data folder; start it if none runs", metavar="DIR"),
            Flag("--url", "use the server at this address; never start one"),
            Flag(
                "--key",
                "its key (default: COMMONPLACE_KEY, which other users cannot see in the process list)",
            ),
            Flag("--toolsets", "offer only these toolsets (all)", metavar="A,B"),
        ),
        text="""Forward MCP messages between standard input and output and the server of this machine. The server is started if it
does not run, and continues after this command ends. Any number of agents can share it.
  claude mcp add commonplace -- commonplace stdio""",
    ),
    Command(
        "hook",
        "the program that an agent's hooks run",
        flags=(
            Flag("agent", "the agent that sends the event", choices=AGENTS_WITH_HOOKS),
            Flag("event", "the event, if the agent's input does not name it", nargs="?"),
        ),
        text="""Read an agent's hook event from standard input, act on it, and answer in that agent's format: load the
project's memory when a session starts, take a lease before an edit, upload the transcript when the agent stops.
`commonplace install` adds this command to the settings of your agents.""",
    ),
    Command(
        "statusline",
        "one line for Claude Code's status line: who needs you, agents, locks",
        text="""Read Claude Code's JSON on standard input and print one line: who needs you, agents, locks, what was prevented.
`commonplace install --status-line` sets it up where no other status line is set. It answers at once and never fails.""",
    ),
    Command(
        "git",
        "take lines of others, shelve your own, restore what a command changed",
        run="client.commands.git",
        text="""Work in a checkout that others use too. Commits contain your own lines without any of these; what a command
destroys of others is put back, and every version is kept outside of the repository.
  commonplace git take src/cart.py
  commonplace git shelve -m "half of the tax"
  commonplace git unshelve
  commonplace git rescue list
  commonplace git rescue restore 1""",
        acts=(
            Command(
                "take",
                "let your next commit take others' lines of these files too",
                flags=(Flag("paths", "", nargs="+", metavar="FILE"),),
            ),
            Command(
                "shelve",
                "put your own lines aside, and nobody else's",
                flags=(
                    Flag("paths", "only these files", nargs="*", metavar="FILE"),
                    Flag("-m, --message", "what they are"),
                ),
            ),
            Command(
                "unshelve",
                "bring shelved changes back",
                flags=(Flag("name", "the shelf (default: your last one)", nargs="?"),),
            ),
            Command("shelves", "list what is shelved, by agent"),
            Command(
                "rescue",
                "versions that were kept before a command changed lines of others",
                acts=(
                    Command("list", "list them, the newest first"),
                    Command(
                        "restore",
                        "write one back",
                        flags=(Flag("name", "as in the list", metavar="NUMBER"),),
                    ),
                ),
            ),
        ),
    ),
)

TEXTS_FOR_YOUR_SHELL = (
    Command(
        "completion",
        "print a script that completes commands and flags",
        run="cli.completion",
        flags=(Flag("shell", "", choices=("bash", "zsh", "fish")),),
        text="""Print a script for your shell. To use it in every new shell:
  echo 'source <(commonplace completion bash)' >> ~/.bashrc
  echo 'source <(commonplace completion zsh)' >> ~/.zshrc
  commonplace completion fish > ~/.config/fish/completions/commonplace.fish""",
    ),
    Command("manual", "print the manual page: commonplace manual | man -l -", run="cli.manual"),
)
