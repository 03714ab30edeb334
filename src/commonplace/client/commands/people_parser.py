"""Flags and help of the commands for people (`client/people/`). `cli/parser.py` adds them to the others."""

import argparse
from collections.abc import Callable

from commonplace.client.commands.command_flags import CommandParser, Commands, RawHelp, add_store_flags

RunWithOperations = Callable[[str, str], Callable[[argparse.Namespace], int]]
"""Builds the `run` of a command from a module and a function that is passed a way to call operations."""

_UNSET = argparse.SUPPRESS

EXIT_CODES = """exit codes: 0 done, 2 wrong arguments, 3 the server wants another key, 4 the key may not do this,
  5 not found, 6 conflict, 7 too many requests, 8 the server does not answer"""


def add_people_commands(commands: Commands, with_operations: RunWithOperations) -> None:
    """Add every command, in the order of --help."""
    _add_search(commands, with_operations)
    _add_show(commands, with_operations)
    _add_who(commands, with_operations)
    _add_inbox(commands, with_operations)
    _add_backlog(commands, with_operations)
    _add_answer(commands, with_operations)
    _add_standup(commands, with_operations)


def _add_command(commands: Commands, name: str, summary: str, description: str) -> CommandParser:
    return commands.add_parser(
        name, help=summary, description=description, epilog=EXIT_CODES, formatter_class=RawHelp
    )


def _add_search(commands: Commands, with_operations: RunWithOperations) -> None:
    command = _add_command(commands, "search", "find what the team knows, by words and meaning", _SEARCH)
    command.add_argument("query", help="what to look for")
    command.add_argument(
        "--type", nargs="+", metavar="T", help="only these types: learning, decision, architecture, ..."
    )
    _add_limit(command, 10)
    add_project_flags(command)
    command.set_defaults(**PROJECT_DEFAULTS, run=with_operations("commonplace.client.people.search", "run"))


_SEARCH = """Search the knowledge of this repository's project, or of every project outside of a repository.
  commonplace search "connection dropped when idle"
  commonplace search deploy --type learning decision --limit 5
  commonplace search "rate limit" --all
  commonplace search deploy --json | jq -r '.results[].id'
Open a result with `commonplace show ID`."""


def _add_show(commands: Commands, with_operations: RunWithOperations) -> None:
    command = _add_command(commands, "show", "open a document, message or task by its id", _SHOW)
    command.add_argument("id", help="an id from search, inbox or backlog")
    add_project_flags(command)
    command.set_defaults(
        **PROJECT_DEFAULTS, run=with_operations("commonplace.client.people.search", "run_show")
    )


_SHOW = """Print what an id stands for: a document, a message, a task, a spec or a function.
  commonplace show doc_4d0985a981a1"""


def _add_who(commands: Commands, with_operations: RunWithOperations) -> None:
    command = _add_command(commands, "who", "show who works on what, with leases and claims", _WHO)
    command.add_argument("--idle", action="store_true", help="also agents without a live session")
    add_project_flags(command)
    command.set_defaults(**PROJECT_DEFAULTS, run=with_operations("commonplace.client.people.who", "run"))


_WHO = """List the agents that work now: status, task, leased files and claimed tasks.
  commonplace who
  commonplace who --all
  commonplace who --json | jq -r '.agents[] | select(.locks != []) | .agent'"""


def _add_inbox(commands: Commands, with_operations: RunWithOperations) -> None:
    command = _add_command(commands, "inbox", "read mail, without marking it as read", _INBOX)
    whose = command.add_mutually_exclusive_group()
    whose.add_argument(
        "--agent", metavar="A", help="whose mail (default: your key's agent, COMMONPLACE_AGENT, your login)"
    )
    whose.add_argument("--mark-read", action="store_true", help="mark your own mail as read")
    command.add_argument("--read", action="store_true", help="also mail that was read already")
    _add_limit(command, 20)
    add_project_flags(command)
    command.set_defaults(**PROJECT_DEFAULTS, run=with_operations("commonplace.client.people.inbox", "run"))


_INBOX = """Print the unread mail of an agent or your own, urgent first. It stays unread unless you pass --mark-read.
Mail of others needs the key of that agent or of an admin.
  commonplace inbox --agent backend
  commonplace inbox --mark-read"""


def _add_answer(commands: Commands, with_operations: RunWithOperations) -> None:
    command = _add_command(commands, "answer", "answer agents that wait for a person", _ANSWER)
    command.add_argument(
        "id", nargs="?", help="the request, or the start of its id; without it, all that wait"
    )
    command.add_argument("answer", nargs="*", help="allow or deny, or the answer to each question")
    command.takes_later_words = "answer"
    command.add_argument(
        "--note", metavar="TEXT", help="a text for the agent, such as the reason of a denial"
    )
    add_project_flags(command)
    command.set_defaults(**PROJECT_DEFAULTS, run=with_operations("commonplace.client.people.answer", "run"))


