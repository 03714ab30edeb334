"""One round: servers, agents that work, faults one after the other, and the checks at the end.

A round is repeated by its seed: agents and faults choose from it. How threads and processes interleave is up to the
machine, so a repeated round is the same load under the same faults, not the same run.
"""

import asyncio
import contextlib
import random
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import apsw
import asyncpg

from nemesis import checker, stored
from nemesis.history import Fault, History, read_time
from nemesis.http_calls import HttpCaller
from nemesis.servers import Launcher, ServerProcess
from nemesis.sqlite_faults import SqliteWorld
from nemesis.workload import SessionNotStartedError, Workload, WorkloadSettings
from patience import PATIENCE_SECONDS

CLOCK_ERROR_SECONDS = 1.0
"""What a sure hold is shortened by: a lease follows corrections of a clock, and jumps are told only so exactly."""


@dataclass
class RoundPlan:
    seed: int
    faults: Sequence[str]
    """Names of `World.list_faults`, in order."""
    settings: WorkloadSettings
    mutants: list[str] = field(default_factory=list)
    calm_seconds: float = 0.3
    """Between a recovery and the next fault."""
    operations_at_least: int = 0
    """Go on after the last fault until so many were acknowledged."""
    operations_between: int = 0
    """So many are acknowledged before each fault and after the last one."""
    recovery_limit_seconds: float = PATIENCE_SECONDS
    """A server that is not ready so long after a fault, or agents that get no answer, are a violation."""


@dataclass
class RoundResult:
    plan: RoundPlan
    history: History
    violations: list[str]
    kills: int

    @property
    def lease_operations(self) -> int:
        return sum(each.kind in ("lock", "unlock", "fenced") for each in self.history.operations)

    @property
    def slowest_recovery(self) -> float:
        return max((fault.recovery_seconds for fault in self.history.faults), default=0.0)

    def describe(self) -> str:
        history = self.history
        return (
            f"seed {self.plan.seed}: {len(history.operations)} operations ({history.count('ok')} ok,"
            f" {history.count('refused')} refused, {history.count('unknown')} unknown),"
            f" {self.lease_operations} of leases, {self.kills} kills, {len(history.faults)} faults,"
            f" {sum(each.resumes for each in history.followers)} resumed streams,"
            f" slowest recovery {self.slowest_recovery:.1f} s: "
            + ("ok" if not self.violations else f"{len(self.violations)} VIOLATIONS")
        )

    def require_none(self) -> None:
        if self.violations:
            raise AssertionError(
                f"{self.describe()}\n{checker.summarize(self.violations)}\n"
                f"Repeat it with NEMESIS_SEED={self.plan.seed}."
            )


class World(Protocol):
    servers: list[ServerProcess]
    kills: int

    def list_faults(self) -> dict[str, Callable[[], Any]]: ...


async def run_faults(world: World, workload: Workload, plan: RoundPlan) -> list[str]:
    """One fault after the other; after each, wait until every server is ready and agents get answers again.

    Returns what did not recover; the round ends there.
    """
    faults = world.list_faults()
    for name in plan.faults:
        await asyncio.sleep(plan.calm_seconds)
        if problems := await _wait_for_operations(workload, workload.acknowledged + plan.operations_between):
            return problems
        fault = Fault(name, read_time())
        workload.history.faults.append(fault)
        await faults[name]()
        fault.ended = read_time()
        try:
            async with asyncio.timeout(plan.recovery_limit_seconds):
                await _wait_for_recovery(world, workload)
        except (TimeoutError, RuntimeError) as failed:
            return [f"no recovery from {name} within {plan.recovery_limit_seconds:.0f} s. {failed}"]
        fault.recovered = read_time()
    return await _wait_for_operations(
        workload, max(plan.operations_at_least, workload.acknowledged + plan.operations_between)
    )


async def _wait_for_operations(workload: Workload, operations: int) -> list[str]:
    """Until so many were acknowledged, as long as there are more of them."""
    before, since = -1, read_time()
    while workload.acknowledged < operations:
        workload.require_agents_alive()
        if workload.acknowledged > before:
            before, since = workload.acknowledged, read_time()
        elif read_time() > since + PATIENCE_SECONDS:
            return [f"only {before} operations were acknowledged, the last {PATIENCE_SECONDS:.0f} s ago"]
        await asyncio.sleep(0.02)
    return []


