"""What the next session of a place is told of the last one, without anybody having called a tool."""

import json
import re
from typing import Any

import pytest
from sync_client import register_sync_client

from commonplace.clock import SECOND
from team import Agent, Team

PLACE = "/home/ann/shop"
TASK = (
    "Totals of the cart must include VAT. Prices stay in cents, and invoices show one line for each product."
)
DECISION = (
    "I round per line and not on the total, because invoices show lines. Next I make the failing test pass."
)
FAILED = "=== FAILURES ===\nE       assert 119 == 120\nFAILED tests/test_cart.py::test_vat - assert 119 == 120\n==== 1 failed, 12 passed in 0.41s ===="
PLAN = [
    {"content": "Read the cart", "status": "completed", "activeForm": "Reading"},
    {"content": "Add VAT to the totals", "status": "in_progress", "activeForm": "Adding"},
    {"content": "Document VAT", "status": "pending", "activeForm": "Documenting"},
]
CALLS: list[tuple[str, dict[str, Any], str, bool]] = [
    ("TodoWrite", {"todos": PLAN}, "Todos have been modified", False),
    ("Bash", {"command": "pytest tests/test_cart.py"}, "Exit code 127\nzsh: command not found: pytest", True),
    ("Bash", {"command": "python -m pytest tests/test_totals.py"}, "==== 4 passed in 0.2s ====", False),
    ("Edit", {"file_path": f"{PLACE}/src/cart.py", "old_string": "a", "new_string": "b"}, "updated", False),
    ("Bash", {"command": "python -m pytest tests/test_cart.py"}, f"Exit code 1\n{FAILED}", True),
]
EIGHT_FACTS = {
    "the task": "invoices show one line for each product",
    "the command that fails": "pytest tests/test_cart.py",
    "the command that works": "python -m pytest tests/test_totals.py",
    "the plan": "doing: Add VAT to the totals",
    "what is left of it": "open: Document VAT",
    "the decision": "I round per line and not on the total",
    "the changed file": "src/cart.py",
    "the failing test": "1 failed, 12 passed",
}


def hook_events(*, decided: bool = True, end: str = "") -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"hook_event_name": "UserPromptSubmit", "prompt": TASK}]
    for number, (tool, given, output, failed) in enumerate(CALLS):
        sent = {"tool_name": tool, "tool_input": given, "tool_use_id": f"t{number}"}
        if failed:
            events.append({"hook_event_name": "PostToolUseFailure", "error": output, **sent})
        else:
            answer: Any = {"stdout": output, "stderr": ""} if tool == "Bash" else output
            events.append({"hook_event_name": "PostToolUse", "tool_response": answer, **sent})
    if decided:
        events.append({"hook_event_name": "Stop", "last_assistant_message": DECISION})
    if end:
        events.append({"hook_event_name": "SessionEnd", "reason": end})
    return events


def transcript() -> bytes:
    lines: list[dict[str, Any]] = [{"type": "user", "message": {"role": "user", "content": TASK}}]
    for number, (tool, given, output, failed) in enumerate(CALLS):
        call = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": given}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output, "is_error": failed}
        lines.append({"type": "assistant", "message": {"role": "assistant", "content": [call]}})
        lines.append({"type": "user", "message": {"role": "user", "content": [result]}})
    lines.append({"type": "assistant", "message": {"role": "assistant", "content": DECISION}})
    common = {"sessionId": "c1", "cwd": PLACE, "timestamp": "2027-01-15T08:00:00Z"}
    return b"".join(
        json.dumps({"uuid": f"u{n}", **common, **line}).encode() + b"\n" for n, line in enumerate(lines)
    )


async def record(
    team: Team, agent: Agent, events: list[dict[str, Any]], conversation: str = "c1"
) -> dict[str, Any]:
    at = team.clock() / SECOND
    sent = [{"at": at + number, "event": event} for number, event in enumerate(events)]
    return await agent.record_events(conversation=conversation, tool="claude", directory=PLACE, events=sent)


async def start(team: Team, name: str = "ann", **more: Any) -> Agent:
    return await team.agent(name, working_directory=PLACE, **more)


def require_facts(resume: dict[str, Any], count: int = 8) -> None:
    text = json.dumps(resume, ensure_ascii=False)
    missing = [fact for fact, words in EIGHT_FACTS.items() if words not in text]
    assert len(EIGHT_FACTS) - len(missing) >= count, missing
    assert len(text) / 4 <= 1_200


@pytest.mark.parametrize("end", ["prompt_input_exit", ""])
async def test_next_session_knows_after_an_exit_and_after_a_crash(team: Team, end: str):
    ann = await start(team)
    await record(team, ann, hook_events(end=end))
    if end:
        await ann.end_session(summary="")
    team.clock.advance(minutes=20)
    resume = (await start(team)).started["resume"]
    require_facts(resume)
    assert (resume["age"], resume["from"].startswith("ann (claude), ")) == ("19min", True)


