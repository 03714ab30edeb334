"""Act on one hook event and answer it, in the companion or in a process of its own. A fault never stops the agent."""

import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.client.agents import AGENTS_WITH_HOOKS, load_hooks
from commonplace.client.companion import (
    actions,
    boot_context,
    event_spool,
    fault_log,
    head_moves,
    subagents,
    waiting_requests,
)
from commonplace.client.companion.hook_event import AgentHooks, HookAnswer, HookEvent, HookOutput
from commonplace.client.companion.hook_run import AWAY, HookRun
from commonplace.client.companion.hook_settings import read_hook_settings
from commonplace.client.companion.payload import first_text
from commonplace.client.link import remote
from commonplace.client.rules import event_rules

_UNAUTHENTICATED = 401
_KEY_MISSING = "The server asks for a key: set COMMONPLACE_KEY, or `key` in config.toml."
_KEY_UNKNOWN = "The server rejects the key in COMMONPLACE_KEY or config.toml: it was revoked, or belongs to another server."
_HUNG_TEXT = "Commonplace: its background process did not answer in time and is being replaced; until now an edit may have gone unchecked."
_HUNG_SECONDS = 5.0
_SECONDS, _START_SECONDS = 5.0, 12.0
"""How long a launcher waits for an event that was accepted; the waits for the server are shorter (`server_link.py`)."""


class HookCall(NamedTuple):
    """An event as its agent's hooks read it."""

    agent: str
    hooks: AgentHooks
    event: HookEvent
    fields: dict[str, Any]


def run(agent: str, stdin: bytes, event_name: str = "") -> HookOutput:
    call = read_call(agent, stdin, event_name)
    return call if isinstance(call, HookOutput) else answer_call(call)


def answer_safely(agent: str, stdin: bytes, event_name: str, accept: Callable[[float], object]) -> HookOutput:
    """As `run`, for an outermost line: `accept` is told how long the answer may take before the event is acted on."""
    call: HookCall | HookOutput = HookOutput()
    try:
        call = read_call(agent, stdin, event_name)
    except Exception as error:  # noqa: BLE001 - the outermost line: a fault of ours must not stop the agent
        fault_log.log_fault(f"hook {agent}", error)
    accept(_limit_seconds(call))
    if isinstance(call, HookOutput):
        return call
    try:
        return answer_call(call)
    except OSError as error:
        fault_log.log_fault(f"hook {agent}", error)
        return _explain_disk_fault(call, error)
    except Exception as error:  # noqa: BLE001 - as above
        fault_log.log_fault(f"hook {agent}", error)
        return HookOutput()


def act_alone(reason: str, agent: str, event_name: str, stdin: bytes) -> int:
    """Where no companion answered, act here, write the answer, and start a companion for the next event.

    An event that a companion had accepted for longer than it may take is given up: it may have been acted on.
    """
    with contextlib.suppress(OSError):
        _dismiss_companion(reason)
    if reason == "hung":
        return 0
    output = answer_safely(agent, stdin, event_name, lambda _: None)
    for stream, text in ((sys.stdout, output.stdout), (sys.stderr, output.stderr)):
        if text:  # agents read UTF-8 whatever the locale is
            stream.buffer.write(text.encode("utf-8", "replace") + b"\n")
            stream.buffer.flush()
    try:
        if minutes := read_hook_settings().companion:
            from commonplace.client.companion.resident import start_companion

            start_companion(60.0 * minutes)
    except Exception as error:  # noqa: BLE001 - as above
        fault_log.log_fault("start of the companion", error)
    return output.code


def main(words: list[str]) -> int:
    """`hook --alone REASON AGENT [EVENT]`: what the launcher becomes where no companion answers."""
    reason, agent, event_name = [*words[2:5], "", "", ""][:3]
    return act_alone(reason, agent, event_name, sys.stdin.buffer.read())


def _dismiss_companion(reason: str) -> None:
    """Remove the socket of a companion that hangs: it ends when that is gone, and the next event tells the agent.

    A busy machine is silent once; one that was silent before and has accepted nothing since hangs.
    """
    home = remote.client_home()
    mark = home / "companion.silent"
    if reason == "silent" and not mark.exists():
        mark.touch(mode=0o600)
    elif reason == "hung" or (reason == "silent" and time.time() - mark.stat().st_mtime > _HUNG_SECONDS):
        mark.unlink(missing_ok=True)
        (home / "companion.hung").touch(mode=0o600)
        (home / "companion.sock").unlink(missing_ok=True)


def read_call(agent: str, stdin: bytes, event_name: str = "") -> HookCall | HookOutput:
    """The event, or the output for input that is none of ours."""
    if agent not in AGENTS_WITH_HOOKS:
        return HookOutput(
            stderr=f"commonplace hook: unknown agent; use one of: {', '.join(AGENTS_WITH_HOOKS)}"
        )
    fields = json.loads(stdin)
    if not isinstance(fields, dict):
        return HookOutput()
    if event_name:
        fields.setdefault("hook_event_name", event_name)
    hooks = load_hooks(agent)
    if hooks.identify_agent:
        agent = hooks.identify_agent(fields)
        if not agent:
            return HookOutput()
        hooks = load_hooks(agent)
    fault_log.note_event(agent)
    event = hooks.parse_event(fields)
    if event is None or not event.session:
        if session := first_text(fields, "session_id", "sessionId", "conversation_id"):
            event_spool.spool_event(agent, session, fields)
        return HookOutput()
    return HookCall(agent, hooks, event, fields)


def answer_call(call: HookCall) -> HookOutput:
    event_spool.spool_event(call.agent, call.event.parent or call.event.session, call.fields)
    return call.hooks.render_answer(call.event, answer_event(call.agent, call.hooks, call.event))


def _limit_seconds(call: HookCall | HookOutput) -> float:
    if isinstance(call, HookOutput):
        return _SECONDS
    if call.event.kind == "waiting":
        return waiting_requests.BESIDE_SECONDS + _START_SECONDS
    seconds = _START_SECONDS if call.event.kind == "session_start" else _SECONDS
    with contextlib.suppress(OSError, ValueError):
        seconds = max(seconds, 3 * read_hook_settings().seconds)
    return seconds


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
    if (mark := remote.client_home() / "companion.hung").exists():
        mark.unlink(missing_ok=True)
        hook_run.context.append(_HUNG_TEXT)
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
        why, text = "key", _KEY_UNKNOWN if hook_run.server.key else _KEY_MISSING
    else:
        why, text = refused.code, f"The server refused: {refused} {refused.hint}".strip()
    return f"Commonplace: {text}" if hook_run.state.is_first_time(why) else ""


def _explain_disk_fault(call: HookCall, error: OSError) -> HookOutput:
    """Tell the agent once that nothing can be stored; what was told is remembered elsewhere, or by nobody."""
    if call.event.kind not in call.hooks.warning_kinds:
        return HookOutput()
    name = "".join(letter for letter in call.event.session if letter.isalnum())[-40:]
    try:
        mark = Path(tempfile.gettempdir(), f"commonplace-told-{name}-{error.errno}")
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return HookOutput()
    except OSError:
        pass
    reason = f"cannot use {remote.client_home()} ({error.strerror or error})"
    text = f"Commonplace {reason}. Until that is mended, your edits and commands are not checked against others' work."
    return call.hooks.render_answer(call.event, HookAnswer(context=text, warning=text))
