"""Commands for people: what they ask the server, and what they do with transcripts and code."""

import math

from commonplace.cli.command import PROJECT_FLAGS, SERVER_FLAGS, Command, Flag, Flags, Group, OneOf, Switch

_FILTERS: Flags = (
    Flag("--status", "open, in_progress, done, ...", metavar="S"),
    Flag("--tag", "only tasks with this tag", metavar="T"),
    Switch("--mine", "only your own tasks"),
    Switch("--ready", "only what can be started now"),
    Switch("--done", "also completed tasks"),
    Flag("--limit", "how many results (30)", type=int, metavar="N", default=30),
)
_ITEM_FLAGS: Flags = (
    Flag("--priority", "critical, high, medium or low", metavar="P"),
    Flag("--assigned-to", "the agent that it is for", metavar="A"),
    Flag("--milestone", "its milestone", metavar="M"),
)
_FUNCTIONS_PROJECT = Flag("--project", "the project of the functions", required=True)
CALL_TEXT = """Run one operation on the server that this machine uses (`commonplace status` shows it), or directly on the data folder.
  commonplace call memory_start_session --project shop --claude-instance ann
  commonplace call memory_query --session-id ID --query "idle connections" --tags db pool
  echo '{"project": "shop"}' | commonplace call memory_start_session --json -
Use another server with --url URL, or COMMONPLACE_URL, and its key in COMMONPLACE_KEY."""
_OCCASIONS = ("edit", "command", "commit", "prompt", "stop")

