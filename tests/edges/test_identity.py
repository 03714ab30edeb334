"""Who calls, read from the headers of a request."""

import asyncio
import re

import pytest

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.edges.identity import Identity
from commonplace.edges.structured_log import JsonLineFormatter
from commonplace.rooms.admin import store
from patience import PATIENCE_SECONDS

EVERYWHERE = frozenset({"*"})
TOKENS = {"MCP_TOKEN": "token of agents", "SYNC_TOKEN": "token of machines"}


def bearer(secret: str, **more: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"} | more


class Door:
    """The product with an identity in front of it, as in a server."""

    def __init__(self, database, clock, auth: str) -> None:
        settings = Settings(auth=auth)
        self.clock, self.database = clock, database
        self.calls = Calls(database, CATALOGUE, settings, clock)
        self.identity = Identity(database, settings, clock, operator_token="let me in", environ=TOKENS)
        self.identify = self.identity.identify

    async def open(self) -> "Door":
        await self.calls.bus.open()
        self.identity.open(self.calls.bus)
        return self

    async def close(self) -> None:
        await self.identity.close()
        await self.calls.bus.close()

    async def key(self, name: str = "ci", **more: object) -> tuple[str, str]:
        given = {"action": "create_key", "name": name, "projects": ["shop"]} | more
        made = (await self.calls.run("memory_admin", given, access.OPERATOR)).reply
        return made.key, made.id

    async def revoke(self, name: str) -> None:
        await self.calls.run("memory_admin", {"action": "revoke_key", "name": name}, access.OPERATOR)

    async def refusal(self, headers: dict[str, str], address: str = "", query: bytes = b"") -> errors.Refusal:
        with pytest.raises(errors.Refusal) as refused:
            await self.identify(headers, address, query)
        return refused.value


@pytest.fixture
async def door(database, clock):
    opened = await Door(database, clock, "on").open()
    yield opened
    await opened.close()


@pytest.fixture
async def open_door(database, clock):
    opened = await Door(database, clock, "off").open()
    yield opened
    await opened.close()


async def test_identify_a_live_key_is_its_caller(door):
    key, key_id = await door.key(agent="builder", agent_type="ci", role="readonly")
    wanted = Caller("readonly", frozenset({"shop"}), key_id, "builder", "ci")
    for scheme in ("Bearer", "bearer", "BEARER"):
        assert await door.identify({"authorization": f"{scheme} {key}"}) == wanted


async def test_identify_refuses_every_other_key_alike(door):
    revoked, _ = await door.key("revoked")
    expired, _ = await door.key("expired", expires_in_days=1)
    live, _ = await door.key("live")
    await door.revoke("revoked")
    door.clock.advance(days=1)
    wrong = [
        {},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": f"Basic {live}"},
        {"authorization": live},
        bearer(""),
        bearer("smk_" + "x" * 43),
        bearer("eyJhbGciOiJIUzI1NiJ9.eyJhdWQiOiJvdGhlciJ9.c2ln"),
        bearer(live[:-1]),
        bearer("x" * 100_000),
        bearer(revoked),
        bearer(expired),
        {"x-agent-id": "ann"},
    ]
    refusals = [await door.refusal(headers, str(n)) for n, headers in enumerate(wrong)]
    assert {type(refusal) for refusal in refusals} == {errors.Unauthenticated}
    assert len({str(refusal.to_dict()) for refusal in refusals}) == 1


async def test_identify_a_key_in_the_address_is_refused(door, open_door):
    key, _ = await door.key()
    for query in (b"api_key=x", b"a=1&api_key=" + key.encode(), b"API%5FKEY=" + key.encode()):
        for each in (door, open_door):
            assert type(await each.refusal(bearer(key), query.decode(), query)) is errors.Unauthenticated
    assert (await door.identify(bearer(key), "", b"a=1")).projects == {"shop"}


async def test_identify_tokens_of_the_environment(door, open_door):
    for each in (door, open_door):
        assert await each.identify(bearer("token of agents")) == Caller("agent", EVERYWHERE, "MCP_TOKEN")
        assert await each.identify(bearer("token of machines")) == Caller(
            "sync", EVERYWHERE, "SYNC_TOKEN", kind="program"
        )


async def test_identify_without_tokens_in_the_environment_lets_no_empty_one_in(database, clock):
    for environ in ({}, {"MCP_TOKEN": "", "SYNC_TOKEN": ""}):
        identity = Identity(database, Settings(auth="on"), clock, environ=environ)
        for headers in ({}, bearer("")):
            with pytest.raises(errors.Unauthenticated):
                await identity.identify(headers)


async def test_identify_the_local_operator(door, open_door):
    for each in (door, open_door):
        assert await each.identify(bearer("let me in", **{"x-agent-id": "ann"})) == access.OPERATOR


async def test_identify_while_keys_are_off_takes_anybody_and_keys_at_their_word(open_door):
    key, key_id = await open_door.key()
    bound, _ = await open_door.key("bound", agent="builder")
    said = {"x-agent-id": "ann"}
    assert await open_door.identify({}) == access.LOCAL
    assert await open_door.identify(bearer("somebody's other token")) == access.LOCAL
    assert await open_door.identify(said) == Caller("owner", EVERYWHERE, agent="ann")
    assert await open_door.identify(bearer(key)) == Caller("agent", frozenset({"shop"}), key_id)
    assert await open_door.identify(bearer(key, **said)) == Caller(
        "agent", frozenset({"shop"}), key_id, "ann"
    )
    assert (await open_door.identify(bearer(bound, **said))).agent == "builder"


@pytest.mark.parametrize("said", ["b%C3%BCro", "büro".encode().decode("latin-1"), "büro"])
async def test_identify_reads_names_in_headers_percent_encoded_and_raw(open_door, said):
    caller = await open_door.identify({"x-agent-id": said, "x-commonplace-project": said})
    assert (caller.agent, caller.project) == ("büro", "büro")


@pytest.mark.parametrize("name", ["a b", "x" * 65, "<b>", "a\nb"])
async def test_identify_refuses_an_agent_id_that_is_no_name(open_door, name):
    assert type(await open_door.refusal({"x-agent-id": name})) is errors.Invalid


async def test_identify_with_keys_on_ignores_the_agent_id(door):
    key, _ = await door.key()
    assert (await door.identify(bearer(key, **{"x-agent-id": "ann"}))).agent is None


async def test_identify_a_revoked_key_is_refused_from_the_next_request_on(door):
    key, _ = await door.key()
    await door.identify(bearer(key))
    await door.revoke("ci")
    assert type(await door.refusal(bearer(key))) is errors.Unauthenticated


async def test_identify_under_load_accepts_nothing_after_the_revocation(door):
    key, _ = await door.key()
    revoked = asyncio.Event()
    late = []

    async def knock() -> None:
        for _ in range(200):
            after = revoked.is_set()
            try:
                await door.identify(bearer(key))
            except (errors.Unauthenticated, errors.TooMany):
                return
            if after:
                late.append(1)
            await asyncio.sleep(0)

    async def revoke() -> None:
        await door.revoke("ci")
        revoked.set()

    await asyncio.wait_for(asyncio.gather(*(knock() for _ in range(10)), revoke()), PATIENCE_SECONDS)
    assert late == []


async def test_identify_forgets_within_two_seconds_what_nobody_told(door):
    key, key_id = await door.key()
    deaf = Identity(door.database, Settings(auth="on"), door.clock)
    await deaf.identify(bearer(key))
    await door.revoke("ci")
    door.clock.advance(seconds=1.9)
    assert (await deaf.identify(bearer(key))).key == key_id
    door.clock.advance(seconds=0.1)
    with pytest.raises(errors.Unauthenticated):
        await deaf.identify(bearer(key))


async def test_forget_drops_the_cache_at_once(door):
    key, key_id = await door.key()
    await door.identify(bearer(key))
    await door.database.write(lambda tx: store.mark_key_revoked(tx, key_id, door.clock()))
    door.identity.forget_cached_keys()
    assert type(await door.refusal(bearer(key))) is errors.Unauthenticated


async def test_identify_answers_the_eleventh_failure_of_an_address_with_too_many(door):
    key, _ = await door.key()
    first = [await door.refusal(bearer("wrong"), "10.0.0.1") for _ in range(10)]
    assert {type(refusal) for refusal in first} == {errors.Unauthenticated}
    assert type(await door.refusal(bearer("wrong"), "10.0.0.1")) is errors.TooMany
    assert type(await door.refusal(bearer("wrong"), "10.0.0.2")) is errors.Unauthenticated
    assert (await door.identify(bearer(key), "10.0.0.1")).projects == {"shop"}
    door.clock.advance(minutes=1)
    assert type(await door.refusal(bearer("wrong"), "10.0.0.1")) is errors.Unauthenticated


@pytest.mark.parametrize("headers", [{}, {"authorization": "Basic smk_x"}, {"cookie": "theme=dark"}])
async def test_identify_does_not_count_a_missing_key_as_a_wrong_one(door, headers):
    missing = [await door.refusal(headers, "10.0.0.1") for _ in range(30)]
    assert {type(refusal) for refusal in missing} == {errors.Unauthenticated}
    wrong = [await door.refusal(bearer("wrong"), "10.0.0.1") for _ in range(11)]
    assert [type(refusal) for refusal in wrong] == [*[errors.Unauthenticated] * 10, errors.TooMany]
    assert type(await door.refusal(headers, "10.0.0.1")) is errors.Unauthenticated


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        (bearer("smk_wrong"), b""),
        ({}, b"api_key=smk_wrong"),
        ({"host": "localhost:8080", "cookie": "commonplace_8080=wrong"}, b""),
    ],
)
async def test_identify_counts_every_secret_that_was_guessed(door, headers, query):
    guesses = [type(await door.refusal(headers, "10.0.0.1", query)) for _ in range(11)]
    assert guesses == [*[errors.Unauthenticated] * 10, errors.TooMany]


