"""commonplace hook AGENT: read the agent's event, act, answer. Whatever goes wrong, the agent goes on."""

import json
import sys

from commonplace.client import remote
from commonplace.client.agents import AGENTS_WITH_HOOKS, load_hooks
from commonplace.client.hooks import acts, log, pack
from commonplace.client.hooks.agent_hooks import AgentHooks
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
    if agent not in AGENTS_WITH_HOOKS:
        return Output(stderr=f"commonplace hook: name an agent: {', '.join(AGENTS_WITH_HOOKS)}")
    payload = json.loads(sent)
    if not isinstance(payload, dict):
        return Output()
    hooks = load_hooks(agent)
    if hooks.identify_agent:
        agent = hooks.identify_agent(payload)
        if not agent:
            return Output()
        hooks = load_hooks(agent)
    event = hooks.parse_event(payload)
    if event is None or not event.session:
        return Output()
    return hooks.render_answer(event, answered(agent, hooks, event))


def answered(agent: str, hooks: AgentHooks, event: Event) -> Answer:
    visit = Visit(agent, event, settings())
    try:
        if event.kind in hooks.context_kinds and event.kind != "session_start":
            acts.recall(visit)
        answer = acts.ACTS[event.kind](visit)
    except (remote.ServerUnreachable, remote.ServerRefusal) as refused:
        answer = Answer(warning=_warned(visit, hooks, refused))
    return _with_context(visit, hooks, answer)


def _with_context(visit: Visit, hooks: AgentHooks, answer: Answer) -> Answer:
    """What the model should know rides on the first answer that can carry it: a denial only where nothing else can."""
    if visit.event.kind == "session_end":
        return Answer()
    heard = visit.event.kind in hooks.context_kinds
    if heard if answer.denial else not heard:
        visit.state.put_notices(visit.context)
        return answer
    texts = [*visit.context, *visit.state.take_notices(), *([answer.warning] if answer.warning else [])]
    if answer.denial:
        return answer._replace(denial=pack.fitted([answer.denial, *texts]))
    return answer._replace(context=pack.fitted(texts))


def _warned(visit: Visit, hooks: AgentHooks, refused: remote.ServerUnreachable | remote.ServerRefusal) -> str:
    """Said once in an agent's session, where it can be heard."""
    log.fault(f"hook {visit.tool} {visit.event.kind}", refused)
    if visit.event.kind not in hooks.warning_kinds:
        return ""
    if isinstance(refused, remote.ServerUnreachable):
        why, text = "away", f"{refused} Edits are not checked against the leases of others until it is back."
    elif refused.status == _UNAUTHENTICATED:
        why, text = "key", _KEY_UNKNOWN if _has_key() else _KEY_MISSING
    else:
        why, text = refused.code, f"The server refused: {refused} {refused.body.get('hint', '')}".strip()
    return f"Commonplace: {text}" if visit.state.once(why) else ""


def _has_key() -> bool:
    server = remote.find_server()
    return server is not None and bool(server.key)


def _leave(output: Output) -> None:
    """Bytes, since an agent reads UTF-8 whatever the terminal speaks."""
    for stream, text in ((sys.stdout, output.stdout), (sys.stderr, output.stderr)):
        if text:
            stream.buffer.write(text.encode("utf-8", "replace") + b"\n")
            stream.buffer.flush()
