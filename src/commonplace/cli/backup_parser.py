"""The flags and help of `backup`, `restore`, `export`, `import` and `scrub`."""

import argparse

from commonplace.cli.scrub_parser import add_scrub_command
from commonplace.client.commands.command_flags import Commands, RawHelp, run_lazily


def add_backup_commands(commands: Commands) -> None:
    _add_backup(commands)
    _add_restore(commands)
    _add_export(commands)
    _add_import(commands)
    add_scrub_command(commands)


def _add_backup(commands: Commands) -> None:
    backup = commands.add_parser(
        "backup",
        help="write everything into one verified file, while the server runs",
        description=_BACKUP,
        formatter_class=RawHelp,
    )
    backup.add_argument("file", nargs="?", metavar="FILE", help="the file to write, such as team.tar.zst")
    backup.add_argument("--to", metavar="DIR", help="write into this folder, under a name with the time")
    backup.add_argument(
        "--keep", type=int, metavar="N", help="with --to: delete all but the newest N backups"
    )
    backup.add_argument(
        "--verify",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="restore it into a scratch store and compare every row (default: files up to 256 MB)",
    )
    _add_place_flags(backup)
    backup.add_argument(
        "--without-archives",
        dest="with_archives",
        action="store_false",
        help="leave out transcripts that are stored in a folder or in S3",
    )
    backup.set_defaults(run=run_lazily("commonplace.cli.backup"))


_BACKUP = """Write every row, and the archives, of a store into one file: consistent, while the server runs.
The file is restored into a scratch store and compared before it gets its name. It contains digests of keys and
the texts of all projects, so only its owner can read it.
  commonplace backup team.tar.zst
  commonplace backup --to /var/backups/commonplace --keep 14       for a timer
  commonplace backup team.tar.zst --store postgresql://user@host/database"""


def _add_restore(commands: Commands) -> None:
    restore = commands.add_parser(
        "restore",
        help="put a backup in the place of the data; the old data is kept",
        description=_RESTORE,
        formatter_class=RawHelp,
    )
    restore.add_argument("file", metavar="FILE", help="a backup, or the folder of an export")
    restore.add_argument("--yes", action="store_true", help="do not ask")
    _add_place_flags(restore)
    restore.set_defaults(run=run_lazily("commonplace.cli.restore"))


_RESTORE = """Check a backup, load it beside the data, compare every row, then put it in the data's place.
Stop the server first. The old database stays as commonplace.db.before-TIME (PostgreSQL: in a schema). A backup of
either store can be restored into the other one. Locks of the backup end, and new fencing tokens are higher than all
that were given before.
  commonplace restore team.tar.zst
  commonplace restore team.tar.zst --store postgresql://user@host/database --yes"""


def _add_export(commands: Commands) -> None:
    export = commands.add_parser(
        "export",
        help="write everything into a folder of JSON lines and Markdown",
        description=_EXPORT,
        formatter_class=RawHelp,
    )
    export.add_argument("folder", metavar="DIR", help="a new folder")
    _add_place_flags(export)
    export.set_defaults(run=run_lazily("commonplace.cli.export"))


_EXPORT = """Write every row as JSON lines, with Markdown pages and transcripts for people. The format is that of a backup,
unpacked; docs/guides/backup.md describes it. Stop the server first if you move to another store.
  commonplace export team/
  commonplace import team/ --store postgresql://user@host/database"""


def _add_import(commands: Commands) -> None:
    importing = commands.add_parser(
        "import",
        help="fill a new store from an export, or store notes that are already here",
        description=_IMPORT,
        formatter_class=RawHelp,
    )
    importing.add_argument(
        "path",
        nargs="?",
        metavar="PATH",
        help="an export or a backup; or Markdown, or the store of another memory server",
    )
    importing.add_argument(
        "--notes",
        action="store_true",
        help="notes of agents: CLAUDE.md, AGENTS.md, memories, rules of editors",
    )
    importing.add_argument(
        "--git", action="store_true", help="with --notes: commit messages that explain themselves"
    )
    importing.add_argument(
        "--everything",
        action="store_true",
        help="transcripts; and for each repository that they name --notes, --git and known stores",
    )
    importing.add_argument(
        "--project", help="the project of all notes (the one that their store names, else this repository's)"
    )
    importing.add_argument("--dry-run", action="store_true", help="only show which notes would be stored")
    importing.add_argument("--url", help="the server that stores the notes (as for other commands)")
    _add_place_flags(importing)
    importing.set_defaults(run=run_lazily("commonplace.cli.imports"))


_IMPORT = """Fill an empty store from an export or a backup of either store: ids, versions, tokens, counters and transcripts
stay the same. Between SQLite and PostgreSQL, vectors are computed again in the background.
  commonplace import team/ --data /srv/commonplace
  commonplace import team.tar.zst --store postgresql://user@host/database
Or store what is already written down on this machine as documents. Each says where it is from and has the tag
`import`; a second run stores nothing twice, and the report says what was left out and why.
  commonplace import --everything --dry-run
  commonplace import ~/vault --project shop
--everything also sends the transcripts on this machine, as `commonplace sync run` does."""


def _add_place_flags(command: argparse.ArgumentParser) -> None:
    command.add_argument("--data", metavar="DIR", help="data folder (the platform's user data folder)")
    command.add_argument(
        "--store", metavar="STORE", help="sqlite, or postgresql://user@host/database (sqlite)"
    )
    command.add_argument(
        "--archives", metavar="PLACE", help="where the server keeps transcripts: store, DIR, s3://... (store)"
    )