@pytest.mark.parametrize(
    ("headers", "query", "reason"),
    [
        ({}, b"", "no key"),
        ({"authorization": "Basic smk_x"}, b"", "no key"),
        (bearer("smk_wrong"), b"", "unknown key"),
        (bearer("token of agents"), b"api_key=smk_wrong", "key in the address"),
    ],
)
async def test_identify_writes_one_line_for_each_refusal_that_fail2ban_can_count(
    door, caplog, headers, query, reason
):
    await door.refusal(headers, "203.0.113.9", query)
    [record] = [each for each in caplog.records if each.name == "commonplace.edges.identity"]
    line = JsonLineFormatter().format(record)
    assert re.fullmatch(
        r'\{"at":"[^"]+","level":"warning","event":"unauthenticated","address":"203\.0\.113\.9","reason":"'
        + reason
        + r'"\}',
        line,
    )
    assert "smk_" not in line


async def test_identify_writes_no_such_line_for_a_live_key(door, caplog):
    await door.identify(bearer("token of agents"), "203.0.113.9")
    assert [each for each in caplog.records if each.name == "commonplace.edges.identity"] == []


async def test_identify_remembers_a_bounded_number_of_addresses_and_keys(door, monkeypatch):
    monkeypatch.setattr("commonplace.edges.identity._MAX_ADDRESSES", 3)
    monkeypatch.setattr("commonplace.edges.identity._MAX_CACHED_KEYS", 3)
    for n in range(5):
        await door.refusal(bearer("wrong"), f"10.0.0.{n}")
        await door.identify(bearer((await door.key(f"k{n}"))[0]))
    assert len(door.identity._failed_keys._counts) == 3
    assert len(door.identity._cached_callers) <= 3


