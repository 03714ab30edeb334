"""Every command with its flags and help. Client commands add theirs in `client/commands/client_parser.py`."""

import argparse
import importlib
from collections.abc import Callable

from commonplace.cli.admin_parser import add_admin
from commonplace.cli.backup_parser import add_backup_commands
from commonplace.cli.doctor_parser import add_doctor
from commonplace.cli.key_parser import add_key
from commonplace.cli.login_server_parser import add_login_server
from commonplace.cli.serve_parser import add_serve
from commonplace.cli.up_parser import add_down, add_up
from commonplace.cli.upkeep_parser import add_retention, add_status
from commonplace.cli.webhook_parser import add_webhook
from commonplace.client.commands import client_parser as agent_commands
from commonplace.client.commands import people_parser
from commonplace.client.commands.command_flags import (
    CommandParser,
    Commands,
    RawHelp,
    add_store_flags,
    run_lazily,
)
from commonplace.client.commands.rule_parser import add_rule_command
from commonplace.client.commands.vault_parser import add_vault

_DESCRIPTION = "Shared memory and coordination for teams of AI coding agents, over MCP."
_EPILOG = """first steps:
  commonplace up                            start, connect the agents found here, show a first answer
  commonplace serve                         start the server; prints how to connect each agent
  commonplace connect claude                connect an agent; `install` adds hooks and transcripts
  commonplace open                          open the web page: who needs you, what happens
  commonplace who                           show who works on what
  commonplace key create --name ann --role owner   make the first key, then: serve --auth on
"""
COMMAND_GROUPS = {
    "run the server": (
        "up",
        "down",
        "serve",
        "service",
        "status",
        "doctor",
        "key",
        "webhook",
        "audit",
        "retention",
        "admin",
    ),
    "back up and move": ("backup", "restore", "export", "import", "scrub"),
    "connect agents": ("connect", "join", "install", "uninstall", "guard"),
    "ask the server": (
        "open",
        "search",
        "show",
        "who",
        "inbox",
        "answer",
        "backlog",
        "rule",
        "standup",
        "call",
    ),
    "transcripts and code": ("sync", "vault", "librarian", "verify", "distill"),
    "what agents run": ("stdio", "hook", "statusline"),
    "texts for your shell": ("completion", "manual"),
}
_HELP_COLUMN = 14


def build_parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        "commonplace", usage="commonplace [-h] [--version] COMMAND ...", formatter_class=RawHelp
    )
    top.add_argument("--version", action="version", version=_version_text())
    commands = top.add_subparsers(
        prog="commonplace",
        metavar="COMMAND",
        required=True,
        help=argparse.SUPPRESS,
        parser_class=CommandParser,
    )
    add_up(commands)
    add_down(commands)
    add_serve(commands)
    _add_call(commands)
    add_key(commands)
    add_webhook(commands)
    _add_audit(commands)
    add_retention(commands)
    add_status(commands)
    _add_open(commands)
    add_admin(commands)
    add_doctor(commands)
    add_login_server(commands)
    add_backup_commands(commands)
    _add_librarian(commands)
    add_vault(commands, _run_with_operations)
    _add_distill(commands)
    _add_verify(commands)
    _add_shell_texts(commands)
    people_parser.add_people_commands(commands, _run_with_operations)
    add_rule_command(commands, _run_with_operations)
    agent_commands.add_client_commands(commands)
    top.description = _DESCRIPTION
    top.epilog = f"{_render_groups(commands)}\n{_EPILOG}"
    return top


def _render_groups(commands: Commands) -> str:
    """The commands by purpose; argparse could only list them all in one group."""
    summaries = {action.dest: action.help for action in commands._choices_actions}  # noqa: SLF001 - no public name
    commands._choices_actions = []  # noqa: SLF001 - the same
    return "\n".join(
        f"{title}:\n" + "".join(f"  {name:{_HELP_COLUMN}}{summaries[name]}\n" for name in names)
        for title, names in COMMAND_GROUPS.items()
    )


