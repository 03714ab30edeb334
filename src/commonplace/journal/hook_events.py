"""Adds what an agent program's hooks send to a journal, so that it says the same as the transcript would.

The programs differ in the names of their events and fields, not in what they tell.
"""

from typing import Any

from commonplace.journal.event import (
    ToolResult,
    build_tool_call,
    build_tool_result,
    extract_response_text,
    parse_command_report,
)
from commonplace.journal.json_record import (
    Record,
    count_or_zero,
    decode_inner_json,
    get_nested,
    parse_exit_code,
    text_or_empty,
)
from commonplace.journal.model import Journal
from commonplace.journal.record import JournalRecorder

_PROMPTS = frozenset(
    {
        "userpromptsubmit",
        "userpromptsubmitted",
        "beforeagent",
        "beforesubmitprompt",
        "preuserprompt",
        "chatmessage",
    }
)
_RESULTS = frozenset(
    [
        "posttooluse",
        "posttoolusefailure",
        "aftertool",
        "aftershellexecution",
        "afterfileedit",
        "toolexecuteafter",
        "postwritecode",
        "postruncommand",
        "posttoolcall",
    ]
)
_STOPS = frozenset(
    {"stop", "afteragent", "agentstop", "afteragentresponse", "sessionidle", "postcascaderesponse"}
)
_COMPACTIONS = frozenset({"precompact", "precompress", "experimentalsessioncompacting"})
_ENDS = frozenset({"sessionend", "sessiondeleted"})
_SHELL_NAMES = {
    "aftershellexecution": "shell",
    "postruncommand": "shell",
    "afterfileedit": "edit",
    "postwritecode": "write",
}
_PROGRAM_PROMPTS = ("<task-notification>", "[SYSTEM NOTIFICATION", "<local-command-")
_EXIT_NAMES = ("exit_code", "exitCode", "exit")


def add_hook_event(recorder: JournalRecorder, event: Record, at: int | None) -> None:
    """Add one event as the program sent it; one that tells nothing is skipped. What a sub-agent asks or says is not the
    session's; what it runs is."""
    name = "".join(
        letter
        for letter in _text(event, "hook_event_name", "hookEventName", "agent_action_name")
        if letter.isalnum()
    ).lower()
    _record_place(recorder.journal, event)
    is_own = not _text(event, "agent_id", "subagent")
    if name in _PROMPTS and is_own:
        words = _text(event, "prompt") or text_or_empty(get_nested(event, "tool_info", "user_prompt"))
        if not words.startswith(_PROGRAM_PROMPTS):
            recorder.add_prompt(words, 0, at)
    elif name in _RESULTS:
        _add_result(recorder, name, event, at)
    elif name in _STOPS and is_own:
        words = _text(event, "last_assistant_message", "prompt_response", "text", "response")
        recorder.add_words(words or text_or_empty(get_nested(event, "tool_info", "response")), 0, at)
    elif name in _COMPACTIONS and is_own:
        recorder.add_compaction(at)
    elif name in _ENDS and is_own:
        recorder.add_end(_text(event, "reason"), at)


def _record_place(journal: Journal, event: Record) -> None:
    journal.cwd = journal.cwd or _text(event, "cwd")[:1000]


def _add_result(recorder: JournalRecorder, name: str, event: Record, at: int | None) -> None:
    tool = _text(event, "tool_name", "toolName") or _SHELL_NAMES.get(name, "")
    given = (event.get(key) for key in ("tool_input", "toolInput", "toolArgs", "tool_info"))
    arguments: Any = next((decode_inner_json(value) for value in given if value), event)
    identity = (
        _text(event, "tool_use_id", "tool_call_id", "callID", "toolCallId") or f"h{recorder.journal.step}"
    )
    call = build_tool_call(identity, tool, arguments)
    if call.command and not call.folder:
        call = call._replace(folder=_text(event, "cwd"))
    recorder.add_call(call, at)
    recorder.add_result(
        _parse_result(identity, name, event, is_command=bool(call.command)), recorder.journal.step, at
    )


def _parse_result(identity: str, name: str, event: Record, *, is_command: bool) -> ToolResult:
    answers = (
        event.get(key) for key in ("tool_response", "toolResult", "tool_output", "output", "result_json")
    )
    answer: Any = next((decode_inner_json(value) for value in answers if value), None)
    codes = (
        parse_exit_code(place.get(key))
        for place in (event, answer, get_nested(answer, "metadata"))
        if isinstance(place, dict)
        for key in _EXIT_NAMES
    )
    code = next((each for each in codes if each is not None), None)
    if name == "posttoolusefailure" or _text(event, "error"):
        words = _text(event, "error") or extract_response_text(answer)
        return build_tool_result(identity, words, True)
    output = _join_output(answer)
    if report := parse_command_report(identity, output) if is_command else None:
        return report
    if code is not None:
        return build_tool_result(identity, output, bool(code))._replace(exit_code=code)
    failed = get_nested(answer, "resultType") in ("failure", "error") or bool(get_nested(answer, "error"))
    result = build_tool_result(identity, output, True if failed else None)
    if result.exit_code is None and not result.failed and not result.running:
        result = result._replace(exit_code=0)
    return result


def _join_output(answer: Any) -> str:
    if isinstance(answer, dict) and "stdout" in answer:
        handle = text_or_empty(answer.get("backgroundTaskId"))
        begun = [f"Command running in background with ID: {handle}"] if handle else []
        return "\n".join(
            [
                *begun,
                *filter(None, (text_or_empty(answer.get(name)).rstrip() for name in ("stdout", "stderr"))),
            ]
        )
    if number := get_nested(answer, "task", "id"):
        return f"Task #{count_or_zero(number) or text_or_empty(number)} created"
    words = text_or_empty(get_nested(answer, "textResultForLlm")) or extract_response_text(
        get_nested(answer, "llmContent")
    )
    return words or extract_response_text(answer)


def _text(event: Record, *names: str) -> str:
    return next((value for name in names if isinstance(value := event.get(name), str) and value), "")
