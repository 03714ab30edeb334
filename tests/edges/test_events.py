"""Every event is declared, its resource can be read, and whoever subscribes to that resource over MCP is notified."""

import ast
import asyncio
import importlib
import json
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import commonplace
import product
from commonplace.catalogue import CATALOGUE
from commonplace.events import EventType
from patience import PATIENCE_SECONDS
from team import on_sqlite

ROOMS = Path(commonplace.__file__).parent / "rooms"


def declared_constants() -> dict[str, EventType]:
    """The event types that the modules of rooms declare, by the name of their constant."""
    paths = [*ROOMS.glob("*/contributes.py"), *ROOMS.glob("*/events.py")]
    modules = [
        importlib.import_module(f"commonplace.rooms.{path.parent.name}.{path.stem}") for path in sorted(paths)
    ]
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, EventType)
    }


def emitted_constants() -> set[str]:
    """The names that the source passes to `emit`, or calls `create` on."""
    names: set[str] = set()
    for path in ROOMS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            named = node.args[0] if node.func.attr == "emit" and node.args else node.func.value
            if node.func.attr in ("emit", "create") and isinstance(named, ast.Name):
                names.add(named.id)
            elif node.func.attr == "emit" and ast.unparse(named).startswith("EVENTS["):
                module = importlib.import_module(f"commonplace.rooms.{path.parent.name}.contributes")
                names |= {name for name, value in vars(module).items() if value in module.EVENTS.values()}
    return names


def test_every_emitted_event_is_declared_and_listed_by_its_room():
    declared = declared_constants()
    assert {name for name in emitted_constants() if name.isupper()} == declared.keys()
    listed = [event.name for room in CATALOGUE.rooms for event in room.events]
    assert sorted(listed) == sorted(event.name for event in declared.values())
    assert len(set(listed)) == len(listed)


def test_every_event_concerns_a_resource_of_the_catalogue():
    for event in CATALOGUE.event_types.values():
        assert event.resource in CATALOGUE.resources
        assert event.item_resource is None or event.item_resource in CATALOGUE.resources


def test_events_about_single_things_name_them_in_their_body():
    stored, document = CATALOGUE.event_types["DocumentsChanged"], "memory://doc_1"
    event = stored.create_event("shop", 0, "ann", {"ids": ["doc_1"]})
    assert stored.list_uris(event) == ["knowledge://shop", document]


