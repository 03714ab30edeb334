"""commonplace hook AGENT: read the agent's event, act, answer. Whatever goes wrong, the agent goes on."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from commonplace.client import reach
from commonplace.client.agents import AGENTS
from commonplace.client.hooks import acts, log, pack
from commonplace.client.hooks.event import Answer, Event, Output
from commonplace.client.hooks.settings import settings
from commonplace.client.hooks.visit import Visit

_LARGEST = 64 * 1024 * 1024
_UNAUTHENTICATED = 401
_KEY_MISSING = "The server asks for a key: set COMMONPLACE_KEY, or `key` in config.toml."
_KEY_UNKNOWN = "The server does not know the key in COMMONPLACE_KEY or config.toml: it was revoked, or is of another server."


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
    given = json.loads(sent)
    agent = _whose(agent, given) if isinstance(given, dict) else ""
    if not agent:
        return Output()
    adapter = __import__(f"commonplace.client.agents.{agent}.hooks", fromlist=["read"])
    event: Event | None = adapter.read(given)
    if event is None or not event.session:
        return Output()
    output: Output = adapter.write(event, answered(agent, adapter, event))
    return output


def _whose(agent: str, given: dict[str, Any]) -> str:
    """VS Code runs Claude's hooks too, and alone says when; where it has hooks of its own, those speak for it."""
    if agent != "claude" or "timestamp" not in given:
        return agent
    folder = Path(os.environ.get("COPILOT_HOME") or "~/.copilot").expanduser()
    return "" if (folder / "hooks" / "commonplace.json").exists() else "vscode"


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
        why, text = "key", _KEY_UNKNOWN if _has_key() else _KEY_MISSING
    else:
        why, text = refused.code, f"The server refused: {refused} {refused.body.get('hint', '')}".strip()
    return f"Commonplace: {text}" if visit.state.once(why) else ""


def _has_key() -> bool:
    server = reach.server()
    return server is not None and bool(server.key)


def _leave(output: Output) -> None:
    """Bytes, since an agent reads UTF-8 whatever the terminal speaks."""
    for stream, text in ((sys.stdout, output.stdout), (sys.stderr, output.stderr)):
        if text:
            stream.buffer.write(text.encode("utf-8", "replace") + b"\n")
            stream.buffer.flush()
