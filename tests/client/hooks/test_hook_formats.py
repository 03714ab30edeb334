"""Every agent's own input and output, odd and broken ones too."""

import io
import json

import pytest
from agent_samples import load_samples
from hooked import Done
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.client.agents import AGENTS_WITH_HOOKS, load_hooks
from commonplace.client.companion import boot_context, payload, program
from commonplace.client.companion.hook_event import HookEvent
from commonplace.client.companion.hook_state import HookSession

REASONS = {"permissionDecisionReason", "reason", "user_message", "agent_message", "denied"}


def without_reasons(body):
    return {
        name: without_reasons(value) if isinstance(value, dict) else value
        for name, value in body.items()
        if name not in REASONS
    }


@pytest.mark.parametrize("tool", AGENTS_WITH_HOOKS)
async def test_edit_is_denied_in_the_agents_own_way(team, agent, tool):
    alice = await team.agent("alice", project="shop")
    await alice.lock_files(files=["src/cart.py"])
    bob = agent(tool)
    denied = await bob.edit(bob.cwd / "src/cart.py")
    assert "leased by alice" in denied.denial
    assert (denied.code, without_reasons(denied.body)) == load_samples()[tool].DENIAL


@pytest.mark.parametrize(
    "tool", [tool for tool in AGENTS_WITH_HOOKS if "session_start" in load_samples()[tool].EVENTS]
)
async def test_start_tells_the_boot_pack(team, near, tool):
    alice = await team.agent("alice", project="shop")
    await alice.record_learning(topic="Cart totals", content="Round at the end.")
    bob = near(tool)
    context = (await bob.start()).context
    words = json.loads(context.rpartition("\n")[2])
    assert (words["agent"], words["project"]) == (tool, "shop")
    assert [learning["title"] for learning in words["learnings"]] == ["Cart totals"]
    first_line = context.partition("\n")[0]
    assert first_line.startswith(f"You are the agent {tool} in the project shop")
    assert "already started" in first_line
    assert first_line.endswith(f"session_id for these tools: {words['session_id']}")


async def test_start_stays_within_what_agents_take(team, near):
    alice = await team.agent("alice", project="shop")
    await alice.end_session(summary="Große Pläne", handoff_notes="Größe über alles. " * 1_000)
    context = (await near("codex", COMMONPLACE_AGENT="alice").start()).context
    assert 6_000 < len(context.encode()) <= boot_context.MAX_CONTEXT_BYTES < 10_000
    assert json.loads(context.rpartition("\n")[2])["handoff"]["truncated"]


@pytest.mark.parametrize("tool", AGENTS_WITH_HOOKS)
@pytest.mark.parametrize(
    "sent",
    [
        b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"hook_event_name": 5}', b'{"hook_event_name": "PreToolUse"}',
        b'{"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": [1]}',
        b'{"session_id": "s", "hook_event_name": "Unheard"}', b"[" * 100_000,
    ],
    ids=range(10),
)  # fmt: skip
def test_broken_input_lets_the_agent_go_on(tool, sent, monkeypatch, tmp_path, capfd):
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(sent)))
    assert program.main(["hook", tool]) == 0
    assert capfd.readouterr().out == ""


async def test_broken_input_is_logged(agent, home):
    assert await agent().hook(b"{") == Done(0, "", "")
    assert "hook claude: JSONDecodeError" in (home / "hooks.log").read_text()


async def test_unknown_agent_is_no_fault_of_the_one_that_runs(agent):
    done = await agent("emacs").hook(b"{}")
    assert (done.code, done.stdout) == (0, "")
    assert "claude, codex" in done.stderr


def edits(agent, **sent):
    event = load_hooks(agent).parse_event({"session_id": "s", "cwd": "/w", "transcript_path": None} | sent)
    return event.files if event else None


PATCH = """*** Begin Patch
*** Add File: a b.py
+*** Update File: not-me.py
*** Update File: src/old.py
*** Move to: src/new.py
@@
-x
+y
*** Delete File: gone.py\r
*** End Patch"""


def test_every_file_of_a_patch_counts():
    assert payload.list_patched_files({"command": PATCH}) == ("a b.py", "src/old.py", "src/new.py", "gone.py")
    assert payload.list_patched_files({"command": ["apply_patch", PATCH]}) == payload.list_patched_files(
        {"input": PATCH}
    )
    assert (
        payload.list_patched_files({"command": "ls"}) == payload.list_patched_files({"command": None}) == ()
    )