@dataclass
class World:
    """A server with keys on, its owner, and two agents in one project."""

    server: product.Product
    key: str
    names: dict[str, str] = field(default_factory=dict)

    def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return self.server.call(operation, self.key, **arguments)

    def ann(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return self.call(operation, session_id=self.names["ann"], **arguments)

    def ben(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return self.call(operation, session_id=self.names["ben"], **arguments)

    def start(self, agent: str, project: str = "shop") -> str:
        started = self.call("memory_start_session", project=project, claude_instance=agent)
        return str(started["session_id"])

    def prepare(self) -> None:
        """What must exist before a client can subscribe to it."""
        for agent in ("ann", "ben", "leaver"):
            self.names[agent] = self.start(agent)
        self.start("ann", "old_shop")
        self.names["document"] = self.ann("memory_store", title="Carts", content="They expire.", memory_type="pattern", tags=["t"])["id"]  # fmt: skip
        self.names["message"] = self.ben("memory_send_message", to_instance="ann", message="hello")[
            "message_id"
        ]
        self.names["claimed"] = self.ben("memory_send_message", to_instance="*", message="who?")["message_id"]
        self.names["board"] = self.call("create_session", purpose="plan", project="shop")["session_id"]
        self.names["function"] = self.ann(
            "memory_register_function", name="total", file="cart.py", purpose="Adds.", gotchas="none"
        )["id"]
        self.ann("memory_define_spec", name="cart api", content="GET /cart")
        self.ann("memory_checklist", action="create", name="release", items=["tests"])
        self.ann("memory_update_work", title="tax", status="blocked", waiting_for_signal="cart_ready")
        self.call("memory_admin", action="create_key", name="spare", role="readonly", projects=["shop"])
        sync = self.call("memory_admin", action="create_key", name="laptop", role="sync", projects=["shop"])[
            "key"
        ]
        laptop = self.server.call(
            "register_workspace", sync, machine="laptop", tool="claude-code", project="shop"
        )
        self.names |= {"workspace_id": laptop["workspace_id"], "write_token": laptop["write_token"]}
        self.ann("register_workspace", machine="laptop", tool="claude-code", project="shop")
        self.ann("write_knowledge", path="a b.md", content="fish")

    def upload(self) -> dict[str, Any]:
        place = {name: self.names[name] for name in ("workspace_id", "write_token")}
        return self.call("upload_session", session_id="s1", content='{"n": 0}\n', **place)


@dataclass(frozen=True)
class Scenario:
    """An act of an agent that emits the event, and the address whose subscribers must hear of it."""

    event: str
    uri: Callable[[World], str]
    act: Callable[[World], object]


def at(uri: str) -> Callable[[World], str]:
    return lambda world: uri.format(**world.names)


SCENARIOS = (
    Scenario("SessionStarted", at("agents://shop"), lambda world: world.start("carol")),
    Scenario(
        "SessionEnded",
        at("agents://shop"),
        lambda world: world.call("memory_end_session", session_id=world.names["leaver"], summary="done"),
    ),
    Scenario(
        "AgentChanged",
        at("agents://shop"),
        lambda world: world.ann("memory_heartbeat", status="busy", current_task="tax"),
    ),
    Scenario("FilesLocked", at("locks://shop"), lambda world: world.ann("memory_lock_files", files=["a.py"])),
    Scenario(
        "FilesReleased", at("locks://shop"), lambda world: world.ann("memory_unlock_files", files=["a.py"])
    ),
    Scenario(
        "MessageSent",
        at("inbox://shop/ann"),
        lambda world: world.ben("memory_send_message", to_instance="ann", message="again"),
    ),
    Scenario(
        "MessageUpdated",
        at("inbox://shop/ann"),
        lambda world: world.ann("memory_acknowledge_message", message_id=world.names["message"]),
    ),
    Scenario(
        "MessageClaimed",
        at("inbox://shop/ann"),
        lambda world: world.ann("memory_claim_message", message_id=world.names["claimed"]),
    ),
    Scenario(
        "WorkUpdated",
        at("work://shop"),
        lambda world: world.ann("memory_update_work", title="cart", status="in_progress"),
    ),
    Scenario(
        "SignalSent",
        at("signals://shop"),
        lambda world: world.ben("memory_update_work", title="x", status="completed", signals=["green"]),
    ),
    Scenario(
        "WorkUnblocked",
        at("work://shop"),
        lambda world: world.ben("memory_update_work", title="x", status="completed", signals=["cart_ready"]),
    ),
    Scenario(
        "BacklogChanged",
        at("backlog://shop"),
        lambda world: world.ann("memory_add_backlog_item", title="Cart"),
    ),
    Scenario(
        "SpecChanged",
        at("spec://shop/cart%20api"),
        lambda world: world.ann("memory_define_spec", name="cart api", content="GET /carts", version="1.1.0"),
    ),
    Scenario(
        "ChecklistChanged",
        at("checklist://shop/release"),
        lambda world: world.ann("memory_checklist", action="add", name="release", items=["changelog"]),
    ),
    Scenario(
        "DocumentStored",
        at("knowledge://shop"),
        lambda world: world.ann("memory_record_learning", topic="Tax", content="Round once."),
    ),
    Scenario(
        "DocumentChanged",
        at("memory://{document}"),
        lambda world: world.ann(
            "memory_change_status", doc_id=world.names["document"], new_status="deprecated"
        ),
    ),
    Scenario(
        "DocumentsChanged",
        at("memory://{document}"),
        lambda world: world.ann("memory_archive_by_tag", tag="t"),
    ),
    Scenario(
        "FunctionRegistered",
        at("functions://shop"),
        lambda world: world.ann(
            "memory_register_function", name="tax", file="tax.py", purpose="Rounds.", gotchas="none"
        ),
    ),
    Scenario(
        "FunctionEnriched",
        at("functions://shop"),
        lambda world: world.ann(
            "memory_enrich_function", func_id=world.names["function"], search_summary="Adds up."
        ),
    ),
    Scenario(
        "FunctionsSynced",
        at("functions://shop"),
        lambda world: world.call("memory_sync_functions", project="shop", gone=[["cart.py", "total"]]),
    ),
    Scenario(
        "GuidelineChanged",
        at("guidelines://shop"),
        lambda world: world.call("memory_guidelines", action="set", name="a", rule="Test.", scope="shop"),
    ),
    Scenario(
        "GuidelineChanged",
        at("guidelines://global"),
        lambda world: world.call("memory_guidelines", action="set", name="b", rule="Test."),
    ),
    Scenario(
        "MessageAdded",
        at("session://{board}"),
        lambda world: world.call("add_message", session_id=world.names["board"], content="hi"),
    ),
    Scenario(
        "SessionClosed",
        at("session://{board}"),
        lambda world: world.call("close_session", session_id=world.names["board"]),
    ),
    Scenario(
        "KnowledgeWritten",
        at("workspace://{workspace_id}/a%20b.md"),
        lambda world: world.ann("write_knowledge", path="a b.md", content="whale"),
    ),
    Scenario(
        "KnowledgeDeleted",
        at("workspace://{workspace_id}/a%20b.md"),
        lambda world: world.ann("delete_knowledge", path="a b.md"),
    ),
    Scenario(
        "OverviewWritten",
        at("workspace://{workspace_id}"),
        lambda world: world.ann("write_overview", content="# Shop"),
    ),
    Scenario(
        "SessionArchived",
        at("workspace://{workspace_id}"),
        lambda world: world.upload(),
    ),
    Scenario(
        "KeyRevoked",
        at("keys://server"),
        lambda world: world.call("memory_admin", action="revoke_key", name="spare"),
    ),
    Scenario(
        "ProjectCreated",
        at("project://shop"),
        lambda world: world.call("memory_project", action="create", name="shop"),
    ),
    Scenario(
        "ProjectDeleted",
        at("project://old_shop"),
        lambda world: world.call("memory_project", action="delete", name="old_shop", confirm="old_shop"),
    ),
)


# Nobody can subscribe to what does not exist yet, and a lease lapses only after minutes (tests/rooms/test_lock_leases.py).
def _answer_request(world: World) -> None:
    (request, *_) = world.call("memory_list_requests", project="shop")["requests"]
    bound = {"project": "shop", "request_id": request["id"], "shown": request["shown"]}
    world.call("memory_answer_request", **bound, decision="answer", answers=["yes"])


def _close_request(world: World) -> None:
    world.ann("memory_report_request", kind="permission", text="ls")
    world.ann("memory_close_requests")


PREVENTED = {
    "EditDenied": "edit_denied",
    "CommandDenied": "command_denied",
    "CommitRefused": "commit_refused",
    "RuleFired": "rule_fired",
    "RescueMade": "rescue_made",
    "ConflictPredicted": "conflict_predicted",
}
SCENARIOS += tuple(
    Scenario(
        event,
        at("checkouts://shop"),
        lambda world, kind=kind: world.ann("memory_report_prevented", kind=kind, what="git stash"),
    )
    for event, kind in PREVENTED.items()
)
SCENARIOS += (
    Scenario(
        "RequestOpened",
        at("requests://shop"),
        lambda world: world.ann("memory_ask_person", question="Ship it?", wait_seconds=0),
    ),
    Scenario("RequestAnswered", at("requests://shop"), _answer_request),
    Scenario("RequestClosed", at("requests://shop"), _close_request),
)
WITHOUT_SCENARIO = {"SessionCreated", "WorkspaceRegistered", "LeaseTakenOver", "BrowserSignedOut"}


def test_every_event_has_a_scenario():
    assert {scenario.event for scenario in SCENARIOS} == CATALOGUE.event_types.keys() - WITHOUT_SCENARIO


@pytest.fixture
def world(address: Path | str, tmp_path: Path) -> Any:
    flags = product.store_flags(address, tmp_path / "owner")
    created = subprocess.run(
        product.command("key", "create", "--name", "owner", "--role", "owner", *flags),
        capture_output=True, text=True, check=True, env=product.environment(),
    )  # fmt: skip
    with product.running(*flags, "--auth", "on") as server:
        world = World(server, created.stdout.split()[0])
        world.prepare()
        yield world


@asynccontextmanager
async def connected(world: World) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {world.key}"}) as http:
        transport = streamable_http_client(f"{world.server.url}/mcp", http_client=http)
        async with Client(transport) as client:
            yield client


async def test_every_event_notifies_who_subscribed_to_its_resource(world: World):
    uris = sorted({scenario.uri(world) for scenario in SCENARIOS})
    async with connected(world) as client:
        templates = {
            each.uri_template for each in (await client.list_resource_templates()).resource_templates
        }
        assert {event.resource.template for event in CATALOGUE.event_types.values()} <= templates
        for uri in uris:
            assert json.loads((await client.read_resource(uri)).contents[0].text) is not None
        async with client.listen(resource_subscriptions=uris) as notifications:
            for scenario in SCENARIOS:
                await asyncio.to_thread(scenario.act, world)
                assert await _is_notified(notifications, scenario.uri(world)), scenario.event


async def _is_notified(notifications: Any, uri: str) -> bool:
    """Read notifications until the one of this address."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for notification in notifications:
            if str(notification.uri) == uri:
                return True
    return False


@on_sqlite
async def test_subscriptions_by_another_spelling_of_the_address_are_notified_too(world: World):
    """By an abbreviated id, by a project's other spelling, and with more characters escaped than needed."""
    spellings = (
        (f"memory://{world.names['document'][:10]}", "DocumentChanged"),
        ("locks://Shop", "FilesLocked"),
        ("spec://shop/cart%20%61pi", "SpecChanged"),
    )
    async with (
        connected(world) as client,
        client.listen(resource_subscriptions=[uri for uri, _ in spellings]) as notifications,
    ):
        for uri, event in spellings:
            scenario = next(each for each in SCENARIOS if each.event == event)
            await asyncio.to_thread(scenario.act, world)
            assert await _is_notified(notifications, uri), uri