async def test_last_use_of_a_key_is_written_down_by_the_flush(door):
    key, _ = await door.key()
    await door.key("idle")
    await door.identify(bearer(key))
    door.clock.advance(seconds=1)
    await door.identify(bearer(key))

    async def used() -> dict[str, int | None]:
        rows = await door.database.read(lambda tx: tx.all("select name, last_used_at from api_key"))
        return {row["name"]: row["last_used_at"] for row in rows}

    assert await used() == {"ci": None, "idle": None}
    await door.identity.flush_key_uses()
    assert await used() == {"ci": door.clock(), "idle": None}


async def test_closing_writes_down_the_last_use(database, clock):
    door = await Door(database, clock, "on").open()
    key, _ = await door.key()
    await door.identify(bearer(key))
    await door.close()
    row = await database.read(lambda tx: tx.one("select last_used_at from api_key"))
    assert row["last_used_at"] == clock()


@pytest.mark.parametrize("address", ["postgresql"], indirect=True)
async def test_identify_on_another_replica_forgets_a_revoked_key_when_told(address, database, clock):
    from team import open_store  # noqa: PLC0415 - a second connection to the same store

    second = await open_store(address, clock)
    here, there = await Door(database, clock, "on").open(), await Door(second, clock, "on").open()
    key, _ = await here.key()
    await there.identify(bearer(key))
    await here.revoke("ci")

    async def until_refused() -> None:
        while True:
            try:
                await there.identify(bearer(key))
            except errors.Refusal:
                return
            await asyncio.sleep(0.005)

    await asyncio.wait_for(until_refused(), PATIENCE_SECONDS)
    await here.close()
    await there.close()
    await second.close()


async def test_identify_knows_a_key_for_a_while_when_the_store_is_away(door):
    """/metrics must answer then; whatever else the key may do needs the store."""
    key, key_id = await door.key()
    door.identity.forget_cached_keys()
    await door.identify(bearer(key))
    await door.database.close()
    door.clock.advance(minutes=10)
    assert (await door.identify(bearer(key))).key == key_id
    assert isinstance(await door.refusal(bearer("another")), errors.Unavailable)
    door.clock.advance(minutes=10)
    assert isinstance(await door.refusal(bearer(key)), errors.Unavailable)
