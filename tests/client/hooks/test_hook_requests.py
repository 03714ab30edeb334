"""An agent's program that waits for a person: people see it, may answer it where the program can take it, and it ends."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from agent_samples import EVENT_WORD

from commonplace.access import Caller
from commonplace.client.companion import waiting_requests
from patience import PATIENCE_SECONDS

PERSON = Caller("owner", frozenset({"*"}), agent="eve", kind="person")
QUESTIONS = [
    {
        "question": "Which db?",
        "header": "db",
        "options": [{"label": "lite"}, {"label": "pg"}],
        "multiSelect": False,
    }
]


@pytest.fixture(autouse=True)
def short_slices(monkeypatch):
    monkeypatch.setattr(waiting_requests, "_LOCAL_SLICE_SECONDS", 1)
    monkeypatch.setattr(waiting_requests, "_SETTLE_SECONDS", 0.0)


def permission(agent, tool="Bash", **tool_input):
    sent = {"hook_event_name": "PermissionRequest", "tool_name": tool}
    return agent.known | sent | {"tool_input": tool_input or {"command": "git push"}}


async def list_requests(team, status="open"):
    return (await team.anyone(PERSON).list_requests(project="shop", status=status))["requests"]


@asynccontextmanager
async def wait_in_hook(team, agent, payload):
    """The hook waits; the request as a person sees it; after the block the hook has ended."""
    opened, task = asyncio.Event(), None
    stop = await team.calls.bus.listen_to_project(
        "shop", lambda event: opened.set() if event.kind == "RequestOpened" else None
    )
    try:
        task = asyncio.create_task(agent.hook(payload))
        await asyncio.wait_for(opened.wait(), PATIENCE_SECONDS)
        yield task, (await list_requests(team))[0]
        await asyncio.wait_for(task, PATIENCE_SECONDS)
    finally:
        stop()


async def answer(team, request, **given):
    given = {"project": "shop", "request_id": request["id"], "shown": request["shown"]} | given
    return await team.anyone(PERSON).answer_request(**given)


async def test_person_allows_a_command_of_claude(team, near):
    claude = near("claude")
    await claude.start()
    async with wait_in_hook(team, claude, permission(claude)) as (hook, request):
        assert (request["kind"], request["title"], request["text"], request["can_answer"]) == (
            "permission",
            "Bash",
            "git push",
            True,
        )
        await answer(team, request, decision="allow")
    decision = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
    assert hook.result().body == {"hookSpecificOutput": decision}
    assert await list_requests(team) == []


async def test_person_denies_a_command_of_claude_with_a_reason(team, near):
    claude = near("claude")
    await claude.start()
    async with wait_in_hook(team, claude, permission(claude)) as (hook, request):
        await answer(team, request, decision="deny", note="not on Fridays")
    assert hook.result().body["hookSpecificOutput"]["decision"] == {
        "behavior": "deny",
        "message": "eve denied this: not on Fridays",
    }


async def test_note_of_an_allowance_reaches_the_model_later(team, near):
    claude = near("claude")
    await claude.start()
    async with wait_in_hook(team, claude, permission(claude)) as (_, request):
        await answer(team, request, decision="allow", note="then tag it")
    assert "eve adds: then tag it" in (await claude.edited(claude.cwd / "src/cart.py")).context


async def test_person_answers_the_questions_of_claude(team, near):
    claude = near("claude")
    await claude.start()
    asked = permission(claude, "AskUserQuestion", questions=QUESTIONS)
    async with wait_in_hook(team, claude, asked) as (hook, request):
        assert request["questions"] == [
            {"question": "Which db?", "options": [{"label": "lite"}, {"label": "pg"}]}
        ]
        await answer(team, request, decision="answer", answers=["lite"])
    assert hook.result().body["hookSpecificOutput"]["decision"] == {
        "behavior": "allow",
        "updatedInput": {"questions": QUESTIONS, "answers": {"Which db?": "lite"}},
    }


async def test_person_reads_the_whole_plan(team, near):
    claude = near("claude")
    await claude.start()
    async with wait_in_hook(team, claude, permission(claude, "ExitPlanMode", plan="1. Drop it all")) as (
        _,
        request,
    ):
        assert (request["kind"], request["text"]) == ("plan", "1. Drop it all")
        await answer(team, request, decision="deny")


async def test_what_claude_does_next_closes_what_it_waited_for(team, near):
    claude = near("claude")
    await claude.start()
    async with wait_in_hook(team, claude, permission(claude)) as (hook, request):
        await claude.edited(claude.cwd / "src/cart.py")
    assert hook.result().stdout == ""
    assert [(row["id"], row["status"]) for row in await list_requests(team, "all")] == [
        (request["id"], "closed")
    ]


async def test_transcript_that_grows_closes_what_claude_waited_for(team, near, tmp_path):
    claude = near("claude")
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("{}\n")
    claude.transcript = str(transcript)
    await claude.start()
    async with wait_in_hook(team, claude, permission(claude)) as (hook, request):
        while not hook.done():
            with transcript.open("a") as file:
                file.write("{}\n")
            await asyncio.wait([hook], timeout=0.5)
    assert hook.result().stdout == ""
    assert [(row["id"], row["status"]) for row in await list_requests(team, "all")] == [
        (request["id"], "closed")
    ]


async def test_headless_claude_does_not_wait(team, near):
    claude = near("claude", CLAUDE_CODE_SESSION_ATTENDED="0")
    await claude.start()
    assert (await claude.hook(permission(claude))).stdout == ""
    (request,) = await list_requests(team)
    assert "can_answer" not in request


async def test_notification_of_a_dialog_that_is_known_adds_nothing(team, near):
    claude = near("claude", CLAUDE_CODE_SESSION_ATTENDED="0")
    await claude.start()
    await claude.hook(permission(claude))
    told = {
        "hook_event_name": "Notification",
        "notification_type": "permission_prompt",
        "message": "permission",
    }
    await claude.hook(claude.known | told)
    assert len(await list_requests(team)) == 1


async def test_notification_of_a_dialog_of_another_server_is_shown(team, near):
    claude = near("claude")
    await claude.start()
    told = {
        "hook_event_name": "Notification",
        "notification_type": "elicitation_dialog",
        "message": "Colour?",
    }
    await claude.hook(claude.known | told)
    (request,) = await list_requests(team)
    assert (request["questions"], request["tool"]) == ([{"question": "Colour?"}], "claude")


async def test_codex_does_not_wait_unless_it_is_told_to(team, near):
    codex = near("codex")
    await codex.start()
    assert (await codex.hook(permission(codex, command="git push", description="to share"))).stdout == ""
    (request,) = await list_requests(team)
    assert (request["text"], "can_answer" in request) == ("git push\n(to share)", False)


async def test_codex_that_waits_takes_the_answer(team, near):
    codex = near("codex", COMMONPLACE_HOOKS_PERMISSION_SECONDS="50")
    await codex.start()
    async with wait_in_hook(team, codex, permission(codex)) as (hook, request):
        await answer(team, request, decision="allow")
    assert hook.result().body["hookSpecificOutput"]["decision"] == {"behavior": "allow"}


async def test_codex_that_waited_in_vain_opens_its_own_dialog(team, near):
    codex = near("codex", COMMONPLACE_HOOKS_PERMISSION_SECONDS="1")
    await codex.start()
    async with wait_in_hook(team, codex, permission(codex)) as (hook, first):
        pass
    assert hook.result().stdout == ""
    (request,) = await list_requests(team)
    assert (request["id"] != first["id"], "can_answer" in request) == (True, False)


async def test_gemini_says_where_to_answer(team, near):
    gemini = near("gemini")
    await gemini.start()
    details = {
        "type": "exec",
        "title": "Confirm Shell Command",
        "command": "rm -rf build",
        "rootCommand": "rm",
    }
    told = {"hook_event_name": "Notification", "notification_type": "ToolPermission", "details": details}
    assert (await gemini.hook(gemini.known | told)).stdout == ""
    (request,) = await list_requests(team)
    assert (request["title"], request["text"], request["tool"], request["directory"]) == (
        "Confirm Shell Command",
        "rm -rf build",
        "gemini",
        str(gemini.cwd),
    )


def copilot_event(agent, name, **more):
    return {"sessionId": agent.session, "cwd": str(agent.cwd), EVENT_WORD: name, **more}


async def test_copilot_tells_of_a_dialog_and_not_of_every_call(team, near, home):
    copilot = near("copilot", COPILOT_HOME=str(home / "copilot"))
    await copilot.start()
    every = copilot_event(copilot, "permissionRequest", toolName="bash", toolInput={"command": "ls"})
    assert (await copilot.hook(every)).stdout == ""
    assert await list_requests(team) == []
    told = {
        "notification_type": "permission_prompt",
        "title": "Permission needed",
        "message": "Run command: ls",
    }
    await copilot.hook(copilot_event(copilot, "notification", **told))
    (request,) = await list_requests(team)
    assert request["text"] == "Run command: ls"


async def test_copilot_that_waits_takes_the_answer(team, near, home):
    copilot = near("copilot", COPILOT_HOME=str(home / "copilot"), COMMONPLACE_HOOKS_PERMISSION_SECONDS="50")
    await copilot.start()
    every = copilot_event(copilot, "permissionRequest", toolName="bash", toolInput={"command": "ls"})
    async with wait_in_hook(team, copilot, every) as (hook, request):
        await answer(team, request, decision="deny")
    assert hook.result().body == {"behavior": "deny", "message": "eve denied this."}


async def test_opencode_takes_answers_beside_its_dialog_until_it_is_closed(team, near):
    opencode = near("opencode")
    await opencode.start()
    known = {"session_id": opencode.session, "cwd": str(opencode.cwd)}
    asked = {"id": "per_1", "permission": "bash", "metadata": {"command": "git push"}}
    dialog = known | {"hook_event_name": "permission.asked", "asked": asked}
    async with wait_in_hook(team, opencode, dialog) as (hook, request):
        await answer(team, request, decision="deny", note="no")
    verdict = {"decision": "deny", "answers": [], "message": "eve denied this: no"}
    assert hook.result().body == {"verdict": verdict}
    async with wait_in_hook(team, opencode, dialog) as (hook, _):
        await opencode.hook(known | {"hook_event_name": "permission.replied"})
    assert hook.result().body == {}


async def test_end_of_a_turn_is_shown_where_somebody_could_type(team, near):
    codex = near("codex", COMMONPLACE_HOOKS_IDLE="on")
    await codex.start()
    await codex.hook(codex.sends("stop"))
    (request,) = await list_requests(team)
    assert (request["kind"], request["tool"]) == ("idle", "codex")
    silent = near("codex", COMMONPLACE_HOOKS_IDLE="auto")
    await silent.start()
    await silent.hook(silent.sends("stop"))
    assert len(await list_requests(team)) == 1


async def test_hook_without_a_server_leaves_the_dialog_alone(near):
    claude = near("claude", COMMONPLACE_URL="http://127.0.0.1:9", COMMONPLACE_HOOKS_SECONDS="0.1")
    done = await claude.hook(permission(claude))
    assert (done.code, done.stdout) == (0, "")


async def test_requests_can_be_switched_off(team, near):
    claude = near("claude", COMMONPLACE_HOOKS_ANSWERS="off")
    await claude.start()
    assert (await claude.hook(permission(claude))).stdout == ""
    assert await list_requests(team) == []
