"""Webhooks: what is sent where, when, again and not again; which addresses may be reached; what is never shown."""

import asyncio
import json
from dataclasses import dataclass, field, replace

import pytest

from commonplace import errors
from commonplace.access import Caller
from commonplace.edges.webhook_sender import WebhookSender
from commonplace.outgoing_http import OutgoingFailure, is_allowed_address, parse_outgoing_url, send_post
from stream_server import serve_streams

OWNER = Caller("owner", frozenset({"*"}), "key_1", "eve")
ADMIN = Caller("admin", frozenset({"shop"}), "key_2", "adam")
AGENT = Caller("agent", frozenset({"shop"}), "key_3", "ann")


@dataclass
class Receiver:
    """A receiver of webhooks on this machine; it answers the statuses that it is given, then 200."""

    statuses: list[int] = field(default_factory=list)
    received: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook/secret-path"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        pairs = [line.split(": ", 1) for line in head[1:] if ": " in line]
        headers = {name.lower(): value for name, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.received.append((head[0], headers, body))
        status = self.statuses.pop(0) if self.statuses else 200
        extra = "Location: http://169.254.169.254/\r\n" if status == 302 else ""
        writer.write(f"HTTP/1.1 {status} x\r\n{extra}Content-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()


@pytest.fixture
async def receiver():
    made = Receiver()
    async with serve_streams(made.answer) as server:
        made.port = server.sockets[0].getsockname()[1]
        yield made


@pytest.fixture
def sender(team):
    team.calls.settings = replace(team.calls.settings, webhooks="private")
    return WebhookSender(team.calls)


async def _add(team, receiver, caller=OWNER, **more):
    given = {"project": "shop", "kind": "slack", "url": receiver.url, "delay_seconds": 0} | more
    return (await team.anyone(caller).add_webhook(**given))["id"]


async def test_who_waits_is_sent_to_slack_with_its_escapes(team, receiver, sender):
    ann = await team.agent("ann")
    await _add(team, receiver)
    asked = await ann.ask_person(question="Ship <!channel> & go?", wait_seconds=0)
    await sender.send_due()
    ((line, headers, body),) = receiver.received
    assert (line, headers["content-type"]) == ("POST /hook/secret-path HTTP/1.1", "application/json")
    assert json.loads(body) == {
        "text": "*ann (shop) asks*\nShip &lt;!channel&gt; &amp; go?\n"
        f"commonplace answer {asked['request_id']}"
    }
    await sender.send_due()
    assert len(receiver.received) == 1


async def test_ntfy_gets_text_with_a_title_and_its_token(team, receiver, sender):
    ann = await team.agent("ann")
    await _add(team, receiver, kind="ntfy", token="tk_abc")
    await ann.report_request(
        kind="permission", title="Bash", text="git push", tool="claude", machine="laptop"
    )
    await sender.send_due()
    ((_, headers, body),) = receiver.received
    assert (headers["title"], headers["priority"], headers["authorization"]) == (
        "Commonplace",
        "high",
        "Bearer tk_abc",
    )
    assert body.decode().splitlines()[:3] == ["ann (shop) asks for permission", "git push", "claude laptop"]


async def test_what_was_answered_within_the_delay_is_not_sent(team, receiver, sender):
    ann = await team.agent("ann")
    await _add(team, receiver, delay_seconds=20)
    await ann.report_request(kind="permission", text="ls")
    await ann.close_requests()
    await ann.report_request(kind="permission", text="git push")
    team.clock.advance(seconds=10)
    await sender.send_due()
    assert receiver.received == []
    team.clock.advance(seconds=11)
    await sender.send_due()
    assert [b"git push" in body for _, _, body in receiver.received] == [True]


async def test_ended_turns_are_not_sent(team, receiver, sender):
    ann = await team.agent("ann")
    await _add(team, receiver)
    await ann.report_request(kind="idle")
    await sender.send_due()
    assert receiver.received == []


async def test_failed_delivery_is_tried_again_with_growing_pauses(team, receiver, sender):
    ann = await team.agent("ann")
    await _add(team, receiver)
    receiver.statuses = [500, 429]
    await ann.ask_person(question="Ship it?", wait_seconds=0)
    await sender.send_due()
    (listed,) = (await team.anyone(OWNER).list_webhooks(project="shop"))["webhooks"]
    assert (listed["last_error"], listed["waiting"]) == ("It answered 500.", 1)
    await sender.send_due()
    assert len(receiver.received) == 1
    for seconds, count in ((11, 2), (30, 2), (31, 3)):
        team.clock.advance(seconds=seconds)
        await sender.send_due()
        assert len(receiver.received) == count
    (listed,) = (await team.anyone(OWNER).list_webhooks(project="shop"))["webhooks"]
    assert ("last_error" in listed, "waiting" in listed, bool(listed["last_success"])) == (False, False, True)


async def test_delivery_is_given_up_after_six_attempts_or_at_once_where_it_is_of_no_use(
    team, receiver, sender
):
    ann = await team.agent("ann")
    await _add(team, receiver)
    receiver.statuses = [500] * 20
    await ann.ask_person(question="Ship it?", wait_seconds=0)
    for _ in range(10):
        await sender.send_due()
        team.clock.advance(minutes=121)
    assert len(receiver.received) == 6
    receiver.statuses = [404]
    await ann.ask_person(question="And now?", wait_seconds=0)
    await sender.send_due()
    team.clock.advance(minutes=121)
    await sender.send_due()
    assert len(receiver.received) == 7


async def test_redirect_is_not_followed(team, receiver, sender):
    ann = await team.agent("ann")
    await _add(team, receiver)
    receiver.statuses = [302]
    await ann.ask_person(question="Ship it?", wait_seconds=0)
    await sender.send_due()
    (listed,) = (await team.anyone(OWNER).list_webhooks(project="shop"))["webhooks"]
    assert (len(receiver.received), listed["last_error"]) == (1, "It answered 302.")


async def test_several_servers_send_a_delivery_once(team, receiver, sender):
    ann = await team.agent("ann")
    await _add(team, receiver)
    await ann.ask_person(question="Ship it?", wait_seconds=0)
    await asyncio.gather(*(WebhookSender(team.calls).send_due() for _ in range(4)), sender.send_due())
    assert len(receiver.received) == 1


async def test_webhook_of_every_project_hears_all_and_that_of_a_project_only_its_own(team, receiver, sender):
    ann, ben = await team.agent("ann"), await team.agent("ben", project="bank")
    await _add(team, receiver, ADMIN, kind="json")
    await team.anyone(OWNER).add_webhook(kind="json", url=receiver.url, delay_seconds=0)
    await ann.ask_person(question="One?", wait_seconds=0)
    await ben.ask_person(question="Two?", wait_seconds=0)
    await sender.send_due()
    sent = sorted(json.loads(body)["project"] for _, _, body in receiver.received)
    assert sent == ["bank", "shop", "shop"]


async def test_digest_is_sent_once_a_day_at_its_hour(team, receiver, sender):
    ann = await team.agent("ann")
    await _add(team, receiver, topics=["digest"], digest_hour=9)
    item = (await ann.add_backlog_item(title="Reverse charge"))["id"]
    await ann.complete_backlog_item(item_id=item, resolution="12 tests passed")
    for _ in range(26):
        team.clock.advance(minutes=60)
        await sender.send_due()
        await sender.send_due()
    texts = [json.loads(body)["text"] for _, _, body in receiver.received]
    assert len(texts) in (1, 2)
    assert "Reverse charge" in texts[0]
    assert "12 tests passed" in texts[0]


async def test_test_message_and_removal(team, receiver, sender):
    webhook = await _add(team, receiver)
    await team.anyone(OWNER).call("memory_test_webhook", project="shop", id=webhook)
    await sender.send_due()
    assert "A test of" in json.loads(receiver.received[0][2])["text"]
    await team.anyone(OWNER).remove_webhook(project="shop", id=webhook)
    with pytest.raises(errors.NotFound):
        await team.anyone(OWNER).remove_webhook(project="shop", id=webhook)
    assert (await team.anyone(OWNER).list_webhooks(project="shop"))["webhooks"] == []


async def test_address_and_token_are_never_shown(team, receiver, sender):
    del sender
    await _add(team, receiver, token="tk_secret")
    replies = [
        await team.anyone(OWNER).list_webhooks(project="shop"),
        await team.anyone(OWNER).call("memory_admin", action="audit_log"),
    ]
    text = json.dumps(replies)
    assert "secret-path" not in text
    assert "tk_secret" not in text
    (listed,) = replies[0]["webhooks"]
    assert (listed["address"], listed["has_token"]) == ("http://127.0.0.1/…", True)


async def test_only_admins_of_the_project_set_webhooks(team, receiver, sender):
    del sender
    for caller, given in ((AGENT, {}), (ADMIN, {"project": "bank"}), (ADMIN, {"project": "*"})):
        with pytest.raises(errors.Forbidden):
            await _add(team, receiver, caller, **given)


async def test_server_may_switch_webhooks_off(team, receiver):
    team.calls.settings = replace(team.calls.settings, webhooks="off")
    with pytest.raises(errors.Forbidden):
        await _add(team, receiver)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/x",
        "https://127.0.0.1/x",
        "https://[::1]/x",
        "https://[::ffff:10.0.0.1]/x",
        "https://169.254.169.254/latest",
        "https://10.1.2.3/x",
        "https://user:pass@example.org/x",
        "https://exa mple.org/x",
        "ftp://example.org/x",
        "file:///etc/passwd",
        "https:///x",
        "https://example.org:99999/x",
    ],
)
async def test_public_webhooks_refuse_other_addresses(team, url):
    with pytest.raises(errors.Invalid):
        await team.anyone(OWNER).add_webhook(project="shop", kind="slack", url=url)
    assert (await team.anyone(OWNER).list_webhooks(project="shop"))["webhooks"] == []


