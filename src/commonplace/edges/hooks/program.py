"""commonplace hook AGENT: read the agent's event, act, answer. Whatever goes wrong, the agent goes on."""

import json
import sys
from typing import Any

from commonplace.edges.hooks import acts, log, pack
from commonplace.edges.hooks.adapters import AGENTS
from commonplace.edges.hooks.event import Answer, Event, Output
from commonplace.edges.hooks.settings import settings
from commonplace.edges.hooks.visit import Visit
from commonplace.sync import reach

_LARGEST = 64 * 1024 * 1024
_UNAUTHENTICATED = 401


def main(given: list[str]) -> int:
    """`given` are the words of the command line: hook AGENT."""
    agent = given[1] if len(given) > 1 else ""
    try:
        output = run(agent, sys.stdin.buffer.read(_LARGEST))
        _leave(output)
    except Exception as wrong:  # noqa: BLE001 - the outermost line: an agent must not stumble over its memory
        log.fault(f"hook {agent}", wrong)
        return 0
    return output.code


def run(agent: str, sent: bytes) -> Output:
    if agent not in AGENTS:
        return Output(stderr=f"commonplace hook: name an agent: {', '.join(AGENTS)}")
    adapter = __import__(f"commonplace.edges.hooks.adapters.{agent}", fromlist=["read"])
    given = json.loads(sent)
    event: Event | None = adapter.read(given) if isinstance(given, dict) else None
    if event is None or not event.session:
        return Output()
    output: Output = adapter.write(event, answered(agent, adapter, event))
    return output


def answered(agent: str, adapter: Any, event: Event) -> Answer:
    visit = Visit(agent, event, settings())
    try:
        if event.kind in adapter.HEARS and event.kind != "session_start":
            acts.recall(visit)
        answer = acts.ACTS[event.kind](visit)
    except (reach.Away, reach.Refused) as refused:
        answer = Answer(warning=_warned(visit, adapter, refused))
    return _with_context(visit, adapter, answer)


def _with_context(visit: Visit, adapter: Any, answer: Answer) -> Answer:
    """What the model should know rides on the first answer that can carry it: a denial only where nothing else can."""
    if visit.event.kind == "session_end":
        return Answer()
    heard = visit.event.kind in adapter.HEARS
    if heard if answer.denial else not heard:
        visit.state.put_notices(visit.context)
        return answer
    texts = [*visit.context, *visit.state.take_notices(), *([answer.warning] if answer.warning else [])]
    if answer.denial:
        return answer._replace(denial=pack.fitted([answer.denial, *texts]))
    return answer._replace(context=pack.fitted(texts))


def _warned(visit: Visit, adapter: Any, refused: reach.Away | reach.Refused) -> str:
    """Said once in an agent's session, where it can be heard."""
    log.fault(f"hook {visit.tool} {visit.event.kind}", refused)
    if visit.event.kind not in adapter.WARNS:
        return ""
    if isinstance(refused, reach.Away):
        why, text = "away", f"{refused} Edits are not checked against the leases of others until it is back."
    elif refused.status == _UNAUTHENTICATED:
        why, text = "key", "The server asks for a key: set COMMONPLACE_KEY, or `key` in config.toml."
    else:
        why, text = refused.code, f"The server refused: {refused} {refused.body.get('hint', '')}".strip()
    return f"Commonplace: {text}" if visit.state.once(why) else ""


def _leave(output: Output) -> None:
    """Bytes, since an agent reads UTF-8 whatever the terminal speaks."""
    for stream, text in ((sys.stdout, output.stdout), (sys.stderr, output.stderr)):
        if text:
            stream.buffer.write(text.encode("utf-8", "replace") + b"\n")
            stream.buffer.flush()
