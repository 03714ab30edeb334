"""The flags and help of `doctor`."""

from commonplace.client.commands.command_flags import Commands, RawHelp, add_store_flags, run_lazily


def add_doctor(commands: Commands) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="find problems, each with the command that fixes it",
        description=_DOCTOR,
        formatter_class=RawHelp,
    )
    doctor.add_argument("--fix", action="store_true", help="fix what is safe to fix")
    doctor.add_argument("--json", action="store_true", help="print JSON, for monitoring")
    doctor.add_argument(
        "--deep", action="store_true", help="check every row, and read the whole SQLite file for damage"
    )
    add_store_flags(doctor)
    doctor.set_defaults(run=run_lazily("commonplace.cli.doctor"))


_DOCTOR = """Look at this machine and at its server, and say in words what is wrong and which command fixes it: program and
name clashes, server and version, key, clock, agents and whether their hooks run, guard, uploads, file modes; and, with
an admin's key or on the server's machine: disk, database, log, integrity, search, backups, keys.
Exit code: 0 all is well, 1 there are warnings, 2 there are problems."""
