"""Commands that run the server, and that back its data up and move it."""

from argparse import BooleanOptionalAction
from dataclasses import Field, fields
from typing import Any

from commonplace.cli.command import (
    DATA_FLAG,
    PORT_FLAG,
    SERVER_FLAGS,
    STORE_FLAG,
    Command,
    Flag,
    Flags,
    Group,
    Switch,
)
from commonplace.config import Settings


def _list_settings() -> Flags:
    """A flag for every setting that has a help text."""
    flags: list[Flag] = []
    oauth: list[Flag] = []
    for setting in fields(Settings):
        if text := setting.metadata.get("help"):
            name = setting.metadata.get("flag") or f"--{setting.name.replace('_', '-')}"
            (oauth if name.startswith("--oauth-") else flags).append(_build_flag(name, text, setting))
    return (*flags, Group("OAuth (needs --auth on; docs/guides/oauth.md)", *oauth))


def _build_flag(name: str, text: str, setting: Field[Any]) -> Flag:
    if setting.type is bool:
        return Switch(name, text, unset=None, dest=setting.name)
    number: dict[str, Any] = {"type": int, "metavar": "N"} if setting.type is int else {}
    given = {key: setting.metadata[key] for key in ("choices", "metavar") if setting.metadata.get(key)}
    return Flag(name, text, **number | given)


_ARCHIVES_FLAG = Flag(
    "--archives", "where the server keeps transcripts: store, DIR, s3://... (store)", metavar="PLACE"
)
_WEBHOOK_PROJECT = Flag("--project", "its project (default: every project)", metavar="P")

