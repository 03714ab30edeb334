"""Every operation x role x project, on every surface: allowed exactly when declared, and a refusal changes nothing.

Generated from the catalogue. A surface is an async context manager that opens itself on a `Calls` and gives a
function `attempt(tool, arguments, key) -> code`; another one is one more entry of SURFACES.
"""

import contextlib
import itertools
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, get_args

import pytest

from commonplace import access, errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.identity import session as agent_session
from commonplace.masking.session_ids import hash_session_id
from commonplace.operation import Operation, OperationFamily
from commonplace.rooms.admin import store as keys
from commonplace.store.database import Tx
from commonplace.store.schema import project_tables
from commonplace.tool_schema import input_schema
from team import HandClock

pytestmark = pytest.mark.sqlite_only

OWN, FOREIGN = "shop", "bank"
ROLES: tuple[access.Role, ...] = get_args(access.Role)
EITHER = "either"
"""A key without projects may use what belongs to the server; what lives in the caller's own project has no place."""
REFUSED = frozenset({"forbidden", "session_not_found", "unauthenticated"})

_ENTER_PROJECT = (
    "insert into project (name, display_name, registered, ignore_case, created_at) values ($1, $1, 0, 0, $2)"
    " on conflict (name) do nothing"
)
_START_SESSION = (
    "insert into session (project, id, agent, agent_type, key_id, task, role_description, working_directory,"
    " spawned_by, tmux_target, started_at, active_at) values ($1, $2, 'ann', '', $3, '', '', '', '', '', $4, $4)"
)


@dataclass(frozen=True)
class Key:
    secret: str
    caller: access.Caller


Attempt = Callable[[str, dict[str, Any], Key], Awaitable[str]]


@contextlib.asynccontextmanager
async def through_the_path(calls: Calls) -> AsyncIterator[Attempt]:
    async def attempt(tool: str, arguments: dict[str, Any], key: Key) -> str:
        try:
            await calls.run(tool, arguments, key.caller)
        except errors.Refusal as refusal:
            return refusal.code
        return "ok"

    yield attempt


SURFACES = {"path": through_the_path}


UNWRAPPED = {"memory_call_operation"}
"""A call of it is one of the operation that it names, with that one's role and audit."""


def acts() -> Iterator[tuple[str, dict[str, str], Operation]]:
    """Each tool, or each act of a family, with the argument that picks it."""
    for tool in CATALOGUE.tools.values():
        if isinstance(tool, OperationFamily):
            yield from ((tool.name, {"action": action}, act) for action, act in tool.actions.items())
        elif tool.name not in UNWRAPPED:
            yield tool.name, {}, tool


ACTS = [
    pytest.param(name, picked, act, id=".".join([name, *picked.values()])) for name, picked, act in acts()
]


@dataclass(frozen=True)
class Case:
    """One way to call an operation; `expected` is the code of the refusal, or none if it is allowed."""

    what: str
    project: str
    key_project: str | None
    session: tuple[str, str] | None
    """Whose session is presented: (project, "own" key or "other" key)."""
    expected: str | None


def cases(act: Operation) -> Iterator[Case]:
    mine = (OWN, "own") if act.session else None
    yield Case("own project", OWN, OWN, mine, None)
    if act.session:
        yield Case("another key's session in the own project", OWN, OWN, (OWN, "other"), "session_not_found")
        yield Case("a session of a foreign project", OWN, OWN, (FOREIGN, "other"), "session_not_found")
        yield Case("own session, but the key lost the project", OWN, None, mine, "session_not_found")
    if names_project(act):
        yield Case("a foreign project", FOREIGN, OWN, mine, "forbidden")
    if act.session is True and act.takes_project:
        yield Case("nobody, in the own project", OWN, OWN, None, nobody_expects(act))
        yield Case("nobody, in a foreign project", FOREIGN, OWN, None, "forbidden")
    if act.session is not True:
        yield Case("no project", OWN, None, None, "forbidden" if names_project(act) else EITHER)