@pytest.mark.parametrize(
    ("address", "public", "private"),
    [
        ("93.184.216.34", True, True),
        ("2606:2800:220:1:248:1893:25c8:1946", True, True),
        ("10.0.0.1", False, True),
        ("127.0.0.1", False, True),
        ("::1", False, True),
        ("fd00::1", False, True),
        ("::ffff:127.0.0.1", False, True),
        ("169.254.169.254", False, False),
        ("fe80::1%eth0", False, False),
        ("64:ff9b::a9fe:a9fe", False, False),
        ("2002:7f00:1::", False, False),
        ("0.0.0.0", False, False),
        ("224.0.0.1", False, False),
        ("100.64.0.1", False, True),
    ],
)
def test_addresses_that_may_be_reached(address, public, private):
    assert is_allowed_address(address, allows_private=False) is public
    assert is_allowed_address(address, allows_private=True) is private


async def test_name_that_resolves_to_this_machine_is_refused_when_it_is_used(receiver):
    address = parse_outgoing_url(f"https://localhost:{receiver.port}/x", allows_private=False)
    with pytest.raises(OutgoingFailure) as refused:
        await asyncio.to_thread(send_post, address, b"{}", {}, allows_private=False, seconds=5)
    assert refused.value.is_final
    assert receiver.received == []
