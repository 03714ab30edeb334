"""Flags and help of `commonplace rule` (`client/people/rules.py`)."""

from commonplace.client.commands.command_flags import CommandParser, Commands, RawHelp
from commonplace.client.commands.people_parser import (
    EXIT_CODES,
    PROJECT_DEFAULTS,
    RunWithOperations,
    add_project_flags,
)

_OCCASIONS = ("edit", "command", "commit", "prompt", "stop")


def add_rule_command(commands: Commands, with_operations: RunWithOperations) -> None:
    command = commands.add_parser(
        "rule",
        help="rules that hold: add, list, test, remove",
        description=_RULE,
        epilog=EXIT_CODES,
        formatter_class=RawHelp,
    )
    acts = command.add_subparsers(title="acts", metavar="ACT", dest="act")
    parsers = [command, acts.add_parser("list", help="list the rules (the default)")]
    parsers += [_add_add(acts), _add_test(acts), _add_remove(acts), _add_from_denials(acts)]
    for parser in parsers:
        add_project_flags(parser)
    command.set_defaults(**PROJECT_DEFAULTS)
    command.set_defaults(run=with_operations("commonplace.client.people.rules", "run"))


_RULE = """Rules that the hooks of every agent program and the commit guard hold agents to (docs/guides/rules.md).
  commonplace rule add no-force --command "git push --force|-f" --say "Push without --force." --reason "History was lost."
  commonplace rule add migrations --on edit command --path "db/migrations/**" --say "Use make migration." --reason "Released."
  commonplace rule add tests --on stop --path "src/" --unless-ran "make test" --within 30m --say "Run make test." --reason "CI broke."
  commonplace rule add deploys --on prompt --text "(?i)deploy" --do inject --say "Deploys go through make release."
  commonplace rule test "git push -f"
  commonplace rule from-denials
Only a person, or a key with the role admin, sets a rule that denies or asks."""


def _add_add(acts: Commands) -> CommandParser:
    add = acts.add_parser("add", help="add or replace a rule", description=_ADD, formatter_class=RawHelp)
    add.add_argument("name", help="its name, which denials show")
    add.add_argument(
        "--say", required=True, metavar="TEXT", help="what the agent is told: what to do instead"
    )
    add.add_argument(
        "--on",
        nargs="+",
        choices=_OCCASIONS,
        metavar="WHEN",
        help=f"{', '.join(_OCCASIONS)} (command with --command, else edit)",
    )
    add.add_argument(
        "--do", choices=("deny", "ask", "warn", "inject"), default="deny", help="what happens (deny)"
    )
    add.add_argument("--reason", metavar="TEXT", help="why the rule exists; needed for deny and ask")
    match = add.add_argument_group("it fires when all of these match")
    match.add_argument(
        "--command",
        dest="command",
        action="append",
        metavar="C",
        help='"git push --force|-f"; can be repeated',
    )
    match.add_argument("--path", action="append", metavar="GLOB", help="as in .gitignore; can be repeated")
    match.add_argument(
        "--tool", action="append", metavar="T", help="the program's name of its tool, such as Write"
    )
    match.add_argument("--text", metavar="RE2", help="a pattern for what is written, run or asked")
    unless = add.add_argument_group("it does not fire if one of these is true")
    unless.add_argument("--unless-ran", action="append", metavar="C", help="this command has succeeded")
    unless.add_argument("--within", metavar="TIME", help="how long that counts: 30m, 2h, 1d (1h)")
    unless.add_argument(
        "--unless-branch", action="append", metavar="B", help='the branch: "fix/*", or "!main" for all others'
    )
    unless.add_argument("--unless-role", action="append", metavar="R", help="the role of the agent's key")
    add.add_argument("--hold", action="store_true", help="decide without a server too")
    add.add_argument("--expires", metavar="WHEN", help="30d, 2027-12-31 or never (in a year)")
    return add


_ADD = """Add a rule to this repository's project, or with --all to every project.
  commonplace rule add no-prune --command "docker system|volume prune" --hold --say "Keep the volumes." --reason "Test data."
  commonplace rule add keys --on commit --text "BEGIN [A-Z ]*PRIVATE KEY" --say "Take the key out." --reason "Leaked once."
A command is a program, its subcommand and flags that must all be there; `|` separates alternatives, `*` is any text,
`...` any words. The command line is parsed: quotes, `sudo`, `env`, `bash -c`, aliases of git and the order do not matter."""


def _add_test(acts: Commands) -> CommandParser:
    test = acts.add_parser("test", help="say which rules would fire; exit code 1 if one prevents it")
    test.add_argument("line", nargs="?", metavar="COMMAND", help="a shell command, in quotes")
    test.add_argument("--file", metavar="PATH", help="an edit of this file")
    test.add_argument(
        "--text", metavar="TEXT", help="what the edit writes, the commit adds or the prompt says"
    )
    test.add_argument("--on", choices=_OCCASIONS, metavar="WHEN", help="the occasion, if it cannot be told")
    return test


def _add_remove(acts: Commands) -> CommandParser:
    remove = acts.add_parser("remove", help="remove a rule and its guideline")
    remove.add_argument("name", help="its name")
    return remove


def _add_from_denials(acts: Commands) -> CommandParser:
    proposals = acts.add_parser(
        "from-denials",
        help="propose rules from what people denied twice",
        description="Read the transcripts of this machine for commands and edits that a person denied at least twice,"
        " and print the rule that would ask from now on. Nothing is set or sent.",
    )
    proposals.add_argument("--days", type=int, default=30, metavar="N", help="how far back (30)")
    return proposals