ASK_THE_SERVER = (
    Command(
        "open",
        "open the web page, signed in",
        run="cli.open_page",
        flags=(Switch("--print", "print the link without opening a browser"), *SERVER_FLAGS),
        text="""Print a link that signs one browser in to the web page, once, and open it where there is a display.
You act with the role and the projects of your key (COMMONPLACE_KEY or config.toml); on the server's own machine
without a key, as its operator.
  commonplace open
  commonplace open --url https://memory.example.org""",
    ),
    Command(
        "search",
        "find what the team knows, by words and meaning",
        run="client.people.search",
        calls=True,
        flags=(
            Flag("query", "what to look for"),
            Flag("--type", "only these types: learning, decision, architecture, ...", nargs="+", metavar="T"),
            Flag("--limit", "how many results (10)", type=int, metavar="N", default=10),
            *PROJECT_FLAGS,
        ),
        text="""Search the knowledge of this repository's project, or of every project outside of a repository.
  commonplace search "connection dropped when idle"
  commonplace search deploy --type learning decision --limit 5
  commonplace search "rate limit" --all
  commonplace search deploy --json | jq -r '.results[].id'
Open a result with `commonplace show ID`.""",
    ),
    Command(
        "show",
        "open a document, message or task by its id",
        run="client.people.search:run_show",
        calls=True,
        flags=(Flag("id", "an id from search, inbox or backlog"), *PROJECT_FLAGS),
        text="""Print what an id stands for: a document, a message, a task, a spec or a function.
  commonplace show doc_4d0985a981a1""",
    ),
    Command(
        "who",
        "show who works on what, with leases and claims",
        run="client.people.who",
        calls=True,
        flags=(Switch("--idle", "also agents without a live session"), *PROJECT_FLAGS),
        text="""List the agents that work now: status, task, leased files and claimed tasks.
  commonplace who
  commonplace who --all
  commonplace who --json | jq -r '.agents[] | select(.locks != []) | .agent'""",
    ),
    Command(
        "inbox",
        "read mail, without marking it as read",
        run="client.people.inbox",
        calls=True,
        flags=(
            OneOf(
                Flag(
                    "--agent",
                    "whose mail (default: your key's agent, COMMONPLACE_AGENT, your login)",
                    metavar="A",
                ),
                Switch("--mark-read", "mark your own mail as read"),
            ),
            Switch("--read", "also mail that was read already"),
            Flag("--limit", "how many results (20)", type=int, metavar="N", default=20),
            *PROJECT_FLAGS,
        ),
        text="""Print the unread mail of an agent or your own, urgent first. It stays unread unless you pass --mark-read.
Mail of others needs the key of that agent or of an admin.
  commonplace inbox --agent backend
  commonplace inbox --mark-read""",
    ),
    Command(
        "answer",
        "answer agents that wait for a person",
        run="client.people.answer",
        later_words="answer",
        calls=True,
        flags=(
            Flag("id", "the request, or the start of its id; without it, all that wait", nargs="?"),
            Flag("answer", "allow or deny, or the answer to each question", nargs="*"),
            Flag("--note", "a text for the agent, such as the reason of a denial", metavar="TEXT"),
            *PROJECT_FLAGS,
        ),
        text="""Show what agents and their programs wait for, and answer it: permissions, questions and plans.
  commonplace answer                                 one after the other, in a terminal
  commonplace answer req_1f2e allow
  commonplace answer req_1f2e deny --note "not on Fridays"
  commonplace answer req_77ab "per line"
Only people answer: it does not run in an agent's shell.""",
    ),
    Command(
        "backlog",
        "list, add and complete tasks",
        run="client.people.backlog",
        default_act="list",
        calls=True,
        flags=(*_FILTERS, *_ITEM_FLAGS, *PROJECT_FLAGS),
        text="""List the open tasks of this repository's project by priority, add one, or complete one.
  commonplace backlog --ready
  commonplace backlog --assigned-to backend --status in_progress
  commonplace backlog add "Cart loses items on reload" --priority high
  commonplace backlog done backlog_c0055dfce420 --resolution fixed""",
        acts=(
            Command("list", "list tasks (the default)", flags=(*_FILTERS, *_ITEM_FLAGS, *PROJECT_FLAGS)),
            Command(
                "add",
                "add a task",
                flags=(
                    Flag("title", "what is to be done"),
                    Flag("--description", "more about it", metavar="TEXT"),
                    Flag("--tag", "a tag; can be repeated", action="append", dest="tags", metavar="T"),
                    Flag("--depends-on", "tasks that must be done first", nargs="+", metavar="ID"),
                    *_ITEM_FLAGS,
                    *PROJECT_FLAGS,
                ),
            ),
            Command(
                "done",
                "complete a task",
                flags=(
                    Flag("id", "its id"),
                    Flag("--resolution", "how it was done", metavar="TEXT"),
                    Switch("--wont-do", "close it without doing it"),
                    *PROJECT_FLAGS,
                ),
            ),
        ),
    ),
    Command(
        "rule",
        "rules that hold: add, list, test, remove",
        run="client.people.rules",
        default_act="list",
        calls=True,
        flags=PROJECT_FLAGS,
        text="""Rules that the hooks of every agent program and the commit guard hold agents to (docs/guides/rules.md).
  commonplace rule add no-force --command "git push --force|-f" --say "Push without --force." --reason "History was lost."
  commonplace rule add migrations --on edit command --path "db/migrations/**" --say "Use make migration." --reason "Released."
  commonplace rule add tests --on stop --path "src/" --unless-ran "make test" --within 30m --say "Run make test." --reason "CI broke."
  commonplace rule add deploys --on prompt --text "(?i)deploy" --do inject --say "Deploys go through make release."
  commonplace rule test "git push -f"
  commonplace rule from-denials
Only a person, or a key with the role admin, sets a rule that denies or asks.""",
        acts=(
            Command("list", "list the rules (the default)", flags=PROJECT_FLAGS),
            Command(
                "add",
                "add or replace a rule",
                flags=(
                    Flag("name", "its name, which denials show"),
                    Flag(
                        "--say", "what the agent is told: what to do instead", required=True, metavar="TEXT"
                    ),
                    Flag(
                        "--on",
                        "edit, command, commit, prompt, stop (command with --command, else edit)",
                        choices=_OCCASIONS,
                        nargs="+",
                        metavar="WHEN",
                    ),
                    Flag(
                        "--do",
                        "what happens (deny)",
                        choices=("deny", "ask", "warn", "inject"),
                        default="deny",
                    ),
                    Flag("--reason", "why the rule exists; needed for deny and ask", metavar="TEXT"),
                    Group(
                        "it fires when all of these match",
                        Flag(
                            "--command",
                            '"git push --force|-f"; can be repeated',
                            action="append",
                            metavar="C",
                        ),
                        Flag("--path", "as in .gitignore; can be repeated", action="append", metavar="GLOB"),
                        Flag(
                            "--tool",
                            "the program's name of its tool, such as Write",
                            action="append",
                            metavar="T",
                        ),
                        Flag("--text", "a pattern for what is written, run or asked", metavar="RE2"),
                    ),
                    Group(
                        "it does not fire if one of these is true",
                        Flag("--unless-ran", "this command has succeeded", action="append", metavar="C"),
                        Flag("--within", "how long that counts: 30m, 2h, 1d (1h)", metavar="TIME"),
                        Flag(
                            "--unless-branch",
                            'the branch: "fix/*", or "!main" for all others',
                            action="append",
                            metavar="B",
                        ),
                        Flag("--unless-role", "the role of the agent's key", action="append", metavar="R"),
                    ),
                    Switch("--hold", "decide without a server too"),
                    Flag("--expires", "30d, 2027-12-31 or never (in a year)", metavar="WHEN"),
                    *PROJECT_FLAGS,
                ),
                text="""Add a rule to this repository's project, or with --all to every project.
  commonplace rule add no-prune --command "docker system|volume prune" --hold --say "Keep the volumes." --reason "Test data."
  commonplace rule add keys --on commit --text "BEGIN [A-Z ]*PRIVATE KEY" --say "Take the key out." --reason "Leaked once."
A command is a program, its subcommand and flags that must all be there; `|` separates alternatives, `*` is any text,
`...` any words. The command line is parsed: quotes, `sudo`, `env`, `bash -c`, aliases of git and the order do not matter.""",
            ),
            Command(
                "test",
                "say which rules would fire; exit code 1 if one prevents it",
                flags=(
                    Flag("line", "a shell command, in quotes", nargs="?", metavar="COMMAND"),
                    Flag("--file", "an edit of this file", metavar="PATH"),
                    Flag(
                        "--text", "what the edit writes, the commit adds or the prompt says", metavar="TEXT"
                    ),
                    Flag(
                        "--on",
                        "the occasion, if it cannot be told",
                        choices=_OCCASIONS,
                        metavar="WHEN",
                    ),
                    *PROJECT_FLAGS,
                ),
            ),
            Command(
                "remove", "remove a rule and its guideline", flags=(Flag("name", "its name"), *PROJECT_FLAGS)
            ),
            Command(
                "from-denials",
                "propose rules from what people denied twice",
                flags=(
                    Flag("--days", "how far back (30)", type=int, metavar="N", default=30),
                    *PROJECT_FLAGS,
                ),
                text="Read the transcripts of this machine for commands and edits that a person denied at least twice, and print the rule that would ask from now on. Nothing is set or sent.",
            ),
        ),
    ),
    Command(
        "standup",
        "what was done, by whom, with what proof, what is open",
        run="client.people.standup",
        calls=True,
        flags=(
            Flag("--since", "a time (2026-01-15T08:00), or 30m, 8h, 2d ago (default: 24h)", metavar="T"),
            *PROJECT_FLAGS,
        ),
        text="""Print what was done since a time, by whom, with what proof, and what is open, as Markdown to paste.
  commonplace standup
  commonplace standup --since 8h --all
Commits and test results in brackets are those that an agent named; "Seen" is what its hooks saw.""",
    ),
    Command(
        "how",
        "how something is run here: commands that worked in earlier sessions",
        run="client.people.known_commands:print_how",
        calls=True,
        flags=(Flag("words", "what to run, such as pytest", nargs="+"), *PROJECT_FLAGS),
        text="""Print invocations that worked in sessions of this project: where, how often, when. Commands that delete, push,
publish or change permissions are never among them.
  commonplace how pytest
  commonplace how run the tests""",
    ),
    Command(
        "fix",
        "what overcame an error here in an earlier session",
        run="client.people.known_commands:print_fixes",
        calls=True,
        flags=(Flag("words", "the error's message", nargs="+"), *PROJECT_FLAGS),
        text="""Print what was done after this error when it did not come back in that session.
  commonplace fix 'ModuleNotFoundError: No module named shop'""",
    ),
    Command(
        "call",
        "run one operation",
        run="cli.call",
        has_help=False,
        flags=(
            Switch("-h, --help", "list the operations, or show the flags of one"),
            Flag("operation", "its name (default: list all)", nargs="?"),
            Flag("rest", "its arguments as flags; OPERATION --help shows them", nargs="..."),
        ),
        text=CALL_TEXT,
    ),
)

