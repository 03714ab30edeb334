"""Marks sessions as alive: each call of a session counts as its activity, and the rooms' `ActivityStep`s follow from it.

What a session is: `identity/session.py`; which one is alive: `identity/liveness.py`.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from commonplace import background, errors
from commonplace.clock import SECOND, Clock
from commonplace.identity.session import AgentSession
from commonplace.store.database import Database, Row, Statement, Tx

_TOUCH_INTERVAL_MICROSECONDS = 5 * SECOND
_FLUSH_INTERVAL_SECONDS = 1.0

ActivityAct = Callable[[Tx, AgentSession, Sequence[Row], int, int], Awaitable[bool]]
"""Takes the rows of its probe, the time of the call and that of the store; returns whether it left notices."""


@dataclass(frozen=True)
class ActivityStep:
    """What follows from the activity of a session: `act` runs if `probe` finds rows.

    The probe has the session's project as `$1` and its digest as `$2`, so that it is asked together with the session.
    """

    probe: str
    act: ActivityAct


class ActivityRecorder:
    """Marks sessions as alive: at once in a call that writes, within a second after one that reads."""

    def __init__(self, database: Database, clock: Clock, steps: Sequence[ActivityStep]) -> None:
        self._database, self._clock, self._steps = database, clock, steps
        self._touched: dict[str, int] = {}
        self._pending: dict[str, AgentSession] = {}
        self._flushing: background.BackgroundWork | None = None

    def open(self) -> None:
        self._flushing = background.every(
            _FLUSH_INTERVAL_SECONDS, self.flush_pending, name="activity", essential=True
        )

    async def close(self) -> None:
        await background.stop(self._flushing, finish=self.flush_pending)

    def list_probes(self, project: str, session: str) -> list[Statement]:
        return [(step.probe, project, session) for step in self._steps]

    def is_touch_due(self, session: str, now: int) -> bool:
        """Is it time to mark the session of this digest as alive? A clock that was set back is no reason to wait."""
        return not 0 <= now - self._touched.get(session, 0) < _TOUCH_INTERVAL_MICROSECONDS

    async def touch_session(
        self,
        tx: Tx,
        session: AgentSession,
        now: int,
        probed: Sequence[Sequence[Row]] = (),
        store_now: int = 0,
    ) -> bool:
        """Mark the session as alive, with what follows from it; return whether it may have left a notice.

        `probed` are the rows of `list_probes`, which were read at `store_now`; without them they are read now.
        """
        if not probed:
            probes = self.list_probes(session.project, session.id)
            *probed, clock = await tx.together(*probes, tx.clock_statement())
            store_now = tx.clock_from_row(clock[0])
        await tx.queue(
            "update session set active_at = $3 where project = $1 and id = $2 and active_at < $3",
            session.project,
            session.id,
            now,
        )
        acts = [
            await step.act(tx, session, rows, now, store_now)
            for step, rows in zip(self._steps, probed, strict=True)
            if rows
        ]
        return any(acts)

    def mark_touched(self, session: AgentSession, now: int) -> None:
        """Remember that the touch was committed; the next one is due after the interval."""
        if len(self._touched) > 50_000:  # noqa: PLR2004 - only a bound on memory
            self._touched.clear()
        self._touched[session.id] = now

    def touch_later(self, session: AgentSession) -> None:
        self._pending[session.id] = session

    async def flush_pending(self) -> None:
        pending, self._pending = list(self._pending.values()), {}
        if not pending:
            return
        now = self._clock()

        async def touch_all(tx: Tx) -> None:
            for session in pending:
                await self.touch_session(tx, session, now)

        try:
            await self._database.write(touch_all)
        except errors.Unavailable:
            self._pending = {session.id: session for session in pending} | self._pending
            raise
        for session in pending:
            self.mark_touched(session, now)
