"""The flags and help of `commonplace admin`."""

from commonplace.client.commands.command_flags import Commands, RawHelp, run_lazily


def add_admin(commands: Commands) -> None:
    admin = commands.add_parser("admin", help="change how the data is stored")
    acts = admin.add_subparsers(title="acts", metavar="ACT", required=True)
    distribute = acts.add_parser(
        "distribute",
        help="spread a PostgreSQL database over the nodes of Citus",
        description=_DISTRIBUTE,
        formatter_class=RawHelp,
    )
    distribute.add_argument("--store", metavar="STORE", help="postgresql://user@coordinator/database")
    distribute.add_argument("--dry-run", action="store_true", help="only show what would be done")
    distribute.add_argument("--yes", action="store_true", help="do not ask")
    distribute.set_defaults(run=run_lazily("commonplace.cli.admin"))
    _add_migrate(acts)


_DISTRIBUTE = """Distribute the tables of a new or an existing database over the nodes of a Citus cluster, with their rows.
A table cannot be written while its rows move, so stop the servers first. An interrupted run goes on where it
stopped when the command is run again; docs/scale.md has the steps before and after.
  commonplace admin distribute --store postgresql://commonplace@coordinator/commonplace --dry-run"""


def _add_migrate(acts: Commands) -> None:
    migrate = acts.add_parser(
        "migrate",
        help="bring a database to the schema of this version, or show what that would do",
        description=_MIGRATE,
        formatter_class=RawHelp,
    )
    migrate.add_argument("--data", metavar="DIR", help="data folder (the platform's user data folder)")
    migrate.add_argument(
        "--store", metavar="STORE", help="sqlite, or postgresql://user@host/database (sqlite)"
    )
    migrate.add_argument("--dry-run", action="store_true", help="only show what would run")
    migrate.add_argument("--yes", action="store_true", help="also run what changes data")
    migrate.add_argument(
        "--without-copy", action="store_true", help="SQLite: do not copy the database before data is changed"
    )
    migrate.set_defaults(run=run_lazily("commonplace.cli.migrate"))


_MIGRATE = """A server adds tables, columns and indexes by itself when it starts. What changes data it runs on SQLite after it
copied the database (commonplace.db.before-schema-N-TIME, the last two stay), and on PostgreSQL only with --yes, here
or of `serve`. Back up first. PostgreSQL builds indexes beside the other work; an interrupted run goes on.
  commonplace admin migrate --store postgresql://user@host/database --dry-run
  commonplace admin migrate --store postgresql://user@host/database --yes"""
