"""Who holds what a lock request met, in words: others, or another session of the caller's own agent."""

from dataclasses import dataclass

from commonplace.call import Call
from commonplace.clock import MINUTE, SECOND, format_age
from commonplace.identity.liveness import TAKEOVER_SILENCE, list_superseded_sessions
from commonplace.rooms.locks.lease import LockDecision


@dataclass(frozen=True, slots=True)
class Holders:
    """`advice` replaces the usual one where the caller would wait for itself."""

    names: str
    advice: str = ""


async def describe_holders(call: Call, decision: LockDecision) -> Holders:
    own = call.own_session.agent
    last_call_by_session = {
        lease.session: lease.active_at for _, lease in decision.conflicts if lease.agent == own
    }
    if not last_call_by_session:
        return Holders("others")
    last_call = max(last_call_by_session.values())
    other_session = f"your other session (last call {_format_silence(call.now - last_call, call.now)})"
    if any(lease.agent != own for _, lease in decision.conflicts):
        return Holders(f"others and {other_session}")
    superseded = await list_superseded_sessions(call.tx, call.own_session, call.now)
    if last_call_by_session.keys() <= {earlier.session.id for earlier in superseded}:
        seconds = -(-(last_call + TAKEOVER_SILENCE - call.now) // SECOND)
        return Holders(
            other_session, f"If you closed it, call again in {max(1, seconds)} s: then you take them over."
        )
    return Holders(other_session)


def _format_silence(silence: int, now: int) -> str:
    return f"{silence // SECOND} s ago" if silence < MINUTE else f"{format_age(now - silence, now)} ago"