def _run_with_operations(module: str, function: str = "run") -> Callable[[argparse.Namespace], int]:
    """Run a client command that also works without a server: it is passed a function that calls operations."""

    def run(arguments: argparse.Namespace) -> int:
        from commonplace.cli import operation_call  # --help should not wait for it

        command: Callable[..., int] = getattr(importlib.import_module(module), function)
        return command(arguments, lambda name, values: operation_call.call_operation(name, values, arguments))

    return run


def _version_text() -> str:
    from commonplace import __version__  # only --version needs it

    return f"commonplace {__version__}"


def _add_call(commands: Commands) -> None:
    call = commands.add_parser(
        "call",
        help="run one operation",
        description=CALL_DESCRIPTION,
        formatter_class=RawHelp,
        add_help=False,
    )
    # Without an operation --help lists them; after one, it belongs to the operation.
    call.add_argument("-h", "--help", action="store_true", help=argparse.SUPPRESS)
    call.add_argument("operation", nargs="?", help="its name (default: list all)")
    call.add_argument(
        "rest", nargs=argparse.REMAINDER, help="its arguments as flags; OPERATION --help shows them"
    )
    call.set_defaults(run=run_lazily("commonplace.cli.call"))


CALL_DESCRIPTION = """Run one operation on the server that this machine uses (`commonplace status` shows it), or directly on the data folder.
  commonplace call memory_start_session --project shop --claude-instance ann
  commonplace call memory_query --session-id ID --query "idle connections" --tags db pool
  echo '{"project": "shop"}' | commonplace call memory_start_session --json -
Use another server with --url URL, or COMMONPLACE_URL, and its key in COMMONPLACE_KEY."""


def _add_audit(commands: Commands) -> None:
    audit = commands.add_parser("audit", help="verify that the audit log is complete and unchanged")
    acts = audit.add_subparsers(title="acts", metavar="ACT", required=True)
    verify = acts.add_parser(
        "verify",
        help="compare every audit row with its seal",
        description=_AUDIT_VERIFY,
        formatter_class=RawHelp,
    )
    verify.add_argument("--project", help="only this project (all)")
    verify.add_argument("--heads", metavar="FILE", help="what `audit heads` printed earlier")
    acts.add_parser("heads", help="print the newest seal of every project, to be kept elsewhere")
    for name, act in acts.choices.items():
        add_store_flags(act)
        act.set_defaults(run=run_lazily("commonplace.cli.audit"), act=name)


_AUDIT_VERIFY = """Find audit rows that were changed, removed, moved or added later, and name them. Exit code 1 if there are any.
  commonplace audit verify
  commonplace audit heads > heads.txt        keep it on another machine; later:
  commonplace audit verify --heads heads.txt also finds a chain that was replaced or cut off as a whole"""


def _add_open(commands: Commands) -> None:
    command = commands.add_parser(
        "open", help="open the web page, signed in", description=_OPEN, formatter_class=RawHelp
    )
    command.add_argument("--print", action="store_true", help="print the link without opening a browser")
    add_store_flags(command)
    command.set_defaults(run=run_lazily("commonplace.cli.open_page"))


_OPEN = """Print a link that signs one browser in to the web page, once, and open it where there is a display.
You act with the role and the projects of your key (COMMONPLACE_KEY or config.toml); on the server's own machine
without a key, as its operator.
  commonplace open
  commonplace open --url https://memory.example.org"""


def _add_shell_texts(commands: Commands) -> None:
    completion = commands.add_parser(
        "completion",
        help="print a script that completes commands and flags",
        description=_COMPLETION,
        formatter_class=RawHelp,
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))
    completion.set_defaults(run=run_lazily("commonplace.cli.completion"))
    manual = commands.add_parser("manual", help="print the manual page: commonplace manual | man -l -")
    manual.set_defaults(run=run_lazily("commonplace.cli.manual"))


_COMPLETION = """Print a script for your shell. To use it in every new shell:
  echo 'source <(commonplace completion bash)' >> ~/.bashrc
  echo 'source <(commonplace completion zsh)' >> ~/.zshrc
  commonplace completion fish > ~/.config/fish/completions/commonplace.fish"""