async def _wait_for_recovery(world: World, workload: Workload) -> None:
    acknowledged = workload.acknowledged
    for server in world.servers:
        await server.wait_until_ready()
    while workload.acknowledged == acknowledged:
        workload.require_agents_alive()
        await asyncio.sleep(0.02)


async def run_on_sqlite(launcher: Launcher, plan: RoundPlan) -> RoundResult:
    with temporary_folder() as folder:
        data = folder / "data"
        server = ServerProcess(
            launcher, folder / "server", ["--data", str(data)], plan.settings.lease_seconds
        )
        server.notes_unsynced = "power cut" in plan.faults
        server.mutants = plan.mutants
        database = data / "commonplace.db"
        world = SqliteWorld(server, database, random.Random(f"{plan.seed} faults"))
        workload = Workload([server.port], plan.settings, plan.seed)
        try:
            server.start()
            await server.wait_until_ready()
            problems = await work_through(world, workload, plan, lambda: last_numbers_of_file(database))
            if problems:
                return RoundResult(plan, workload.history, problems, world.kills)
            problems = await verify_audit(server.port, plan.settings.projects)
            await server.stop()
            state = stored.read_sqlite(database, project_pattern(plan))
            problems += find_logged_errors(world)
        finally:
            server.close()
    return judge(world, workload, plan, state, problems)


async def work_through(
    world: World, workload: Workload, plan: RoundPlan, read_last: Callable[[], Any]
) -> list[str]:
    """Let the agents work under all faults, until followers have seen everything; return what did not recover."""
    try:
        await workload.start()
    except SessionNotStartedError as failed:
        return [f"no session: {failed}"]
    try:
        try:
            problems = await run_faults(world, workload, plan)
        finally:
            await workload.stop_agents()
        if not problems:
            await wait_for_followers(workload, await read_last())
    finally:
        await workload.stop_followers()
    return problems


def _shorten_trace(line: str) -> str:
    """The end of a traceback names the error."""
    return line if len(line) <= 4000 else f"{line[:600]} ... {line[-3000:]}"


def find_logged_errors(world: World) -> list[str]:
    """A line of level `error` is a bug, whatever happened to the server."""
    lines = [line for server in world.servers for line in server.read_log().splitlines()]
    return [
        f"logged: {_shorten_trace(line)}"
        for line in lines
        if '"level":"error"' in line or "Traceback" in line
    ]


async def wait_for_followers(
    workload: Workload, last_numbers: dict[str, int], seconds: float = PATIENCE_SECONDS
) -> None:
    """Until they have seen the last event. One that never does is found by the checker."""
    ends = read_time() + seconds
    followers = workload.history.followers
    while any(each.last < last_numbers.get(each.project, 0) for each in followers):
        if read_time() > ends:
            return
        await asyncio.sleep(0.02)


async def last_numbers_of_file(database: Path) -> dict[str, int]:
    connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
    connection.set_busy_timeout(5000)
    try:
        return dict(connection.execute("select project, n from counter where name = 'event'").fetchall())
    finally:
        connection.close()


async def last_numbers_of_database(dsn: str) -> dict[str, int]:
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch("select project, n from counter where name = 'event'")
        return {row["project"]: row["n"] for row in rows}
    finally:
        await connection.close()


async def verify_audit(port: int, projects: list[str]) -> list[str]:
    """What `commonplace audit verify` finds."""
    caller, problems = HttpCaller(PATIENCE_SECONDS), []
    try:
        for project in projects:
            after: int | None = 0
            while after is not None:
                answer = await caller.call(port, "memory_verify_audit", {"name": project, "after": after})
                if answer.status != 200:
                    return [f"the audit log cannot be verified: {answer.body}"]
                problems += answer.body["problems"]
                after = answer.body.get("next_after")
    finally:
        caller.close()
    return [f"audit: {problem}" for problem in problems]


def judge(
    world: World, workload: Workload, plan: RoundPlan, state: stored.StoredState, problems: list[str]
) -> RoundResult:
    state.damage += problems
    error = CLOCK_ERROR_SECONDS if "clock" in plan.faults else 0.0
    violations = checker.find_violations(workload.history, state, plan.settings.lease_seconds, error)
    return RoundResult(plan, workload.history, violations, world.kills)


def project_pattern(plan: RoundPlan) -> str:
    """All projects of a round begin alike."""
    return plan.settings.projects[0].rstrip("0123456789") + "%"


@contextlib.contextmanager
def temporary_folder():
    folder = Path(tempfile.mkdtemp(prefix="commonplace-nemesis-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
