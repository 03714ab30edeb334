"""Agents that write, lock, read and repeat calls, and followers of events: what they did and saw is the history.

Every write has an idempotency key and is repeated on any server until it is answered, or the run ends.
"""

import asyncio
import contextlib
import random
from dataclasses import dataclass, field
from typing import Any

from nemesis.checker import find_id
from nemesis.history import Attempt, FollowedEvent, Follower, History, Operation, read_time
from nemesis.http_calls import HttpCaller, NoAnswer, stream_events

_WORDS = [a + b for a in ("ba", "co", "di", "fu", "ga", "he", "ki", "lo", "mu", "ne") for b in (
    "ran", "sel", "tip", "vor", "wun", "xal", "yem", "zid", "bok", "dur")]  # fmt: skip
_RETRIED = {0, 429, 503}


@dataclass
class WorkloadSettings:
    projects: list[str]
    agents: int = 6
    followers: int = 2
    """Of each project."""
    lease_seconds: float = 1.0
    paths: int = 4
    lock_share: float = 0.5
    shared_share: float = 0.2
    nap_share: float = 0.05
    """How often an agent falls silent while it holds a lock, for about as long as the lock lasts, or longer."""
    fenced_share: float = 0.5
    """How often an agent that holds a lock presents its token."""
    reports_files: bool = True
    """Whether that call also reports the file as changed, which every later lock of it then tells."""
    renew_share: float = 0.2
    """How often an agent that holds a lock asks for it again, and after that once more."""
    old_token_share: float = 0.0
    """How often an agent presents a token that it got earlier and may have lost."""
    events_of_stream: int = 100
    """How many events a follower reads at most before it leaves and resumes."""
    timeout_seconds: float = 3.0
    give_up_seconds: float = 20.0
    pause_seconds: float = 0.0


class SessionNotStartedError(Exception):
    """An agent got no session, before any fault."""


@dataclass
class Workload:
    """Shared by all agents of a run."""

    ports: list[int]
    settings: WorkloadSettings
    seed: int
    history: History = field(default_factory=History)
    is_ending: bool = False
    acknowledged: int = 0
    gives_up: float = 0.0
    """When agents stop to repeat calls, once the run ends."""

    async def start(self) -> None:
        self._callers: list[Agent] = []
        self._tasks: list[asyncio.Task[None]] = []
        for n, project in enumerate(self.settings.projects):
            for member in range(self.settings.agents):
                self._callers.append(Agent(self, project, f"agent{n}x{member}"))
            for member in range(self.settings.followers):
                follower = Follower(f"follower {member} of {project}", project)
                self.history.followers.append(follower)
                self._tasks.append(asyncio.create_task(self._follow(follower)))
        await asyncio.gather(*(agent.start_session() for agent in self._callers))
        self._working = [asyncio.create_task(agent.work()) for agent in self._callers]

    def require_agents_alive(self) -> None:
        """Raise what ended an agent."""
        for task in self._working:
            if task.done():
                task.result()

    async def stop_agents(self) -> None:
        """Let every agent finish its operation; what is not answered soon stays unknown."""
        self.is_ending = True
        self.gives_up = read_time() + self.settings.timeout_seconds
        await asyncio.gather(*self._working)
        for agent in self._callers:
            agent.caller.close()

    async def stop_followers(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self, follower: Follower) -> None:
        chance = random.Random(f"{self.seed} {follower.name}")
        while True:
            with contextlib.suppress(OSError, ValueError):
                await self._follow_once(follower, chance)
            follower.resumes += 1
            await asyncio.sleep(0.05)

    async def _follow_once(self, follower: Follower, chance: random.Random) -> None:
        """Until the stream ends, or for some events: then from where it stopped, on any server."""
        leave_after = chance.randint(1, self.settings.events_of_stream)
        stream = stream_events(
            chance.choice(self.ports), follower.project, follower.last, self.settings.timeout_seconds
        )
        async with contextlib.aclosing(stream):
            async for event in stream:
                if event.kind == "reset":
                    follower.resets.append(str(event.body))
                    return
                content = event.body
                follower.events.append(
                    FollowedEvent(event.number, event.kind, content.get("actor", ""), content.get("body", {}))
                )
                leave_after -= 1
                if not leave_after:
                    return


