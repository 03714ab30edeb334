"""A write does not return the texts that were sent: they cost the agent tokens and it knows them already.

What a reply may return of the arguments are ids, names (of agents, projects, files, keys, signals) and words of a closed
set. A title is returned only by a call that did not send it, so that its reader recognises the item.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import pytest

from commonplace import access
from commonplace.catalogue import CATALOGUE
from commonplace.operation import Operation, OperationFamily
from commonplace.tool_schema import input_schema
from team import Agent, Team, on_sqlite

pytestmark = pytest.mark.sqlite_only

MARK = "zqx sent words"
NAMES = frozenset(
    [
        "agent",
        "agent_id",
        "agent_session",
        "agent_type",
        "api_key",
        "assigned_to",
        "base_sha256",
        "blocked_by",
        "claude_instance",
        "confirm",
        "content_gzip_base64",
        "cursor",
        "depends_on",
        "display_name",
        "doc_id",
        "file",
        "file_path",
        "files",
        "files_modified",
        "files_touched",
        "for_instance",
        "func_id",
        "idempotency_key",
        "in_response_to",
        "interface_name",
        "interface_owner",
        "interface_version",
        "item_id",
        "key",
        "lock",
        "machine",
        "machines",
        "message_id",
        "name",
        "owner",
        "parent_message_id",
        "path",
        "path_patterns",
        "project",
        "projects",
        "reply_to",
        "request_id",
        "scope",
        "sender",
        "session",
        "session_id",
        "sha256",
        "shown",
        "signals",
        "spawned_by",
        "spec_type",
        "started_at",
        "superseded_by",
        "supersedes",
        "tag",
        "takes_handoff",
        "thread_id",
        "tmux_target",
        "to_instance",
        "to_project",
        "tool",
        "version",
        "waiting_for_signal",
        "windows",
        "working_directory",
        "workspace_id",
        "workspaces",
        "write_token",
    ]
)
PROGRAMS = frozenset(
    {
        "bind_windows",
        "memory_readmit_subject",
        "memory_report_checkout",
        "memory_report_citations",
        "memory_sync_functions",
        "memory_record_events",
        "memory_call_operation",  # answers as the operation that it calls
    }
)


def _write_operations() -> Iterator[tuple[str, str, Operation]]:
    for tool in CATALOGUE.tools.values():
        if isinstance(tool, OperationFamily):
            yield from ((tool.name, action, act) for action, act in tool.actions.items() if act.writes)
        elif tool.writes and tool.name not in PROGRAMS:
            yield tool.name, "", tool


class EchoStory:
    """A team with one of everything that a write can be about."""

    def __init__(self, agent: Agent, fixed: Mapping[str, Any]) -> None:
        self.agent, self._fixed = agent, fixed

    def build_arguments(self, tool: str, action: str, operation: Operation) -> dict[str, Any]:
        """What the story fixes for this call, and marked words in every other text."""
        schema = input_schema(operation)["properties"]
        texts = {
            name: _mark_value(kind)
            for name, kind in schema.items()
            if name not in NAMES and "enum" not in kind and _mark_value(kind) is not None
        }
        fixed = self._fixed.get(f"{tool}.{action}" if action else tool, {})
        needed = {operation.session_argument: self.agent.session_id} if operation.session_argument else {}
        return texts | needed | fixed | ({"action": action} if action else {})


def _mark_value(kind: Mapping[str, Any]) -> Any:
    match kind.get("type", "any"):
        case "string" | "any":
            return MARK
        case "object":
            return {"word": MARK}
        case "array" if kind["items"].get("type") == "string":
            return [MARK]
    return None


async def _tell_story(team: Team) -> EchoStory:
    owner = access.OPERATOR
    bob = await team.agent("bob", caller=owner)
    alice = await team.agent("alice", caller=owner)
    document = await alice.store(title="Cart totals", content="in cents", memory_type="adr", tags=["money"])
    mail = [await bob.send_message(to_instance="alice", message=f"hello {n}") for n in range(2)]
    shout = await bob.send_message(to_instance="*", message="who reviews?")
    items = [await alice.add_backlog_item(title=f"item {n}") for n in range(3)]
    board = await alice.create_session(purpose="totals")
    function = await alice.register_function(name="add_tax", file_path="tax.py", purpose="adds tax")
    place = await alice.register_workspace(machine="m", tool="t", project="shop", rotate=True)
    await alice.write_knowledge(path="a.md", content="one")
    await alice.write_knowledge(path="a.md", content="two")
    await alice.checklist(action="create", name="release", items=["build"])
    await alice.guidelines(action="set", name="money", rule="cents", scope="shop")
    await alice.project(action="create", name="bank")
    await alice.admin(action="create_key", name="spare", projects=["shop"])
    await alice.archive_by_tag(tag="old")
    await bob.lock_files(files=["src/held.py", "src/back.py"])
    held = {"project": "shop", "agent": "bob"}
    taken = await alice.call("memory_release_lock", **held, file="src/back.py", reason="away")
    asked = await bob.ask_person(question="ship?", wait_seconds=0)
    listed = {row["id"]: row for row in (await alice.list_requests(project="shop"))["requests"]}
    question = listed[asked["request_id"]]
    address = {"kind": "slack", "url": "https://hooks.example.org/x"}
    webhooks = [{"id": (await alice.add_webhook(**address))["id"]} for _ in range(2)]
    board_id, upload = {"session_id": board["session_id"]}, {"workspace_id": place["workspace_id"]}
    token = {"write_token": place["write_token"]}
    transcript = msgspec.json.encode({"type": "user", "message": {"role": "user", "content": MARK}}).decode()
    return EchoStory(
        alice,
        {
            "memory_start_session": {"project": "shop", "claude_instance": "carol"},
            "memory_store": {"memory_type": "adr"},
            "memory_change_status": {"doc_id": document["id"], "new_status": "deprecated"},
            "memory_archive_by_tag": {"tag": "money"},
            "memory_restore_by_tag": {"tag": "old"},
            "memory_send_message": {"to_instance": "bob"},
            "memory_acknowledge_message": {"message_id": mail[0]["message_id"]},
            "memory_update_message_status": {"message_id": mail[1]["message_id"], "status": "completed"},
            "memory_claim_message": {"message_id": shout["message_id"]},
            "memory_project.create": {"name": "mill"},
            "memory_project.delete": {"name": "bank", "confirm": "bank"},
            "memory_project.add_agent": {"name": "shop", "agent": "dora"},
            "memory_project.update_agent": {"name": "shop", "agent": "bob"},
            "memory_project.remove_agent": {"name": "shop", "agent": "bob"},
            "memory_guidelines.set": {
                "name": "tests",
                "scope": "shop",
                "enforce": {"on": "edit", "match": {"path": "**"}, "do": "warn", "say": MARK, "reason": MARK},
            },
            "memory_guidelines.delete": {"name": "money", "scope": "shop"},
            "memory_admin.create_key": {"name": "other", "role": "agent"},
            "memory_admin.revoke_key": {"name": "spare"},
            "memory_admin.revoke_writer": {"name": place["workspace_id"], "agent": "alice"},
            "memory_lock_files": {"files": ["src/a.py"]},
            "memory_release_lock": {**held, "file": "src/held.py"},
            "memory_return_lock": {
                **held,
                "session": taken["released"][0]["session"],
                "lock": "src/back.py",
            },
            "memory_report_prevented": {"kind": "edit_denied"},
            "memory_report_request": {"kind": "permission"},
            "memory_add_webhook": {**address, "topics": ["digest"], "token": "tk"},
            "memory_remove_webhook": webhooks[0],
            "memory_test_webhook": webhooks[1],
            "memory_ask_person": {"wait_seconds": 0},
            "memory_answer_request": {
                "project": "shop",
                "request_id": question["id"],
                "shown": question["shown"],
                "decision": "answer",
                "answers": [MARK],
            },
            "memory_update_work": {"status": "in_progress", "signals": ["done"]},
            "memory_update_backlog_item": {"item_id": items[0]["id"]},
            "memory_complete_backlog_item": {"item_id": items[1]["id"]},
            "memory_batch_backlog": {
                "action": "create",
                "items": [{"title": MARK, "description": MARK, "tags": [MARK]}],
            },
            "create_session": {"purpose": "by contract in the reply"},
            "close_session": board_id,
            "add_message": board_id,
            "add_private_note": board_id,
            "set_memory": {"key": "k"},
            "delete_memory": {"key": "k"},
            "memory_define_spec": {"name": "cart", "json_schema": {"type": "object", "description": MARK}},
            "memory_checklist.create": {"name": "rollout"},
            "memory_checklist.add": {"name": "release"},
            "memory_checklist.check": {"name": "release", "item_index": 0},
            "memory_checklist.delete": {"name": "release"},
            "memory_register_function": {"name": "add_vat", "file_path": "vat.py"},
            "memory_enrich_function": {"func_id": function["id"], "parameters": [{"name": MARK}]},
            "register_workspace": {"machine": "n", "tool": "t", "project": "shop"},
            "write_knowledge": {"path": "b.md"},
            "upload_knowledge": {"path": "c.md", **upload, **token},
            "delete_knowledge": {"path": "a.md"},
            "restore_version": {"path": "a.md", "version": 1},
            "upload_session": {"session_id": "s1", "content": f"{transcript}\n", **upload, **token},
        },
    )


@on_sqlite
@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "action", "operation"),
    [pytest.param(*case, id=".".join(filter(None, case[:2]))) for case in _write_operations()],
)
async def test_a_write_does_not_return_the_texts_that_were_sent(
    team: Team, tool: str, action: str, operation: Operation
):
    story = await _tell_story(team)
    reply = await story.agent.call(tool, **story.build_arguments(tool, action, operation))
    assert MARK not in msgspec.json.encode(reply).decode()


async def test_a_title_is_returned_where_it_was_not_sent(team: Team):
    alice = await team.agent("alice")
    item = await alice.add_backlog_item(title="Cart", tags=["money"])
    claimed = await alice.update_backlog_item(item_id=item["id"], claim=True)
    closed = await alice.complete_backlog_item(item_id=item["id"], resolution="in cents")
    assert ("title" in item, "tags" in item) == (False, False)
    assert (claimed["title"], claimed["tags"], closed["title"]) == ("Cart", ["money"], "Cart")


async def test_a_write_of_the_backlog_says_once_what_was_done(team: Team):
    alice = await team.agent("alice")
    item = await alice.add_backlog_item(title="Cart")
    raised = await alice.update_backlog_item(item_id=item["id"], priority="high")
    held = await alice.update_backlog_item(item_id=item["id"], status="deferred")
    claimed = await alice.update_backlog_item(item_id=item["id"], claim=True)
    freed = await alice.update_backlog_item(item_id=item["id"], assigned_to="")
    words = [(reply["status"], reply.get("item_status")) for reply in (item, raised, held, claimed, freed)]
    assert words == [
        ("added", "open"),
        ("updated", None),
        ("updated", "deferred"),
        ("updated", "in_progress"),
        ("updated", "open"),
    ]