TRANSCRIPTS_AND_CODE = (
    Command(
        "sync",
        "upload transcripts and tracked files",
        run="client.commands.sync",
        default_act="run",
        flags=(
            Switch("--dry-run", "only show what would be sent"),
            Switch("--raw", "do not mask secrets"),
            Switch("--spool", "send only what hooks have spooled"),
            Flag(
                "--seconds",
                "after N seconds send the rest in the background",
                type=float,
                metavar="N",
                default=math.inf,
            ),
        ),
        text="""Upload new lines of every agent's transcripts, and tracked files, to this machine's workspaces.
Secrets are masked first. Each run continues where the last one stopped; if no server answers, the next run sends it.
  commonplace sync test
  commonplace sync --dry-run
  commonplace sync init-manifest --tool claude-code --project shop --cwd ~/shop""",
        acts=(
            Command(
                "run",
                "upload what changed (the default)",
                flags=(
                    Switch("--dry-run", "only show what would be sent"),
                    Switch("--raw", "do not mask secrets"),
                    Switch("--spool", "send only what hooks have spooled"),
                    Flag(
                        "--seconds",
                        "after N seconds send the rest in the background",
                        type=float,
                        metavar="N",
                        default=math.inf,
                    ),
                ),
            ),
            Command("test", "check address, token, clock and permissions"),
            Command(
                "init-manifest",
                "create a manifest of tracked files",
                flags=(
                    Flag(
                        "--tool",
                        "the agent: claude-code, codex, gemini-cli, cursor, opencode, copilot-cli, qwen-code, goose or another",
                        required=True,
                    ),
                    Flag("--project", "", required=True),
                    Flag("--cwd", "the folder that the agent works in", required=True, metavar="DIR"),
                ),
            ),
            Command(
                "hook",
                "for an agent's hook: spool its transcript and return",
                flags=(
                    Flag("--tool", "the agent, if the transcript's folder does not identify it"),
                    Flag("event", "the hook's JSON (default: standard input)", nargs="?"),
                ),
            ),
        ),
    ),
    Command(
        "vault",
        "keep a folder of Markdown in step with documents",
        run="client.commands.vault",
        calls=True,
        flags=(
            Flag("path", "the folder, or one Markdown file", metavar="PATH"),
            Flag("--project", "the project of the documents (this repository's)"),
            Flag("--tag", "write files only for documents with this tag, and give it to new ones"),
            Switch("--watch", "go on until the command is stopped"),
            Flag("--interval", "how often --watch looks (5)", type=float, metavar="SECONDS", default=5.0),
            Switch("--restore", "write files again that were deleted"),
            Switch("--dry-run", "only show what would change"),
            *SERVER_FLAGS,
        ),
        text="""Keep a folder of Markdown, such as an Obsidian vault, in step with the documents of a project, in both directions.
A changed file becomes another version of its document, a changed document rewrites its file. If both changed, both are
kept; what was deleted on one side stays on the other.
  commonplace vault ~/vault --project shop --dry-run
  commonplace vault ~/vault --project shop --watch
  commonplace vault MEMORY.md --project shop""",
    ),
    Command(
        "librarian",
        "keep the function registry in step with the source",
        run="cli.librarian",
        acts=(
            Command(
                "scan",
                "read a source tree and register its functions",
                flags=(
                    Switch("--dry-run", "only show what would change"),
                    Flag("path", "folder of the sources; .gitignore is respected"),
                    Flag("--prefix", "the tree's folder in the project", metavar="DIR", default=""),
                    _FUNCTIONS_PROJECT,
                    *SERVER_FLAGS,
                ),
            ),
            Command(
                "watch",
                "scan, then scan again whenever a file changes",
                flags=(
                    Flag("path", "folder of the sources; .gitignore is respected"),
                    Flag("--prefix", "the tree's folder in the project", metavar="DIR", default=""),
                    _FUNCTIONS_PROJECT,
                    *SERVER_FLAGS,
                ),
            ),
            Command(
                "enrich",
                "have a model describe undescribed functions",
                flags=(
                    Flag("--model", "the model; code is sent there", required=True, metavar="URL#NAME"),
                    Flag(
                        "--budget",
                        "maximum number of tokens to use (100000)",
                        type=int,
                        metavar="TOKENS",
                        default=100000,
                    ),
                    Flag("--price", "prices per million tokens", type=float, nargs=2, metavar=("IN", "OUT")),
                    Switch("--dry-run", "only show the cost; nothing is sent"),
                    _FUNCTIONS_PROJECT,
                    *SERVER_FLAGS,
                ),
                text="""Send the source of functions without a description to a model and store its summaries.
  commonplace librarian enrich --project shop --model http://127.0.0.1:11434/v1#qwen3 --dry-run
  commonplace librarian enrich --project shop --model anthropic#MODEL --budget 200000 --price 1 5
The key is COMMONPLACE_LIBRARIAN_KEY or ANTHROPIC_API_KEY in the environment.""",
            ),
        ),
    ),
    Command(
        "verify",
        "compare the citations of documents with a checkout",
        run="client.commands.verify",
        calls=True,
        flags=(
            Flag("path", "the checkout"),
            Flag("--project", "the project of the documents", required=True),
            Switch("--lines", "also send the cited lines, for the web page to show what changed"),
            *SERVER_FLAGS,
        ),
        text="""Check every path, path:line, path:first-last and path#symbol that the project's documents cite, and report to the
server whether it is fresh, drifted or gone; search results then show it. What cannot be checked (too large, outside of
the checkout, a web address) is unchecked. Only hashes leave this machine; with --lines also the cited lines (60 of each
place at most, secrets masked), so that the web page shows them as they were beside what they are now.
  commonplace verify . --project shop""",
    ),
    Command(
        "distill",
        "have a model summarize a closed blackboard",
        run="client.commands.distill",
        calls=True,
        flags=(
            Flag("session", "the blackboard: session_..."),
            Flag("--project", "the project of the draft", required=True),
            Flag("--model", "the model; the record is sent there", required=True, metavar="URL#NAME"),
            Flag("--budget", "size of the record (20000)", type=int, metavar="TOKENS", default=20000),
            Switch("--dry-run", "only show what would be sent"),
            *SERVER_FLAGS,
        ),
        text="""Send the public record of a closed blackboard to a model and store its summary as a draft for review.
  commonplace distill session_0123456789abcdef --project shop --model http://127.0.0.1:11434/v1#qwen3
The key is COMMONPLACE_LIBRARIAN_KEY or ANTHROPIC_API_KEY in the environment.""",
    ),
)