_ANSWER = """Show what agents and their programs wait for, and answer it: permissions, questions and plans.
  commonplace answer                                 one after the other, in a terminal
  commonplace answer req_1f2e allow
  commonplace answer req_1f2e deny --note "not on Fridays"
  commonplace answer req_77ab "per line"
Only people answer: it does not run in an agent's shell."""


def _add_standup(commands: Commands, with_operations: RunWithOperations) -> None:
    command = _add_command(
        commands, "standup", "what was done, by whom, with what proof, what is open", _STANDUP
    )
    command.add_argument(
        "--since", metavar="T", help="a time (2026-01-15T08:00), or 30m, 8h, 2d ago (default: 24h)"
    )
    add_project_flags(command)
    command.set_defaults(**PROJECT_DEFAULTS, run=with_operations("commonplace.client.people.standup", "run"))


_STANDUP = """Print what was done since a time, by whom, with what proof, and what is open, as Markdown to paste.
  commonplace standup
  commonplace standup --since 8h --all
Commits and test results in brackets are those that an agent named; "Seen" is what its hooks saw."""


def _add_backlog(commands: Commands, with_operations: RunWithOperations) -> None:
    command = _add_command(commands, "backlog", "list, add and complete tasks", _BACKLOG)
    acts = command.add_subparsers(title="acts", metavar="ACT", dest="act")
    for parser in (command, acts.add_parser("list", help="list tasks (the default)")):
        _add_filters(parser)
        add_project_flags(parser)
    add = acts.add_parser("add", help="add a task")
    add.add_argument("title", help="what is to be done")
    add.add_argument("--description", metavar="TEXT", help="more about it")
    add.add_argument("--tag", dest="tags", action="append", metavar="T", help="a tag; can be repeated")
    add.add_argument("--depends-on", nargs="+", metavar="ID", help="tasks that must be done first")
    _add_item_flags(add)
    done = acts.add_parser("done", help="complete a task")
    done.add_argument("id", help="its id")
    done.add_argument("--resolution", metavar="TEXT", help="how it was done")
    done.add_argument("--wont-do", action="store_true", help="close it without doing it")
    for parser in (add, done):
        add_project_flags(parser)
    command.set_defaults(**PROJECT_DEFAULTS, **_FILTER_DEFAULTS)
    command.set_defaults(run=with_operations("commonplace.client.people.backlog", "run"))


_BACKLOG = """List the open tasks of this repository's project by priority, add one, or complete one.
  commonplace backlog --ready
  commonplace backlog --assigned-to backend --status in_progress
  commonplace backlog add "Cart loses items on reload" --priority high
  commonplace backlog done backlog_c0055dfce420 --resolution fixed"""


_FILTER_DEFAULTS = {
    **dict.fromkeys(("status", "tag", "priority", "assigned_to", "milestone")),
    **dict.fromkeys(("mine", "ready", "done"), False),
    "limit": 30,
}


def _add_filters(command: argparse.ArgumentParser) -> None:
    command.add_argument("--status", default=_UNSET, metavar="S", help="open, in_progress, done, ...")
    command.add_argument("--tag", default=_UNSET, metavar="T", help="only tasks with this tag")
    command.add_argument("--mine", action="store_true", default=_UNSET, help="only your own tasks")
    command.add_argument("--ready", action="store_true", default=_UNSET, help="only what can be started now")
    command.add_argument("--done", action="store_true", default=_UNSET, help="also completed tasks")
    command.add_argument("--limit", type=int, default=_UNSET, metavar="N", help="how many results (30)")
    _add_item_flags(command)


def _add_item_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("--priority", default=_UNSET, metavar="P", help="critical, high, medium or low")
    command.add_argument("--assigned-to", default=_UNSET, metavar="A", help="the agent that it is for")
    command.add_argument("--milestone", default=_UNSET, metavar="M", help="its milestone")


def _add_limit(command: argparse.ArgumentParser, default: int) -> None:
    command.add_argument(
        "--limit", type=int, default=default, metavar="N", help=f"how many results ({default})"
    )


def add_project_flags(command: argparse.ArgumentParser) -> None:
    where = command.add_mutually_exclusive_group()
    where.add_argument(
        "--project", default=_UNSET, metavar="P", help="the project (default: that of this folder)"
    )
    where.add_argument("--all", action="store_true", default=_UNSET, help="every project")
    command.add_argument("--json", action="store_true", default=_UNSET, help="print JSON for scripts")
    add_store_flags(command, _UNSET)


PROJECT_DEFAULTS = {"project": None, "all": False, "json": False, "url": None, "data": None, "store": None}
"""Set on the parser of a command only: those of an act's own parser would override what stands before the act."""