class Agent:
    def __init__(self, workload: Workload, project: str, name: str) -> None:
        self._workload, self._project, self._name = workload, project, name
        self._settings = workload.settings
        self._chance = random.Random(f"{workload.seed} {project} {name}")
        self.caller = HttpCaller(self._settings.timeout_seconds)
        self._session = ""
        self._count = 0
        self._done: list[tuple[Operation, str, dict[str, Any]]] = []
        self._tokens: list[tuple[str, int]] = []

    async def start_session(self) -> None:
        arguments = {"project": self._project, "claude_instance": self._name}
        started = await self._perform("start", "memory_start_session", arguments)
        if started.outcome != "ok":
            codes = [
                f"{each.ended - each.invoked:.1f} s: {each.status} {each.code}" for each in started.attempts
            ]
            raise SessionNotStartedError(
                f"{started} within {started.ended - started.invoked:.1f} s, {codes}, {started.reply}"
            )
        self._session = started.reply["session_id"]

    async def work(self) -> None:
        others = (self._store, self._learn, self._send, self._add_item, self._read, self._repeat)
        while not self._workload.is_ending:
            if self._chance.random() < self._settings.lock_share:
                await self._use_lock()
            else:
                await self._chance.choice(others)()
            if self._settings.pause_seconds:
                await asyncio.sleep(self._chance.uniform(0, 2 * self._settings.pause_seconds))
        await self._unlock()

    async def _store(self) -> None:
        marker = self._mark()
        arguments = {"title": marker, "content": self._text(), "memory_type": "adr"}
        await self._perform("store", "memory_store", arguments, marker)

    async def _learn(self) -> None:
        marker = self._mark()
        await self._perform(
            "learning", "memory_record_learning", {"topic": marker, "content": self._text()}, marker
        )

    async def _send(self) -> None:
        marker = self._mark()
        arguments = {"to_instance": self._name, "subject": marker, "message": self._text()}
        await self._perform("message", "memory_send_message", arguments, marker)

    async def _add_item(self) -> None:
        marker = self._mark()
        await self._perform("backlog", "memory_add_backlog_item", {"title": marker}, marker)

    async def _read(self) -> None:
        """Something that this agent stored, on any server: it must be there."""
        stored = [each for each in self._done[-8:] if each[0].kind in ("store", "learning", "backlog")]
        if stored:
            first = stored[-1][0]
            arguments = {"doc_id": find_id(first)}
            await self._perform("read", "memory_get_by_id", arguments, first.marker, {"first": first})

    async def _repeat(self) -> None:
        """Send a call again that was answered, with its key."""
        if self._done:
            first, operation, arguments = self._chance.choice(self._done[-30:])
            await self._perform("repeat", operation, arguments, first.marker, {"first": first})

    async def _use_lock(self) -> None:
        count = min(self._chance.choice((1, 1, 2)), self._settings.paths)
        paths = self._chance.sample([f"src/{n}.py" for n in range(self._settings.paths)], count)
        mode = "shared" if self._chance.random() < self._settings.shared_share else "exclusive"
        locked = await self._lock(paths, mode)
        if locked.outcome != "ok" or not locked.reply["success"]:
            return
        grants = {grant["file"]: grant["token"] for grant in locked.reply["locked"]}
        self._tokens = [*self._tokens[-8:], *grants.items()]
        if self._chance.random() < self._settings.nap_share and not self._workload.is_ending:
            await asyncio.sleep(self._settings.lease_seconds * self._chance.uniform(1.0, 1.8))
        if self._chance.random() < self._settings.fenced_share:
            await self._write_fenced(*self._chance.choice(list(grants.items())))
        while self._chance.random() < self._settings.renew_share:
            await self._lock(paths, mode)
        if self._chance.random() < 0.9:
            await self._unlock()
        if self._chance.random() < self._settings.old_token_share:
            await self._write_fenced(*self._chance.choice(self._tokens))

    async def _lock(self, paths: list[str], mode: str) -> Operation:
        arguments = {"files": paths, "mode": mode, "minutes": 1}
        return await self._perform("lock", "memory_lock_files", arguments, self._mark(), arguments)

    async def _unlock(self) -> None:
        await self._perform("unlock", "memory_unlock_files", {}, self._mark())

    async def _write_fenced(self, path: str, token: int) -> None:
        marker = self._mark()
        arguments = {"title": marker, "status": "in_progress", "token": token}
        if self._settings.reports_files:
            arguments["files_touched"] = [path]
        await self._perform("fenced", "memory_update_work", arguments, marker, {"path": path, "token": token})

    def _mark(self) -> str:
        self._count += 1
        return f"note {self._count} of {self._name} in {self._project}"

    def _text(self) -> str:
        return " ".join(self._chance.choices(_WORDS, k=12))

    async def _perform(
        self,
        kind: str,
        operation: str,
        arguments: dict[str, Any],
        marker: str = "",
        noted: dict[str, Any] | None = None,
    ) -> Operation:
        key = f"{marker or self._mark()} {operation}"
        if self._session:
            arguments = {"session_id": self._session} | arguments
        act = Operation(self._project, self._name, kind, marker, read_time(), noted or {})
        self._workload.history.operations.append(act)
        gives_up = act.invoked + self._settings.give_up_seconds
        while not await self._attempt(act, operation, arguments, "" if kind == "read" else key):
            if read_time() > (
                min(gives_up, self._workload.gives_up) if self._workload.is_ending else gives_up
            ):
                break
            await asyncio.sleep(self._chance.uniform(0.02, 0.2))
        act.ended = read_time()
        if act.outcome == "ok":
            self._workload.acknowledged += 1
            if kind not in ("read", "repeat", "start"):
                self._done = [*self._done[-30:], (act, operation, arguments)]
        return act

    async def _attempt(self, act: Operation, operation: str, arguments: dict[str, Any], key: str) -> bool:
        """Whether the answer is final."""
        server = self._chance.randrange(len(self._workload.ports))
        invoked = read_time()
        try:
            answer = await self.caller.call(self._workload.ports[server], operation, arguments, key)
        except NoAnswer:
            act.attempts.append(Attempt(server, invoked, read_time(), 0))
            return False
        code = str(answer.body.get("error", "")) if answer.status != 200 else ""
        act.attempts.append(Attempt(server, invoked, read_time(), answer.status, code))
        if answer.status in _RETRIED:
            return False
        if answer.status >= 500:
            return True
        act.outcome = "ok" if answer.status == 200 else "refused"
        act.reply = answer.body
        return True