def _add_librarian(commands: Commands) -> None:
    librarian = commands.add_parser("librarian", help="keep the function registry in step with the source")
    acts = librarian.add_subparsers(title="acts", metavar="ACT", required=True)
    scan = acts.add_parser("scan", help="read a source tree and register its functions")
    scan.add_argument("--dry-run", action="store_true", help="only show what would change")
    watch = acts.add_parser("watch", help="scan, then scan again whenever a file changes")
    for act in (scan, watch):
        act.add_argument("path", help="folder of the sources; .gitignore is respected")
        act.add_argument("--prefix", default="", metavar="DIR", help="the tree's folder in the project")
    enrich = acts.add_parser(
        "enrich",
        help="have a model describe undescribed functions",
        description=_ENRICH,
        formatter_class=RawHelp,
    )
    enrich.add_argument("--model", required=True, metavar="URL#NAME", help="the model; code is sent there")
    enrich.add_argument(
        "--budget",
        type=int,
        default=100_000,
        metavar="TOKENS",
        help="maximum number of tokens to use (100000)",
    )
    enrich.add_argument(
        "--price", type=float, nargs=2, metavar=("IN", "OUT"), help="prices per million tokens"
    )
    enrich.add_argument("--dry-run", action="store_true", help="only show the cost; nothing is sent")
    for name, act in acts.choices.items():
        act.add_argument("--project", required=True, help="the project of the functions")
        add_store_flags(act)
        act.set_defaults(run=run_lazily("commonplace.cli.librarian"), act=name)


_ENRICH = """Send the source of functions without a description to a model and store its summaries.
  commonplace librarian enrich --project shop --model http://127.0.0.1:11434/v1#qwen3 --dry-run
  commonplace librarian enrich --project shop --model anthropic#MODEL --budget 200000 --price 1 5
The key is COMMONPLACE_LIBRARIAN_KEY or ANTHROPIC_API_KEY in the environment."""


def _add_distill(commands: Commands) -> None:
    distill = commands.add_parser(
        "distill",
        help="have a model summarize a closed blackboard",
        description=_DISTILL,
        formatter_class=RawHelp,
    )
    distill.add_argument("session", help="the blackboard: session_...")
    distill.add_argument("--project", required=True, help="the project of the draft")
    distill.add_argument(
        "--model", required=True, metavar="URL#NAME", help="the model; the record is sent there"
    )
    distill.add_argument(
        "--budget", type=int, default=20_000, metavar="TOKENS", help="size of the record (20000)"
    )
    distill.add_argument("--dry-run", action="store_true", help="only show what would be sent")
    add_store_flags(distill)
    distill.set_defaults(run=_run_with_operations("commonplace.client.commands.distill"))


_DISTILL = """Send the public record of a closed blackboard to a model and store its summary as a draft for review.
  commonplace distill session_0123456789abcdef --project shop --model http://127.0.0.1:11434/v1#qwen3
The key is COMMONPLACE_LIBRARIAN_KEY or ANTHROPIC_API_KEY in the environment."""


def _add_verify(commands: Commands) -> None:
    verify = commands.add_parser(
        "verify",
        help="compare the citations of documents with a checkout",
        description=_VERIFY,
        formatter_class=RawHelp,
    )
    verify.add_argument("path", help="the checkout")
    verify.add_argument("--project", required=True, help="the project of the documents")
    verify.add_argument(
        "--lines",
        action="store_true",
        help="also send the cited lines, for the web page to show what changed",
    )
    add_store_flags(verify)
    verify.set_defaults(run=_run_with_operations("commonplace.client.commands.verify"))


_VERIFY = """Check every path, path:line, path:first-last and path#symbol that the project's documents cite, and report to the
server whether it is fresh, drifted or gone; search results then show it. What cannot be checked (too large, outside of
the checkout, a web address) is unchecked. Only hashes leave this machine; with --lines also the cited lines (60 of each
place at most, secrets masked), so that the web page shows them as they were beside what they are now.
  commonplace verify . --project shop"""