def nobody_expects(act: Operation) -> str | None:
    """Who has no session and no agent reads what is not private, and leaves no trace under no name."""
    return "session_not_found" if act.is_recorded else None


def names_project(act: Operation) -> bool:
    return act.takes_project or any(value in (OWN, [OWN]) for value in act.example.values())


def arguments(act: Operation, project: str) -> dict[str, Any]:
    """The operation's example, about this project; what it leaves out of the required is made up."""
    # A name of an agent belongs to the key that used it first, which is tested elsewhere.
    placed = {
        name: _placed(value, project) for name, value in act.example.items() if name != "claude_instance"
    }
    return _made_up(act) | placed | ({"project": project} if act.takes_project else {})


def _made_up(act: Operation) -> dict[str, Any]:
    schema = input_schema(act)
    return {
        name: _value(schema["properties"][name])
        for name in schema.get("required", ())
        if name != act.session_argument
    }


def _value(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return _value(schema["anyOf"][0])
    match schema.get("type", "string"):
        case "string":
            return "a" * max(12, schema.get("minLength", 0))
        case "integer":
            return schema.get("minimum", 1)
        case "array":
            return [_value(schema.get("items", {}))]
        case _:
            return {}


def _placed(value: Any, project: str) -> Any:
    if isinstance(value, list):
        return [_placed(each, project) for each in value]
    return project if value == OWN else value


class Stage:
    """A team with two projects and a key for every role, with the own project and with none."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self._keys: dict[tuple[str, str | None], Key] = {}
        self._tables: list[str] = []

    async def set_up(self) -> None:
        for role in ROLES:
            for project in (OWN, None):
                self._keys[role, project] = await self._key(role, project)
        self._other = {project: await self._key("owner", project) for project in (OWN, FOREIGN)}

    async def _key(self, role: access.Role, project: str | None) -> Key:
        secret, projects = secrets.token_hex(8), [project] if project else []
        caller = access.Caller(role, frozenset(projects), f"key_{secrets.token_hex(4)}")
        await self.calls.database.write(
            lambda tx: keys.insert_key(
                tx,
                caller.key,
                secret,
                name=secret,
                role=role,
                projects=projects,
                agent=None,
                agent_type=None,
                created_by="test",
                now=1,
                expires_at=None,
            )
        )
        return Key(secret, caller)

    async def present(self, act: Operation, case: Case, role: access.Role) -> tuple[Key, dict[str, str]]:
        """The key, and the session that is presented with it; fresh, for an act may end it."""
        key = self._keys[role, case.key_project]
        if case.session is None:
            return key, {}
        project, whose = case.session
        owner = key if whose == "own" else self._other[project]
        session_id = agent_session.mint_session_id(project, "ann")
        started = (project, hash_session_id(session_id), owner.caller.key, self.calls.clock())

        async def start(tx: Tx) -> None:
            await tx.run(_ENTER_PROJECT, project, self.calls.clock())
            await tx.run(_START_SESSION, *started)

        await self.calls.database.write(start)
        return key, {act.session_argument: session_id}

    async def rows(self, *tables: str) -> dict[str, list[str]]:
        """What is stored in these tables, or in all, table by table."""

        async def read(tx: Tx) -> dict[str, list[str]]:
            if not self._tables:
                self._tables = [*await project_tables(tx), "project", "api_key", "setting"]
            names = tables or self._tables
            if tx.kind == "sqlite":
                found = [
                    (table, str(dict(r))) for table in names for r in await tx.all(f"select * from {table}")
                ]
            else:
                # Four dozen tables in one round trip.
                each = (f"select '{name}' as name, cast(t as text) as row from {name} t" for name in names)
                found = [(row["name"], row["row"]) for row in await tx.all(" union all ".join(each))]
            rows: dict[str, list[str]] = {table: [] for table in names}
            for table, row in found:
                rows[table].append(row)
            return {table: sorted(rows[table]) for table in rows}

        return await self.calls.database.read(read)


PRESENTED = ("project", "session")
"""The tables that `Stage.present` writes."""
STORED_BEFORE = {"memory_ask_person"}
"""Their first step is an operation of its own, with a row of its own: a call that waits keeps nothing."""


@pytest.fixture
async def stage(database, clock):
    staged = Stage(Calls(database, CATALOGUE, Settings(auth="on"), clock))
    await staged.set_up()
    return staged


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize(("tool", "picked", "act"), ACTS)
@pytest.mark.slow
async def test_access_is_as_declared(
    stage: Stage, clock: HandClock, surface: str, tool: str, picked: dict[str, str], act: Operation
):
    wrong = []
    sent = {project: picked | arguments(act, project) for project in (OWN, FOREIGN)}
    async with SURFACES[surface](stage.calls) as attempt:
        after = await stage.rows()
        for case, role in itertools.product(cases(act), ROLES):
            clock.advance(seconds=1)
            key, session = await stage.present(act, case, role)
            before = after | await stage.rows(*PRESENTED)
            code = await attempt(tool, session | sent[case.project], key)
            after = await stage.rows()
            wrong += judged(case, key, act, code, before, after)
    assert wrong == []


def _count_audit_rows(act: Operation, code: str) -> tuple[int, ...]:
    rows = int(act.writes or code != "ok")
    return (rows, rows + 1) if act.name in STORED_BEFORE else (rows,)


def judged(case: Case, key: Key, act: Operation, code: str, before: dict, after: dict) -> list[str]:
    """What is not as declared."""
    where = f"{case.what} as {key.caller.role}"
    expected = case.expected if key.caller.has_role(act.role) else "forbidden"
    audited = len(after["audit"]) - len(before["audit"])
    changed = [name for name in after if name != "audit" and before[name] != after[name]]
    wrong = []
    if expected is None and code in REFUSED:
        wrong.append(f"{where}: refused with {code}")
    if expected not in {None, EITHER, code}:
        wrong.append(f"{where}: {code} instead of {expected}")
    if code in REFUSED and changed:
        wrong.append(f"{where}: refused, yet changed {changed}")
    if audited not in _count_audit_rows(act, code):
        wrong.append(f"{where}: {audited} audit rows after {code}")
    return wrong


def test_the_matrix_covers_every_tool_and_every_role():
    covered = {param.values[0] for param in ACTS}
    assert covered == set(CATALOGUE.tools) - UNWRAPPED
    assert set(ROLES) == set(access._INCLUDES)


HOLDERS = ("nobody", "this key", "another key", "a revoked token")
TOKEN_WORKSPACE = {"machine": "laptop", "tool": "codex", "project": OWN}


def gets_token(role: access.Role, holder: str) -> bool:
    """A sync key gets the write token of every workspace; others only one that no other key uses."""
    return role == "sync" or (role != "readonly" and holder != "another key")


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("role", ROLES)
async def test_write_token_of_a_workspace_is_given_as_declared(
    stage: Stage, role: access.Role, holder: str
) -> None:
    key, other = stage._keys[role, OWN], stage._other[OWN]
    register = {**TOKEN_WORKSPACE, "rotate": True}
    if holder == "this key" and role != "readonly":
        await stage.calls.run("register_workspace", register, key.caller)
    elif holder != "nobody":
        await stage.calls.run("register_workspace", register, other.caller)
    if holder == "a revoked token":
        revoke = {"action": "revoke_writer", "name": "laptop-codex-shop"}
        await stage.calls.run("memory_admin", revoke, other.caller)
    async with through_the_path(stage.calls) as attempt:
        before = await stage.rows()
        code = await attempt("register_workspace", register, key)
        after = await stage.rows()
        foreign = await attempt("register_workspace", {**register, "project": FOREIGN}, key)
    assert (code, foreign) == ("ok" if gets_token(role, holder) else "forbidden", "forbidden")
    assert (before["workspace_token"] != after["workspace_token"]) is gets_token(role, holder)
