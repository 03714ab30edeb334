"""`commonplace hook AGENT`: read the agent's event, act on it, answer. A fault never stops the agent."""

import json
import sys

from commonplace.client.agents import AGENTS_WITH_HOOKS, load_hooks
from commonplace.client.companion import (
    actions,
    boot_context,
    end_delivery,
    fault_log,
    head_moves,
    last_event,
    pending_ends,
    subagents,
    waiting_requests,
)
from commonplace.client.companion.agent_hooks import AgentHooks
from commonplace.client.companion.hook_event import HookAnswer, HookEvent, HookOutput
from commonplace.client.companion.hook_run import AWAY, HookRun
from commonplace.client.companion.hook_settings import read_hook_settings
from commonplace.client.link import remote
from commonplace.client.rules import event_rules

_MAX_INPUT_BYTES = 64 * 1024 * 1024
_UNAUTHENTICATED = 401
_KEY_MISSING = "The server asks for a key: set COMMONPLACE_KEY, or `key` in config.toml."
_KEY_UNKNOWN = "The server rejects the key in COMMONPLACE_KEY or config.toml: it was revoked, or belongs to another server."


def main(words: list[str]) -> int:
    """`words` is the command line: hook AGENT [EVENT]; Copilot's input does not name its event."""
    agent = words[1] if len(words) > 1 else ""
    try:
        output = run(agent, sys.stdin.buffer.read(_MAX_INPUT_BYTES), "".join(words[2:3]))
        _write_output(output)
    except Exception as error:  # noqa: BLE001 - the outermost line: a fault of ours must not stop the agent
        fault_log.log_fault(f"hook {agent}", error)
        return 0
    return output.code


def run(agent: str, stdin: bytes, event_name: str = "") -> HookOutput:
    if agent not in AGENTS_WITH_HOOKS:
        return HookOutput(
            stderr=f"commonplace hook: unknown agent; use one of: {', '.join(AGENTS_WITH_HOOKS)}"
        )
    payload = json.loads(stdin)
    if not isinstance(payload, dict):
        return HookOutput()
    if event_name:
        payload.setdefault("hook_event_name", event_name)
    hooks = load_hooks(agent)
    if hooks.identify_agent:
        agent = hooks.identify_agent(payload)
        if not agent:
            return HookOutput()
        hooks = load_hooks(agent)
    last_event.note_event(agent)
    event = hooks.parse_event(payload)
    if event is None or not event.session:
        return HookOutput()
    return hooks.render_answer(event, answer_event(agent, hooks, event))


def answer_event(agent: str, hooks: AgentHooks, event: HookEvent) -> HookAnswer:
    hook_run = HookRun(agent, event, read_hook_settings())
    try:
        hook_run = subagents.choose_acting_run(hook_run)
        if hooks.find_compaction and (compaction := hooks.find_compaction(event)):
            actions.note_compaction(hook_run, compaction)
        if (
            event.kind in hooks.context_kinds
            and not hook_run.event.subagent
            and event.kind != "session_start"
        ):
            actions.remind_after_compaction(hook_run)
        head_moves.tell_moves(hook_run)
        waiting_requests.close_waiting(hook_run)
        answer = event_rules.answer_with_rules(hook_run, hooks, actions.ACTIONS[event.kind])
    except (remote.ServerUnreachable, remote.ServerRefusal) as refused:
        answer = HookAnswer(warning=_warn_once(hook_run, hooks, refused))
    hook_run.close()
    if hook_run.has_answered and pending_ends.has_ends():
        end_delivery.start_delivery_if_due()
    return _add_context(hook_run, hooks, answer)


def _add_context(hook_run: HookRun, hooks: AgentHooks, answer: HookAnswer) -> HookAnswer:
    """Add waiting context to an answer that can carry it; a denial carries it only where no other answer can.

    What is for the parent waits while a sub-agent acts for it.
    """
    if hook_run.event.kind in ("session_end", "subagent_end"):
        return HookAnswer()
    takes_context = hook_run.event.kind in hooks.context_kinds
    if hook_run.event.subagent or (takes_context if answer.denial else not takes_context):
        hook_run.state.put_notices(hook_run.context)
        return answer
    texts = [*hook_run.context, *hook_run.state.take_notices(), *([answer.warning] if answer.warning else [])]
    if answer.denial:
        return answer._replace(denial=boot_context.join_within_limit([answer.denial, *texts]))
    return answer._replace(context=boot_context.join_within_limit(texts))


def _warn_once(
    hook_run: HookRun, hooks: AgentHooks, refused: remote.ServerUnreachable | remote.ServerRefusal
) -> str:
    """The warning about a failed call, once per session and only where it can be shown."""
    fault_log.log_fault(f"hook {hook_run.tool} {hook_run.event.kind}", refused)
    if hook_run.event.subagent or hook_run.event.kind not in hooks.warning_kinds:
        return ""
    if isinstance(refused, remote.ServerUnreachable):
        why, text = AWAY, f"{refused} Until it is back, edits are not checked against the leases of others."
    elif refused.status == _UNAUTHENTICATED:
        why, text = "key", _KEY_UNKNOWN if _has_key(hook_run) else _KEY_MISSING
    else:
        why, text = refused.code, f"The server refused: {refused} {refused.body.get('hint', '')}".strip()
    return f"Commonplace: {text}" if hook_run.state.is_first_time(why) else ""


def _has_key(hook_run: HookRun) -> bool:
    server = remote.find_server(folder=hook_run.tree.root)
    return server is not None and bool(server.key)


def _write_output(output: HookOutput) -> None:
    """Write bytes, because agents read UTF-8 whatever the locale is."""
    for stream, text in ((sys.stdout, output.stdout), (sys.stderr, output.stderr)):
        if text:
            stream.buffer.write(text.encode("utf-8", "replace") + b"\n")
            stream.buffer.flush()