@pytest.mark.parametrize(
    ("agent", "event", "tool", "arguments", "files"),
    [
        ("claude", "PreToolUse", "Write", {"file_path": "/w/a.py", "content": ""}, ("/w/a.py",)),
        ("claude", "PreToolUse", "MultiEdit", {"file_path": "C:\\w\\a.py", "edits": [{}]}, ("C:\\w\\a.py",)),
        ("claude", "PostToolUse", "NotebookEdit", {"notebook_path": "/w/a.ipynb"}, ("/w/a.ipynb",)),
        ("claude", "PreToolUse", "Bash", {"command": "rm a.py"}, ()),
        ("claude", "PreToolUse", "Read", {"file_path": "/w/a.py"}, None),
        ("claude", "PreToolUse", "Edit", {"file_path": 7}, None),
        ("codex", "PreToolUse", "Bash", {"command": PATCH}, ()),
        ("codex", "PostToolUse", "apply_patch", {"command": PATCH}, ("a b.py", "src/old.py", "src/new.py", "gone.py")),
        ("gemini", "BeforeTool", "write_file", {"file_path": "a.py"}, ("a.py",)),
        ("gemini", "BeforeTool", "read_file", {"file_path": "a.py"}, None),
        ("cursor", "preToolUse", "Write", '{"file_path": "/w/a.py"}', ("/w/a.py",)),
        ("cursor", "preToolUse", "Shell", '{"command": "ls"}', None),
        ("vscode", "PreToolUse", "create_file", {"filePath": "/w/a.py"}, ("/w/a.py",)),
        ("vscode", "PreToolUse", "multi_replace_string_in_file",
         {"replacements": [{"filePath": "/w/a.py"}, {"filePath": "/w/b.py"}, {}, 3]}, ("/w/a.py", "/w/b.py")),
        ("vscode", "PreToolUse", "apply_patch", {"input": PATCH}, ("a b.py", "src/old.py", "src/new.py", "gone.py")),
        ("vscode", "preToolUse", "edit", {"path": "/w/a.py"}, ("/w/a.py",)),
        ("vscode", "PreToolUse", "read_file", {"filePath": "/w/a.py"}, None),
        ("opencode", "tool.execute.before", "write", {"filePath": "/w/a.py"}, ("/w/a.py",)),
        ("opencode", "tool.execute.before", "patch", {"patchText": PATCH}, ("a b.py", "src/old.py", "src/new.py", "gone.py")),
    ],
)  # fmt: skip
def test_edited_files_are_found(agent, event, tool, arguments, files):
    sent = {"hook_event_name": event, "tool_name": tool, "tool_input": arguments, "conversation_id": "s"}
    assert edits(agent, **sent) == files


def test_vscode_of_february_is_understood():
    sent = {"sessionId": "s", "hookEventName": "PreToolUse", "cwd": "/w", "toolName": "create_file"}
    arguments = {"filePath": "/w/a.py"}
    assert load_hooks("vscode").parse_event(sent | {"toolInput": arguments}) == HookEvent(
        "before_edit", "PreToolUse", "s", "/w", ("/w/a.py",), arguments=arguments, tool="create_file"
    )


def test_cursor_on_windows_names_its_folder_as_windows_does():
    sent = {"conversation_id": "s", "hook_event_name": "sessionStart", "workspace_roots": ["/c:/work/shop"]}
    assert load_hooks("cursor").parse_event(sent) == HookEvent(
        "session_start", "sessionStart", "s", "c:/work/shop"
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from([
    "hook_event_name", "agent_action_name", "tool_name", "tool_input", "session_id", "conversation_id",
    "trajectory_id", "cwd", "workspace_roots", "file_path", "tool_info", "prompt", "transcript_path",
])  # fmt: skip
WORDS = st.sampled_from(
    [name for sample in load_samples().values() for name in sample.EVENTS.values()] + ["Edit", "Write"]
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(NAMES, JSON | WORDS))
def test_whatever_an_agent_sends_is_an_event_or_nothing(sent):
    for agent in AGENTS_WITH_HOOKS:
        event = load_hooks(agent).parse_event(sent)
        assert event is None or all(isinstance(file, str) and file for file in event.files)


async def test_vs_code_that_runs_claudes_hooks_is_known_as_itself(near, home):
    code = near("claude", COPILOT_HOME=str(home / "copilot"))
    sent = {"timestamp": "2026-08-21T10:00:00Z", "source": "new"}
    assert "agent vscode " in (await code.hook(code.sends("session_start") | sent)).context
    edit = (
        code.sends("before_edit", "a.py")
        | sent
        | {"tool_name": "create_file", "tool_input": {"filePath": "a.py"}}
    )
    assert (await code.hook(edit)).stdout == ""
    (home / "copilot" / "hooks").mkdir(parents=True)
    (home / "copilot" / "hooks" / "commonplace.json").write_text("{}")
    again = near("claude", COPILOT_HOME=str(home / "copilot"))
    assert (await again.hook(again.sends("session_start") | sent)).stdout == ""


def test_reminder_fits_whole_whatever_is_locked():
    boot_pack = {"session_id": "s", "learnings": [{"id": str(n), "text": "x" * 300} for n in range(25)]}
    session = HookSession("s", "shop", "alice", "/", "claude", boot_context.encode_pack(boot_pack))
    locks = {"locks": [{"file": "y" * 200}] * 10, "your_locks": [{"file": "z" * 100}] * 20}
    reminder = boot_context.render_reminder(session, {"unread": 2}, locks, {}, "auto")
    shown = json.loads(reminder.partition("as memory_start_session returned it:\n")[2])
    assert (len(reminder.encode()) <= boot_context.MAX_CONTEXT_BYTES, shown["messages"]) == (
        True,
        {"unread": 2},
    )
    assert shown["learnings"] == boot_pack["learnings"][: len(shown["learnings"])]
