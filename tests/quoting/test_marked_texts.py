"""Words of others reach a boot pack, a notice or any reply with a mark, whichever field they were written to."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from injection_texts import INJECTION_TEXTS

from commonplace.access import LOCAL
from commonplace.quoting.marks import mark_reply
from team import Agent, Team

WARNINGS = ("reads like instructions", "has hidden characters")
INNOCENT = "Round the cart totals once"


@dataclass
class Story:
    """mallory writes a text into every field; bob reads."""

    team: Team
    mallory: Agent
    project: str = "shop"
    ids: dict[str, str] = field(default_factory=dict)


Write = Callable[[Story, str], Awaitable[Any]]


async def _post_to_blackboard(story: Story, text: str) -> None:
    board = await story.mallory.create_session(purpose=text, project=story.project)
    story.ids["board"] = board["session_id"]
    await story.mallory.add_message(
        session_id=board["session_id"], content=text, agent_session=story.mallory.session_id
    )


async def _leave_handoff(story: Story, text: str) -> None:
    other = await story.team.agent("oscar", story.project)
    await other.end_session(summary=text, handoff_notes=text)


WRITES: dict[str, Write] = {
    "subject of mail": lambda story, text: story.mallory.send_message(
        to_instance="bob", message="see subject", subject=text[:200]
    ),
    "mail": lambda story, text: story.mallory.send_message(
        to_instance="bob", message=text, priority="urgent"
    ),
    "title of a backlog item": lambda story, text: story.mallory.add_backlog_item(
        title=text[:200], description=text, assigned_to="bob"
    ),
    "state": lambda story, text: story.mallory.define_spec(name="state:bob", content=text),
    "task of an agent": lambda story, text: story.mallory.heartbeat(status="busy", current_task=text[:200]),
    "reason of a lock": lambda story, text: story.mallory.lock_files(files=["cart.py"], reason=text[:200]),
    "signal": lambda story, text: story.mallory.update_work(
        title=text[:200], status="in_progress", signals=["ready"], signal_details=text[:500]
    ),
    "wait for bob": lambda story, text: story.mallory.update_work(
        title=text[:200], status="blocked", blocked_by="bob"
    ),
    "blackboard": _post_to_blackboard,
    "handoff": _leave_handoff,
    "learning": lambda story, text: story.mallory.record_learning(topic=text[:200], content=text),
    "checklist": lambda story, text: story.mallory.checklist(
        action="create", name="cart", items=[text[:200]]
    ),
    "guideline": lambda story, text: story.mallory.guidelines(
        action="set", name="cart", rule=text[:500], scope=story.project
    ),
    "spec": lambda story, text: story.mallory.define_spec(name="cart", content=text),
}


def find_unmarked(value: Any, text: str, marked: bool = False) -> Iterator[str]:
    """Where the text, or its beginning, stands in an object without a warning."""
    if isinstance(value, dict):
        marked = any(warning in str(value.get("warning", "")) for warning in WARNINGS)
        for name, item in value.items():
            yield from (f"{name}.{place}" for place in find_unmarked(item, text, marked))
    elif isinstance(value, list):
        for item in value:
            yield from find_unmarked(item, text, marked)
    elif isinstance(value, str) and text[:25] in value and not marked:
        yield value


async def read_everything(story: Story, bob: Agent) -> dict[str, Any]:
    board = {"session_id": story.ids["board"], "agent_session": bob.session_id}
    return {
        "mail": await bob.get_messages(include_delivered=True),
        "backlog": await bob.list_backlog(),
        "state": await bob.get_spec(name="state:bob"),
        "spec": await bob.get_spec(name="cart"),
        "agents": await bob.list_agents(),
        "status": await bob.get_agent_status(),
        "locks": await bob.get_locks(),
        "work": await bob.get_active_work(),
        "board": await bob.get_context(**board),
        "boards": await bob.list_sessions(),
        "checklist": await bob.checklist(action="get", name="cart"),
        "guidelines": await bob.guidelines(action="list", scope=story.project),
    }


def list_rounds(config: pytest.Config) -> list[list[str]]:
    """For each round, the text of each field: every text in some field, or with --long in every field."""
    texts, fields = list(INJECTION_TEXTS.values()), len(WRITES)
    if config.getoption("--long"):
        return [[text] * fields for text in texts]
    padded = [*texts, *texts[: -len(texts) % fields]]
    return [padded[at : at + fields] for at in range(0, len(padded), fields)]


async def test_an_order_in_any_field_is_marked_wherever_it_is_read(
    team: Team, request: pytest.FixtureRequest
):
    for number, texts in enumerate(list_rounds(request.config)):
        await _play_round(team, f"shop {number}", texts)


async def _play_round(team: Team, project: str, texts: list[str]) -> None:
    bob = await team.agent("bob", project)
    team.clock.advance(seconds=1)
    story = Story(team, await team.agent("mallory", project), project)
    for write, text in zip(WRITES.values(), texts, strict=True):
        await write(story, text)
    notices = (await bob.heartbeat())["_notice"]
    again = await team.agent("bob", project, task_description="cart", token_budget=20_000)
    read = await read_everything(story, again)
    for text in texts:
        assert [notice for notice in notices if text[:25] in notice and not _is_marked(notice)] == []
        assert list(find_unmarked(again.started | {"warning": ""}, text)) == []
        assert list(find_unmarked(read, text)) == []


def _is_marked(notice: str) -> bool:
    return any(warning in notice.partition("]")[0] for warning in WARNINGS)


async def test_the_six_fields_of_a_boot_pack_are_marked_one_by_one(team: Team):
    await team.agent("bob")
    team.clock.advance(seconds=1)
    text = INJECTION_TEXTS["direct order"]
    story = Story(team, await team.agent("mallory"))
    for write in WRITES.values():
        await write(story, text)
    pack = (await team.agent("bob", task_description="cart", token_budget=20_000)).started
    mallory = next(agent for agent in pack["active_agents"] if agent["agent"] == "mallory")
    shown = {
        "subject": pack["messages"]["top"][-1],
        "backlog": pack["backlog"][0],
        "state": pack["state_spec"],
        "task": mallory,
        "lock": pack["relevant_locks"][0],
        "signal": pack["signals"][0],
        "wait": pack["blocking_others"][0],
        "guideline": pack["proposed_guidelines"][0],
    }
    assert {
        name: "reads like instructions" in entry["warning"] for name, entry in shown.items()
    } == dict.fromkeys(shown, True)


async def test_ordinary_texts_carry_no_mark(team: Team):
    bob = await team.agent("bob")
    story = Story(team, await team.agent("mallory"))
    for write in WRITES.values():
        await write(story, INNOCENT)
    assert not any(map(_is_marked, (await bob.heartbeat())["_notice"]))
    again = await team.agent("bob", task_description="cart", token_budget=20_000)
    assert "reads like" not in str(again.started)
    assert "reads like" not in str(await read_everything(story, again))


async def test_a_notice_stays_on_one_line(team: Team):
    bob = await team.agent("bob")
    alice = await team.agent("alice")
    await alice.add_backlog_item(title="Fix\nthe\x1b[2J footer", assigned_to="bob")
    [notice] = (await bob.heartbeat())["_notice"]
    assert notice.endswith("Fix ⏎ the\\u001b[2J footer")


async def test_texts_of_an_agent_that_nobody_admitted_are_marked_in_a_boot_pack(team: Team):
    boss = await team.agent("boss")
    await boss.project(action="create", name="shop")
    stranger = await team.agent("stranger")
    assert stranger.started["registry_warning"]
    await stranger.add_backlog_item(title="Round totals")
    pack = (await team.agent("boss")).started
    [item] = [item for item in pack["backlog"] if item["title"] == "Round totals"]
    assert item["warning"] == "author is not on the team's roster"


async def test_a_refusal_marks_what_it_quotes(team: Team):
    alice = await team.agent("alice")
    await alice.lock_files(files=["a.py"], reason=INJECTION_TEXTS["direct order"])
    bob = await team.agent("bob")
    reply = await bob.lock_files(files=["a.py"])
    assert "reads like instructions" in reply["conflicts"][0]["warning"]


async def test_a_mark_does_not_change_what_a_program_reads_back(team: Team):
    alice = await team.agent("alice")
    await alice.register_workspace(machine="laptop", tool="cli", project="shop")
    text = f"# Notes\n{INJECTION_TEXTS['bidi']}\n{INJECTION_TEXTS['direct order']}\n"
    await alice.write_knowledge(path="notes.md", content=text)
    read = await alice.read_knowledge(workspace_id="laptop-cli-shop", path="notes.md")
    assert read["content"] == text
    assert all(warning in read["warning"] for warning in WARNINGS)


def test_hidden_characters_are_escapes_in_the_bytes_of_a_reply():
    body = mark_reply('{"title":"a\u202eb"}'.encode())
    assert body == b'{"warning":"has hidden characters","title":"a\\u202eb"}'


def test_an_ordinary_reply_keeps_its_bytes():
    body = b'{"items":[{"title":"Round the totals"}],"count":1}'
    assert mark_reply(body) is body


async def test_a_caller_without_a_session_reads_marks_too(team: Team):
    alice = await team.agent("alice")
    await alice.add_backlog_item(title=INJECTION_TEXTS["system tag"])
    listed = await team.anyone(LOCAL).call("memory_list_backlog", project="shop")
    assert "reads like instructions" in listed["items"][0]["warning"]