RUN_THE_SERVER = (
    Command(
        "up",
        "start everything and show a first answer",
        run="cli.up",
        flags=(
            Switch("--yes", "connect the agents without asking"),
            PORT_FLAG,
            DATA_FLAG,
            Switch("--no-browser", "do not open the page"),
            Switch("--no-transcripts", "do not read transcripts that are already here"),
            Flag("--question", "what to ask your own history first", metavar="TEXT"),
        ),
        text="""Start the server (or find it), open its page, find the agents on this machine and offer to connect them, read the
transcripts that they already wrote, and show a first answer from your own history.
  uvx commonplace-mcp up
Each step is also a command of its own: serve, install, sync run, search. `commonplace down` stops the server.""",
    ),
    Command(
        "down",
        "stop the server that runs on the data folder",
        run="cli.down",
        flags=(DATA_FLAG,),
        text="Stop the server of this data folder, however it was started. It finishes the calls that it has begun.",
    ),
    Command(
        "serve",
        "run the server",
        run="cli.serve",
        flags=_list_settings(),
        text="""Run the server. Nothing needs to be configured: data goes to a folder, in SQLite.
Every flag can also be set as COMMONPLACE_<FLAG> in the environment, e.g. COMMONPLACE_PORT=9000.""",
    ),
    Command(
        "service",
        "run the server from login on",
        run="cli.login_server",
        flags=(
            Flag("act", "", choices=("install", "status", "remove")),
            PORT_FLAG,
            DATA_FLAG,
            STORE_FLAG,
            Switch("--dry-run", "only show the unit and the commands"),
        ),
        text="""Let this machine's service manager run the server for you: a systemd user unit, a launchd agent, or a Windows task.
A server for a team: deploy/ has a hardened unit of the system, containers and proxies with TLS.
  commonplace service install --port 8080
  commonplace service status""",
    ),
    Command(
        "status",
        "show whether it runs, active sessions and locks; --watch: live",
        run="cli.status",
        flags=(
            Switch("--watch", "show agents, locks and who waits, until Ctrl-C"),
            Flag("--project", "with --watch: only this project (default: all)", metavar="P"),
            Flag(
                "--interval",
                "with --watch: seconds between updates (2)",
                type=float,
                metavar="S",
                default=2.0,
            ),
            *SERVER_FLAGS,
        ),
        text="""Show which server is used and why, its store, sessions, locks and projects; or watch the team live.
  commonplace status
  commonplace status --watch
  commonplace status --watch --project shop --interval 5
Without a terminal, --watch prints a frame whenever something changed. NO_COLOR switches colours off.""",
    ),
    Command(
        "doctor",
        "find problems, each with the command that fixes it",
        run="cli.doctor",
        flags=(
            Switch("--fix", "fix what is safe to fix"),
            Switch("--json", "print JSON, for monitoring"),
            Switch("--deep", "check every row, and read the whole SQLite file for damage"),
            *SERVER_FLAGS,
        ),
        text="""Look at this machine and at its server, and say in words what is wrong and which command fixes it: program and
name clashes, server and version, key, clock, agents and whether their hooks run, guard, uploads, file modes; and, with
an admin's key or on the server's machine: disk, database, log, integrity, search, backups, keys.
Exit code: 0 all is well, 1 there are warnings, 2 there are problems.""",
    ),
    Command(
        "key",
        "create, list and revoke keys",
        run="cli.key",
        acts=(
            Command(
                "create",
                "create a key; it is shown once",
                flags=(
                    Flag("--name", "the key's name, such as its owner", required=True),
                    Flag(
                        "--role", "", choices=("readonly", "agent", "admin", "owner", "sync"), default="agent"
                    ),
                    Flag(
                        "--projects",
                        "projects it can use; '*' = all (admin, owner: all that you can use; else none)",
                        nargs="*",
                        metavar="P",
                    ),
                    Flag("--machines", "write only to workspaces of these machines", nargs="*", metavar="M"),
                    Flag("--workspaces", "write only to these workspaces", nargs="*", metavar="W"),
                    Flag("--agent", "bind it to one agent name"),
                    Flag("--expires-in-days", "", type=int, metavar="N"),
                    Switch(
                        "--person",
                        "a person's key: it may answer what agents ask of people (admin, owner: always)",
                    ),
                    *SERVER_FLAGS,
                ),
            ),
            Command("list", "list keys, without their secrets", flags=(*SERVER_FLAGS,)),
            Command("revoke", "revoke a key at once", flags=(Flag("name", "its name or id"), *SERVER_FLAGS)),
            Command(
                "readmit",
                "undo the revocation of a person who signs in with OAuth",
                flags=(Flag("name", "the id that `key list` shows: oauth_..."), *SERVER_FLAGS),
            ),
            Command(
                "revoke-writer",
                "revoke a workspace's write token, or an agent's access, at once",
                flags=(
                    Flag("name", "the workspace's id"),
                    Flag("--agent", "this agent instead of the write token"),
                    *SERVER_FLAGS,
                ),
            ),
        ),
    ),
    Command(
        "webhook",
        "send who waits for a person to Slack, ntfy or another address",
        run="cli.webhook",
        text="""Send what waits for a person, or a daily standup, to an address. The server sends it, and tries again when it fails.
  echo https://hooks.slack.com/services/... | commonplace webhook add slack --project shop
  echo https://ntfy.sh/my-topic | commonplace webhook add ntfy --on needs_you digest --hour 7
  commonplace webhook test hook_1f2e --project shop
Only https to public addresses, unless the server runs with --webhooks private.""",
        acts=(
            Command(
                "add",
                "add one; its address is read from standard input",
                flags=(
                    Flag("kind", "the form of the messages", choices=("slack", "ntfy", "json")),
                    Flag(
                        "--on",
                        "what to send",
                        choices=("needs_you", "digest"),
                        nargs="+",
                        default=["needs_you"],
                    ),
                    Flag("--token-file", "a file with a bearer token, such as ntfy's", metavar="F"),
                    Flag(
                        "--delay",
                        "send what still waits after this time (20)",
                        type=int,
                        metavar="S",
                        default=20,
                    ),
                    Flag("--hour", "the hour of the digest, in UTC (7)", type=int, metavar="H", default=7),
                    _WEBHOOK_PROJECT,
                    *SERVER_FLAGS,
                ),
            ),
            Command("list", "list them, without their addresses", flags=(_WEBHOOK_PROJECT, *SERVER_FLAGS)),
            Command("remove", "remove one", flags=(Flag("id", "its id"), _WEBHOOK_PROJECT, *SERVER_FLAGS)),
            Command(
                "test", "send a test message", flags=(Flag("id", "its id"), _WEBHOOK_PROJECT, *SERVER_FLAGS)
            ),
        ),
    ),
    Command(
        "audit",
        "verify that the audit log is complete and unchanged",
        run="cli.audit",
        acts=(
            Command(
                "verify",
                "compare every audit row with its seal",
                flags=(
                    Flag("--project", "only this project (all)"),
                    Flag("--heads", "what `audit heads` printed earlier", metavar="FILE"),
                    *SERVER_FLAGS,
                ),
                text="""Find audit rows that were changed, removed, moved or added later, and name them. Exit code 1 if there are any.
  commonplace audit verify
  commonplace audit heads > heads.txt        keep it on another machine; later:
  commonplace audit verify --heads heads.txt also finds a chain that was replaced or cut off as a whole""",
            ),
            Command(
                "heads",
                "print the newest seal of every project, to be kept elsewhere",
                flags=(*SERVER_FLAGS,),
            ),
        ),
    ),
    Command(
        "retention",
        "delete what is older than the settings allow, or show what would go",
        run="cli.retention",
        flags=(Switch("--dry-run", "only count what would go"), *SERVER_FLAGS),
        text="""Delete old rows now, in small batches beside the other work; a server does it by itself every hour.
The ages are settings of the server, in days: COMMONPLACE_AUDIT_DAYS (90), COMMONPLACE_EVENT_DAYS (7),
COMMONPLACE_MESSAGE_DAYS (30), COMMONPLACE_SESSION_DAYS (90), COMMONPLACE_WORK_DAYS (14),
COMMONPLACE_FUNCTION_DAYS (30), COMMONPLACE_NOTICE_DAYS (7). Documents, backlog items, specs and unread mail stay.
  commonplace retention --dry-run""",
    ),
    Command(
        "admin",
        "change how the data is stored",
        acts=(
            Command(
                "distribute",
                "spread a PostgreSQL database over the nodes of Citus",
                run="cli.admin",
                flags=(
                    Flag("--store", "postgresql://user@coordinator/database", metavar="STORE"),
                    Switch("--dry-run", "only show what would be done"),
                    Switch("--yes", "do not ask"),
                ),
                text="""Distribute the tables of a new or an existing database over the nodes of a Citus cluster, with their rows.
A table cannot be written while its rows move, so stop the servers first. An interrupted run goes on where it
stopped when the command is run again; docs/scale.md has the steps before and after.
  commonplace admin distribute --store postgresql://commonplace@coordinator/commonplace --dry-run""",
            ),
            Command(
                "migrate",
                "bring a database to the schema of this version, or show what that would do",
                run="cli.migrate",
                flags=(
                    DATA_FLAG,
                    STORE_FLAG,
                    Switch("--dry-run", "only show what would run"),
                    Switch("--yes", "also run what changes data"),
                    Switch("--without-copy", "SQLite: do not copy the database before data is changed"),
                ),
                text="""A server adds tables, columns and indexes by itself when it starts. What changes data it runs on SQLite after it
copied the database (commonplace.db.before-schema-N-TIME, the last two stay), and on PostgreSQL only with --yes, here
or of `serve`. Back up first. PostgreSQL builds indexes beside the other work; an interrupted run goes on.
  commonplace admin migrate --store postgresql://user@host/database --dry-run
  commonplace admin migrate --store postgresql://user@host/database --yes""",
            ),
        ),
    ),
)

