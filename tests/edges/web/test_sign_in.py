"""Signing in to the web page: one-time links, keys, cookies, CSRF tokens, signing out."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from commonplace import access, errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.edges.application import build_application
from commonplace.edges.identity import Identity
from commonplace.edges.mcp.publisher import Publisher
from commonplace.edges.project_events import ProjectEvents
from commonplace.rooms.projects.event_feed import read_all_events

HOST = "127.0.0.1:8080"
OWN = {"host": HOST, "origin": f"http://{HOST}", "content-type": "application/json"}


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Browser:
    """Speaks to the application as a browser does: it keeps the cookie and, once told, the CSRF token."""

    door: "WebDoor"
    cookie: str = ""
    csrf: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    async def request(self, method: str, path: str, body: Any = None, **more: str) -> Answer:
        headers = OWN | self.headers | more
        if self.cookie:
            headers["cookie"] = f"other=1; {self.cookie}"
        if self.csrf:
            headers.setdefault("x-csrf-token", self.csrf)
        answer = await self.door.send(
            method, path, b"" if body is None else json.dumps(body).encode(), headers
        )
        if "set-cookie" in answer.headers:
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return answer

    async def sign_in(self, **secret: str) -> Answer:
        answer = await self.request("POST", "/sign-in", secret)
        if answer.status == 200:
            self.csrf = answer.json["csrf"]
        return answer

    async def call(self, operation: str, **arguments: Any) -> Answer:
        return await self.request("POST", f"/api/{operation}", arguments)


class WebDoor:
    def __init__(self, database, clock, auth: str) -> None:
        settings = Settings(auth=auth)
        self.calls = Calls(database, CATALOGUE, settings, clock)
        self.identity = Identity(
            database,
            settings,
            clock,
            operator_token="let me in",
            local_token="token of this user" if auth == "local" else "",
            environ={},
        )
        events = ProjectEvents(self.calls, self.identity.identify)
        self._app = build_application(self.calls, self.identity, Publisher(), events, b"x" * 32)

    async def open(self) -> "WebDoor":
        await self.calls.bus.open()
        self.identity.open(self.calls.bus)
        return self

    async def close(self) -> None:
        await self.identity.close()
        await self.calls.bus.close()

    async def send(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Answer:
        route, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": route,
            "query_string": query.encode(),
            "client": ("127.0.0.1", 50000),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        sent: list[dict[str, Any]] = []
        bodies = [body]

        async def receive() -> dict[str, Any]:
            if not bodies:
                await asyncio.Event().wait()
            return {"type": "http.request", "body": bodies.pop(), "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        named = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], named, b"".join(message.get("body", b"") for message in sent[1:]))

    async def key(self, name: str = "ann", **more: object) -> str:
        given = {"action": "create_key", "name": name, "projects": ["shop"]} | more
        return str((await self.calls.run("memory_admin", given, access.OPERATOR)).reply.key)

    async def link(self, caller: access.Caller, **more: object) -> str:
        return str((await self.calls.run("memory_create_sign_in_link", more, caller)).reply.code)


@pytest.fixture
async def door(database, clock):
    opened = await WebDoor(database, clock, "on").open()
    yield opened
    await opened.close()


@pytest.fixture
async def open_door(database, clock):
    opened = await WebDoor(database, clock, "off").open()
    yield opened
    await opened.close()


async def test_session_tells_a_stranger_nothing_but_that_a_key_is_needed(door):
    assert (await Browser(door).request("GET", "/session")).json == {"signed_in": False, "needs_key": True}


async def test_sign_in_with_a_key_acts_with_its_role_and_projects(door):
    browser = Browser(door)
    answer = await browser.sign_in(key=await door.key(role="admin"))
    assert {name: answer.json[name] for name in ("signed_in", "agent", "role", "projects")} == {
        "signed_in": True,
        "agent": "ann",
        "role": "admin",
        "projects": ["shop"],
    }
    assert (await browser.request("GET", "/session")).json == answer.json
    assert (await browser.call("memory_list_locks", project="shop")).status == 200
    assert (await browser.call("memory_list_locks", project="bank")).json["error"] == "forbidden"


async def test_sign_in_sets_a_cookie_that_scripts_and_other_sites_cannot_use(door):
    key = await door.key()
    plain = await Browser(door).request("POST", "/sign-in", {"key": key})
    assert (
        plain.headers["set-cookie"].split("; ", 1)[1] == "Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict"
    )
    assert plain.headers["set-cookie"].startswith("commonplace_8080=")
    secure = await Browser(door).request("POST", "/sign-in", {"key": key}, origin=f"https://{HOST}")
    assert secure.headers["set-cookie"].endswith("; Secure")
    assert plain.headers["cache-control"] == "no-store"


async def test_cookie_without_the_csrf_token_reads_but_does_not_write(door):
    browser = Browser(door)
    await browser.sign_in(key=await door.key())
    browser.csrf = ""
    assert (await browser.request("GET", "/now.json?project=shop")).status == 200
    for token in ("", "wrong", "0" * 64):
        answer = await browser.request("POST", "/api/memory_health", {}, **{"x-csrf-token": token})
        assert (answer.status, answer.json["error"]) == (401, "unauthenticated")


async def test_sign_in_is_refused_to_pages_of_other_sites(door):
    key = await door.key()
    answer = await Browser(door).request("POST", "/sign-in", {"key": key}, origin="http://evil.example")
    assert (answer.status, answer.json["error"]) == (403, "foreign_origin")


@pytest.mark.parametrize("secret", [{"key": "smk_wrong"}, {"code": "cpl_wrong"}])
async def test_sign_in_with_a_wrong_secret_is_refused_and_counted(door, secret):
    codes = [(await Browser(door).sign_in(**secret)).json["error"] for _ in range(12)]
    assert codes == ["unauthenticated"] * 10 + ["too_many"] * 2


async def test_sign_in_without_a_secret_is_refused_and_is_no_guess(door):
    codes = [(await Browser(door).sign_in()).json["error"] for _ in range(12)]
    assert codes == ["unauthenticated"] * 12


@pytest.mark.parametrize("body", [[], {"key": 1}, {"key": "a", "more": "b"}, {"code": ["a"]}])
async def test_sign_in_refuses_other_bodies(door, body):
    assert (await Browser(door).request("POST", "/sign-in", body)).json["error"] == "invalid"


async def test_link_signs_in_once_as_its_maker(door):
    await door.key("ann")
    keyed = await door.identity.identify({"authorization": f"Bearer {await door.key('ben', agent='ben')}"})
    code = await door.link(keyed)
    answer = await Browser(door).sign_in(code=code)
    assert (answer.json["agent"], answer.json["key"]) == ("ben", keyed.key)
    again = await Browser(door).sign_in(code=code)
    assert (again.status, again.json["error"]) == (401, "unauthenticated")


async def test_link_expires_after_five_minutes(door, clock):
    code = await door.link(access.OPERATOR)
    clock.advance(minutes=5)
    assert (await Browser(door).sign_in(code=code)).status == 401


async def test_link_is_not_a_key(door):
    code = await door.link(access.OPERATOR)
    with pytest.raises(errors.Unauthenticated):
        await door.identity.identify({"authorization": f"Bearer {code}"})


async def test_link_of_the_operator_names_the_person(door):
    browser = Browser(door)
    answer = await browser.sign_in(code=await door.link(access.OPERATOR, agent="eve"))
    assert (answer.json["agent"], answer.json["operator"], answer.json["role"]) == ("eve", True, "owner")
    made = await browser.call("memory_admin", action="create_key", name="new", role="agent")
    assert made.status == 200


async def test_link_of_a_key_cannot_choose_another_name(door):
    keyed = await door.identity.identify({"authorization": f"Bearer {await door.key('ben')}"})
    answer = await Browser(door).sign_in(code=await door.link(keyed, agent="ann"))
    assert answer.json["agent"] == "ben"


async def test_person_does_not_take_a_name_that_belongs_to_another_key(door):
    await door.key("robot", agent="ann")
    answer = await Browser(door).sign_in(key=await door.key("ann"))
    assert answer.json["agent"] == f"ann:{answer.json['key']}"


async def test_sign_out_ends_this_session_only(door):
    key = await door.key()
    first, second = Browser(door), Browser(door)
    await first.sign_in(key=key)
    await second.sign_in(key=key)
    cookie = first.cookie
    assert (await first.request("POST", "/sign-out", {})).json["sessions"] == 1
    first.cookie = cookie
    assert (await first.call("memory_health")).status == 401
    assert (await second.call("memory_health")).status == 200


async def test_sign_out_everywhere_ends_every_session_of_the_key(door):
    key = await door.key()
    first, second = Browser(door), Browser(door)
    await first.sign_in(key=key)
    await second.sign_in(key=key)
    assert (await first.request("POST", "/sign-out", {"everywhere": True})).json["sessions"] == 2
    assert (await second.call("memory_health")).status == 401


async def test_session_ends_with_its_key_and_after_a_month(door, clock):
    browser, other = Browser(door), Browser(door)
    await browser.sign_in(key=await door.key())
    await other.sign_in(key=await door.key("ben"))
    await door.calls.run("memory_admin", {"action": "revoke_key", "name": "ann"}, access.OPERATOR)
    assert (await browser.call("memory_health")).status == 401
    clock.advance(days=30)
    assert (await other.call("memory_health")).status == 401


async def test_store_holds_no_secret_of_the_page(door, database):
    browser = Browser(door)
    code = await door.link(access.OPERATOR)
    await browser.sign_in(key=await door.key())
    secret = browser.cookie.partition("=")[2]
    rows = await database.read(
        lambda tx: tx.all("select * from browser_session where project = $1", "shared")
    )
    audit = await database.read(lambda tx: tx.all("select * from audit where at > $1 -- every project", 0))
    stored = repr([dict(row) for row in [*rows, *audit]])
    assert len(rows) == 2
    assert secret not in stored
    assert code not in stored


async def test_cookie_of_a_server_on_another_port_is_not_sent_to_this_one(door):
    browser = Browser(door)
    await browser.sign_in(key=await door.key())
    browser.headers = {"host": "127.0.0.1:9090", "origin": "http://127.0.0.1:9090"}
    assert (await browser.call("memory_health")).status == 401


async def test_without_keys_the_person_is_signed_in_and_writes_under_a_name(open_door):
    browser = Browser(open_door)
    assert (await browser.request("GET", "/session")).json == {"signed_in": False, "needs_key": False}
    name = (await browser.sign_in()).json["agent"]
    added = await browser.request(
        "POST", "/api/memory_add_backlog_item", {"title": "Look at it"}, **{"x-commonplace-project": "shop"}
    )
    found = await browser.call("memory_get_by_id", doc_id=added.json["id"], project="shop")
    assert (found.json["project"], found.json["author"]) == ("shop", name)


async def test_project_header_gives_no_access_to_other_projects(door):
    browser = Browser(door)
    await browser.sign_in(key=await door.key())
    added = await browser.request(
        "POST", "/api/memory_add_backlog_item", {"title": "Look"}, **{"x-commonplace-project": "bank"}
    )
    assert added.json["error"] == "forbidden"


async def test_person_moves_takes_and_gives_back_an_item_without_a_session(open_door):
    browser = Browser(open_door, headers={"x-commonplace-project": "shop"})
    name = (await browser.sign_in()).json["agent"]
    item = (await browser.call("memory_add_backlog_item", title="Look at it")).json["id"]
    taken = (await browser.call("memory_update_backlog_item", item_id=item, claim=True)).json
    assert (taken["assigned_to"], taken["item_status"], "claimed_until" in taken) == (
        name,
        "in_progress",
        False,
    )
    back = (await browser.call("memory_update_backlog_item", item_id=item, assigned_to="")).json
    assert back["item_status"] == "open"
    assert (await browser.call("memory_complete_backlog_item", item_id=item)).json["status"] == "done"


async def test_agent_writes_to_a_person_who_is_signed_in(open_door):
    browser = Browser(open_door)
    name = (await browser.sign_in()).json["agent"]
    start = {"project": "shop", "claude_instance": "mia"}
    session = (await open_door.calls.run("memory_start_session", start, access.LOCAL)).reply.session_id
    mail = {"session_id": session, "to_instance": name, "message": "May I?", "require_human": True}
    await open_door.calls.run("memory_send_message", mail, access.LOCAL)
    needs = (await browser.call("memory_get_live_state", project="shop")).json["needs_you"]
    assert [(need["kind"], need["agent"], need["text"]) for need in needs] == [("mail", "mia", "May I?")]


async def test_with_the_token_of_this_user_a_link_or_the_token_signs_in(database, clock):
    door = await WebDoor(database, clock, "local").open()
    assert (await Browser(door).sign_in()).status == 401
    caller = await door.identity.identify({"authorization": "Bearer token of this user"})
    browser = Browser(door)
    assert (await browser.sign_in(code=await door.link(caller, agent="eve"))).json["agent"] == "eve"
    assert (await browser.call("memory_health")).status == 200
    assert (await Browser(door).sign_in(key="token of this user")).status == 200
    await door.close()


async def test_all_events_are_those_of_the_projects_of_the_caller(open_door, clock):
    for project in ("shop", "bank"):
        await open_door.calls.run(
            "memory_start_session", {"project": project, "claude_instance": "ann"}, access.LOCAL
        )
    shop = access.Caller("readonly", frozenset({"shop"}), "key_1", "eve")
    page = (await open_door.calls.run_operation(read_all_events, {"positions": {}}, shop)).reply
    assert {event.project for event in page.events} == {"shop"}
    again = (await open_door.calls.run_operation(read_all_events, {"positions": page.positions}, shop)).reply
    assert (again.events, again.positions) == ([], page.positions)
    everything = (
        await open_door.calls.run_operation(read_all_events, {"since": clock()}, access.LOCAL)
    ).reply
    assert {event.project for event in everything.events} == {"shop", "bank"}