async def test_crash_in_the_middle_of_a_turn_is_told_as_one(team: Team):
    ann = await start(team)
    await record(team, ann, hook_events(decided=False))
    team.clock.advance(minutes=20)
    resume = (await start(team)).started["resume"]
    require_facts(resume, 7)
    assert resume["from"] == "ann (claude), stopped in the middle of a turn"


async def test_own_session_knows_after_a_compaction(team: Team):
    ann = await start(team)
    await record(team, ann, [*hook_events(), {"hook_event_name": "PreCompact", "trigger": "auto"}])
    require_facts((await ann.resume())["resume"])


async def test_another_program_of_the_place_knows(team: Team):
    await record(team, await start(team), hook_events(end="other"))
    team.clock.advance(minutes=20)
    require_facts((await start(team, "codex")).started["resume"])


async def test_transcript_tells_the_same_as_the_hooks(team: Team):
    sync = await register_sync_client(team)
    await sync.upload("c1", transcript())
    told = (await start(team)).started["resume"]
    require_facts(told)
    other = await team.agent("ben", "store", working_directory=PLACE)
    await record(team, other, hook_events())
    team.clock.advance(minutes=20)
    by_hooks = (await team.agent("ben", "store", working_directory=PLACE)).started["resume"]
    for part in ("task", "plan", "tests", "works", "own_lines", "avoid"):
        assert _without_ages(told[part]) == _without_ages(by_hooks[part]), part


def _without_ages(part: Any) -> str:
    return re.sub(r" \((?:just now|\d+min)\)", "", json.dumps(part))


async def test_finished_session_leaves_nothing(team: Team):
    ann = await start(team)
    await record(
        team,
        ann,
        [
            {"hook_event_name": "UserPromptSubmit", "prompt": "Which tax rates does the cart know?"},
            {"hook_event_name": "Stop", "last_assistant_message": "7 and 19 percent, in src/tax.py."},
            {"hook_event_name": "SessionEnd", "reason": "exit"},
        ],
    )
    team.clock.advance(minutes=20)
    assert "resume" not in (await start(team)).started
    assert (await ann.resume(agent="ann"))["resume"]["last_words"].startswith("7 and 19 percent")


async def test_session_elsewhere_is_told_nothing_and_one_at_work_keeps_its_own(team: Team):
    await record(team, await start(team), hook_events())
    assert "resume" not in (await team.agent("ben", working_directory="/home/ben/other")).started
    assert "resume" not in (await start(team, "codex")).started
    assert (await (await start(team, "dee")).resume(agent="ann"))["resume"]["age"]


async def test_session_that_only_goes_on_passes_on_the_task(team: Team):
    await record(team, await start(team), hook_events())
    team.clock.advance(minutes=20)
    await record(team, await start(team), [{"hook_event_name": "UserPromptSubmit", "prompt": "go on"}], "c2")
    team.clock.advance(minutes=20)
    resume = (await start(team)).started["resume"]
    assert resume["task"].startswith("Totals of the cart must include VAT")
    assert resume["corrections"] == ["go on (20min)"]


async def test_others_see_the_first_line_of_what_was_asked(team: Team):
    ann = await start(team)
    await record(team, ann, hook_events())
    ben = await team.agent("ben", working_directory="/home/ben/shop")
    [shown] = [each for each in ben.started["active_agents"] if each["agent"] == "ann"]
    assert shown["task"].startswith("Totals of the cart must include VAT")


async def test_how_and_fix_are_found(team: Team):
    ann = await start(team)
    await record(team, ann, hook_events())
    fixed = [
        (
            "Bash",
            {"command": "python app.py"},
            "Exit code 1\nModuleNotFoundError: No module named 'shop'",
            True,
        ),
        ("Bash", {"command": "pip install -e ."}, "Successfully installed shop", False),
        ("Bash", {"command": "python app.py"}, "started", False),
        ("Bash", {"command": "git push --force"}, "done", False),
    ]
    events = []
    for number, (tool, given, output, failed) in enumerate(fixed):
        sent = {"tool_name": tool, "tool_input": given, "tool_use_id": f"x{number}"}
        name = "PostToolUseFailure" if failed else "PostToolUse"
        events.append(
            {
                "hook_event_name": name,
                **sent,
                **({"error": output} if failed else {"tool_response": {"stdout": output}}),
            }
        )
    await record(team, ann, events)
    [first, *_] = (await ann.query(query="how do I run the tests", memory_types=["how"]))["results"]
    assert first["title"].startswith("python -m pytest")
    [fix, *_] = (await ann.query(query="ModuleNotFoundError shop", memory_types=["fix"]))["results"]
    assert "pip install -e ." in fix["content"]
    everything = await ann.query(query="git push", memory_types=["how"], limit=20)
    assert not any("push" in result["title"] for result in everything["results"])
    opened = await ann.get_by_id(doc_id=fix["id"])
    assert (opened["found"], opened["type"]) == (True, "fix")
