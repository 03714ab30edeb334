"""Flags of `commonplace key`; `cli/key.py` runs it."""

from commonplace.client.commands.command_flags import Commands, add_store_flags, run_lazily


def add_key(commands: Commands) -> None:
    key = commands.add_parser("key", help="create, list and revoke keys")
    acts = key.add_subparsers(title="acts", metavar="ACT", required=True)
    create = acts.add_parser("create", help="create a key; it is shown once")
    create.add_argument("--name", required=True, help="the key's name, such as its owner")
    create.add_argument("--role", default="agent", choices=("readonly", "agent", "admin", "owner", "sync"))
    create.add_argument(
        "--projects",
        nargs="*",
        metavar="P",
        help="projects it can use; '*' = all (admin, owner: all that you can use; else none)",
    )
    create.add_argument(
        "--machines", nargs="*", metavar="M", help="write only to workspaces of these machines"
    )
    create.add_argument("--workspaces", nargs="*", metavar="W", help="write only to these workspaces")
    create.add_argument("--agent", help="bind it to one agent name")
    create.add_argument("--expires-in-days", type=int, metavar="N")
    create.add_argument(
        "--person",
        action="store_true",
        default=None,
        help="a person's key: it may answer what agents ask of people (admin, owner: always)",
    )
    acts.add_parser("list", help="list keys, without their secrets")
    revoke = acts.add_parser("revoke", help="revoke a key at once")
    revoke.add_argument("name", help="its name or id")
    readmit = acts.add_parser("readmit", help="undo the revocation of a person who signs in with OAuth")
    readmit.add_argument("name", help="the id that `key list` shows: oauth_...")
    writer = acts.add_parser(
        "revoke-writer", help="revoke a workspace's write token, or an agent's access, at once"
    )
    writer.add_argument("name", help="the workspace's id")
    writer.add_argument("--agent", help="this agent instead of the write token")
    named = {
        "create": "create_key",
        "list": "list_keys",
        "revoke": "revoke_key",
        "readmit": "readmit",
        "revoke-writer": "revoke_writer",
    }
    for name, act in acts.choices.items():
        add_store_flags(act)
        act.set_defaults(run=run_lazily("commonplace.cli.key"), action=named[name])