BACK_UP_AND_MOVE = (
    Command(
        "backup",
        "write everything into one verified file, while the server runs",
        run="cli.backup",
        flags=(
            Flag("file", "the file to write, such as team.tar.zst", nargs="?", metavar="FILE"),
            Flag("--to", "write into this folder, under a name with the time", metavar="DIR"),
            Flag("--keep", "with --to: delete all but the newest N backups", type=int, metavar="N"),
            Flag(
                "--verify, --no-verify",
                "restore it into a scratch store and compare every row (default: files up to 256 MB)",
                action=BooleanOptionalAction,
            ),
            DATA_FLAG,
            STORE_FLAG,
            _ARCHIVES_FLAG,
            Flag(
                "--without-archives",
                "leave out transcripts that are stored in a folder or in S3",
                action="store_false",
                dest="with_archives",
            ),
        ),
        text="""Write every row, and the archives, of a store into one file: consistent, while the server runs.
The file is restored into a scratch store and compared before it gets its name. It contains digests of keys and
the texts of all projects, so only its owner can read it.
  commonplace backup team.tar.zst
  commonplace backup --to /var/backups/commonplace --keep 14       for a timer
  commonplace backup team.tar.zst --store postgresql://user@host/database""",
    ),
    Command(
        "restore",
        "put a backup in the place of the data; the old data is kept",
        run="cli.restore",
        flags=(
            Flag("file", "a backup, or the folder of an export", metavar="FILE"),
            Switch("--yes", "do not ask"),
            DATA_FLAG,
            STORE_FLAG,
            _ARCHIVES_FLAG,
        ),
        text="""Check a backup, load it beside the data, compare every row, then put it in the data's place.
Stop the server first. The old database stays as commonplace.db.before-TIME (PostgreSQL: in a schema). A backup of
either store can be restored into the other one. Locks of the backup end, and new fencing tokens are higher than all
that were given before.
  commonplace restore team.tar.zst
  commonplace restore team.tar.zst --store postgresql://user@host/database --yes""",
    ),
    Command(
        "export",
        "write everything into a folder of JSON lines and Markdown",
        run="cli.export",
        flags=(Flag("folder", "a new folder", metavar="DIR"), DATA_FLAG, STORE_FLAG, _ARCHIVES_FLAG),
        text="""Write every row as JSON lines, with Markdown pages and transcripts for people. The format is that of a backup,
unpacked; docs/guides/backup.md describes it. Stop the server first if you move to another store.
  commonplace export team/
  commonplace import team/ --store postgresql://user@host/database""",
    ),
    Command(
        "import",
        "fill a new store from an export, or store notes that are already here",
        run="cli.imports",
        flags=(
            Flag(
                "path",
                "an export or a backup; or Markdown, or the store of another memory server",
                nargs="?",
                metavar="PATH",
            ),
            Switch("--notes", "notes of agents: CLAUDE.md, AGENTS.md, memories, rules of editors"),
            Switch("--git", "with --notes: commit messages that explain themselves"),
            Switch(
                "--everything",
                "transcripts; and for each repository that they name its memories, --git and known stores",
            ),
            Switch("--yes", "with --everything: do not ask"),
            Flag(
                "--project",
                "the project of all notes (the one that their store names, else this repository's)",
            ),
            Switch("--dry-run", "only show which notes would be stored"),
            Flag("--url", "the server that stores the notes (as for other commands)"),
            DATA_FLAG,
            STORE_FLAG,
            _ARCHIVES_FLAG,
        ),
        text="""Fill an empty store from an export or a backup of either store: ids, versions, tokens, counters and transcripts
stay the same. Between SQLite and PostgreSQL, vectors are computed again in the background.
  commonplace import team/ --data /srv/commonplace
  commonplace import team.tar.zst --store postgresql://user@host/database
Or store what is already written down on this machine as documents. Each says where it is from and has the tag
`import`; a second run stores nothing twice, and the report says what was left out and why.
  commonplace import --everything --dry-run
  commonplace import ~/vault --project shop
--everything also sends the transcripts on this machine, as `commonplace sync run` does.""",
    ),
    Command(
        "scrub",
        "remove a secret that slipped in, everywhere it went",
        run="cli.scrub",
        flags=(Switch("--yes", "remove it; without this it is only looked for"), *SERVER_FLAGS),
        text="""Look for a secret in every project, and with --yes remove it: documents and their versions, mail, backlog, events,
the search index, archived transcripts, the audit log (with a redaction record) and the files of the client side on
this machine. The secret is read from standard input or asked for; never write it on a command line.
  commonplace scrub                          look, and list where it is
  pass show old-token | commonplace scrub --yes""",
    ),
)
