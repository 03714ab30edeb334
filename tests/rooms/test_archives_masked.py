"""Whoever sends a transcript: no view, title, index or stored byte of it has a secret, and offsets stay as they were."""

import json
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from sync_client import SyncClient, register_sync_client, sha256_of
from transcript_script import TranscriptScript

from commonplace import config, errors, zstd
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.rooms.archives.mask_stored import mask_stored_sessions
from commonplace.rooms.archives.restudy import restudy_sessions
from commonplace.store.database import Database, Tx
from commonplace.transcripts.archive import upload
from commonplace.transcripts.archive.frames import FRAME_BYTES
from commonplace.transcripts.archive.study import STUDY_VERSION, unpack_passage
from team import HandClock, Team

TOKEN = "ghp_" + "a1B2" * 9
KEY_LINES = [
    "".join(
        random.Random(n).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=64)
    )
    for n in range(10)
]
KEY_FILE = ["-----BEGIN RSA PRIVATE KEY-----", *KEY_LINES, "-----END RSA PRIVATE KEY-----"]


def leaking_script() -> TranscriptScript:
    """What Claude Code records when it reads a key file, with a token in the prompt, a command and its error."""
    numbered = "\n".join(f"{number:6}→{line}" for number, line in enumerate(KEY_FILE, 1))
    return (
        TranscriptScript()
        .user(f"Deploy with {TOKEN} please")
        .run("cat -n deploy.pem", numbered)
        .run(f"curl -H 'Authorization: Bearer {TOKEN}' api", f"ValueError: bad token {TOKEN}", failed=True)
        .assistant("The key is:\n" + "\n".join(KEY_FILE))
    )


@pytest.fixture
async def laptop(team: Team) -> SyncClient:
    return await register_sync_client(team)


async def with_settings(team: Team, **settings: str) -> SyncClient:
    calls = Calls(team.database, CATALOGUE, replace(team.calls.settings, **settings), team.clock)
    return await register_sync_client(Team(calls, team.clock))


async def everything_stored(database: Database) -> str:
    """Every row of every table, with archives and passages opened."""

    async def read(tx: Tx) -> str:
        found = "select name from sqlite_schema where type = 'table'"
        if tx.kind == "postgresql":
            found = "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'"
        tables = [row["name"] for row in await tx.all(found)]
        texts = [repr([dict(row) for row in await tx.all(f"select * from {table}")]) for table in tables]
        bodies = await tx.all("select body from archive_frame where address = ''")
        texts += [zstd.decompress(bytes(row["body"])).decode(errors="replace") for row in bodies]
        passages = await tx.all("select body from session_passage")
        texts += [repr(unpack_passage(bytes(row["body"]))) for row in passages]
        return "\n".join(texts)

    return await database.read(read)


async def everything_shown(sync: SyncClient, session: str = "s-1") -> str:
    place = {"workspace_id": sync.workspace["workspace_id"], "session_id": session}
    shown = [
        await sync.read_session(**place),
        await sync.read_session(**place, view="raw", limit=1000, max_tokens=25_000),
        await sync.list_sessions(workspace_id=place["workspace_id"]),
        await sync.search_sessions(query="deploy token key bad", per_session=100),
        await sync.search_sessions(query="ValueError: bad token"),
        await sync.search_sessions(query="a|e|i", mode="regex", per_session=100),
        await sync.search_global(query="deploy token key"),
    ]
    whole = (await sync.read_all_bytes(session)).decode(errors="replace")
    return msgspec.json.encode(shown).decode() + whole


def list_leaks(text: str) -> list[str]:
    return [secret for secret in (TOKEN, TOKEN.lower(), *KEY_LINES) if secret in text]


async def test_key_file_in_a_transcript_of_another_client_is_nowhere(laptop: SyncClient, team: Team):
    sent = leaking_script().content
    reply = await laptop.upload("s-1", sent)
    assert (reply["bytes"], reply["sha256"]) == (len(sent), sha256_of(sent))
    assert list_leaks(await everything_stored(team.database)) == []
    shown = await everything_shown(laptop)
    assert list_leaks(shown) == []
    assert "[masked: private key]" in shown
    stored = await laptop.read_all_bytes("s-1")
    assert len(stored) == len(sent)
    assert [json.loads(line)["timestamp"] for line in stored.splitlines()] == [
        json.loads(line)["timestamp"] for line in sent.splitlines()
    ]


@pytest.mark.parametrize("mode", ["literal", "regex", "smart"])
async def test_search_for_a_secret_finds_nothing(laptop: SyncClient, mode: str):
    await laptop.upload("s-1", leaking_script().content)
    for query in (TOKEN, KEY_LINES[3][:30]):
        matches = (await laptop.search_sessions(query=query, mode=mode))["matches"]
        assert list_leaks(msgspec.json.encode(matches).decode()) == []
        assert mode == "smart" or matches == []


async def test_upload_session_counts_what_it_masked(laptop: SyncClient, team: Team):
    content = leaking_script().content
    first = await laptop.upload_session(**laptop.workspace, session_id="s-1", content=content.decode())
    assert first["masked"] == {"github token": 3, "private key": 2}
    more = TranscriptScript().user(f"again {TOKEN}").content
    part = {"content": more.decode(), "offset": len(content)}
    assert (await laptop.upload_session(**laptop.workspace, session_id="s-1", **part))["masked"] == {
        "github token": 1
    }
    clean = {"content": TranscriptScript().user("thanks").content.decode(), "offset": len(content + more)}
    assert "masked" not in await laptop.upload_session(**laptop.workspace, session_id="s-1", **clean)
    assert list_leaks(await everything_stored(team.database)) == []


async def test_upload_session_refuses_secrets_where_the_operator_says_so(team: Team):
    sync = await with_settings(team, secrets="refuse")
    target = {**sync.workspace, "session_id": "s-1"}
    with pytest.raises(errors.Invalid, match="github token, private key"):
        await sync.upload_session(**target, content=leaking_script().content.decode())
    start, rest = TranscriptScript().user("Deploy with").content, f"{TOKEN} please"
    await sync.upload_session(**target, content=start.decode()[:20])
    with pytest.raises(errors.Invalid, match="github token"):
        await sync.upload_session(**target, content=start.decode()[20:] + rest, offset=20)
    own_session = TranscriptScript().user("I am shop_alice_" + "0" * 32 + "04").content.decode()
    assert (await sync.upload_session(**target | {"session_id": "s-2"}, content=own_session))["masked"] == {
        "session id": 1
    }
    assert list_leaks(await everything_stored(team.database)) == []


@pytest.mark.parametrize("size", [700, 33, FRAME_BYTES])
async def test_parts_that_cut_lines_are_masked_and_can_be_sent_again(
    laptop: SyncClient, team: Team, size: int
):
    sent = leaking_script().content
    for at in range(0, len(sent), size):
        part = sent[at : at + size]
        reply = await laptop.upload("s-1", part, at, sha256=sha256_of(part))
        assert reply["bytes"] == at + len(part)
        assert list_leaks((await laptop.read_all_bytes("s-1")).decode(errors="replace")) == []
        again = await laptop.upload("s-1", part, at)
        assert (again["status"], again["bytes"]) == ("duplicate", at + len(part))
    assert reply["sha256"] == sha256_of(sent)
    assert list_leaks(await everything_stored(team.database)) == []
    assert list_leaks(await everything_shown(laptop)) == []
    for at in range(0, len(sent), 97):
        assert (await laptop.upload("s-1", sent[at : at + 500], at))["status"] == "duplicate"
    with pytest.raises(errors.Conflict):
        await laptop.upload("s-1", sent[:200].replace(b"Deploy", b"Remove"), 0)


async def test_secret_over_the_edge_of_two_frames_is_masked(laptop: SyncClient, team: Team):
    line = json.dumps(
        {"type": "user", "text": "x" * (FRAME_BYTES - 40) + f" token {TOKEN} " + "y" * FRAME_BYTES}
    )
    sent = line.encode() + b"\n"
    for at in range(0, len(sent), FRAME_BYTES - 5):
        await laptop.upload("s-1", sent[at : at + FRAME_BYTES - 5], at)
    stored = await laptop.read_all_bytes("s-1")
    assert (len(stored), list_leaks(stored.decode())) == (len(sent), [])
    assert json.loads(stored)["type"] == "user"
    assert list_leaks(await everything_stored(team.database)) == []


async def test_upload_goes_on_after_a_restart_where_lines_were_masked(laptop: SyncClient):
    sent = leaking_script().content
    await laptop.upload("s-1", sent[:1500])
    upload._running.clear()
    reply = await laptop.upload("s-1", sent[1500:], 1500, sha256=sha256_of(sent[1500:]))
    assert (reply["status"], reply["bytes"]) == ("extended", len(sent))
    assert list_leaks(await everything_shown(laptop)) == []


async def test_owner_may_keep_raw_bytes_but_no_view_shows_a_secret(team: Team):
    sync = await with_settings(team, archives_raw="keep")
    sent = leaking_script().content
    await sync.upload("s-1", sent)
    assert await sync.read_all_bytes("s-1") == sent
    place = {"workspace_id": sync.workspace["workspace_id"]}
    shown = [
        await sync.read_session(**place, session_id="s-1"),
        await sync.list_sessions(**place),
        await sync.search_sessions(query="deploy token bad"),
        await sync.search_sessions(query="Deploy|key", mode="regex"),
        await sync.search_sessions(query=TOKEN, mode="literal"),
    ]
    assert list_leaks(msgspec.json.encode(shown).decode()) == []


async def test_sessions_that_were_stored_before_are_masked_in_the_background(team: Team):
    raw = await with_settings(team, archives_raw="keep")
    filler = TranscriptScript().user("z" * 3000).content
    sent = leaking_script().content + filler * 800 + leaking_script().content
    await raw.upload("s-1", sent)
    sync = SyncClient(team.calls, caller=raw.caller)
    sync.workspace = raw.workspace
    assert list_leaks(await everything_shown(sync)) == []

    async def pretend_older(tx: Tx) -> None:
        await tx.run("update session_study set parser = $1 where project = $2", STUDY_VERSION - 1, "shop")

    await team.database.write(pretend_older)
    await mask_stored_sessions(sync.calls)
    await restudy_sessions(sync.calls)
    assert list_leaks(await everything_stored(team.database)) == []
    assert (await sync.upload("s-1", sent))["status"] == "duplicate"
    more = TranscriptScript().user("and on").content
    assert (await sync.upload("s-1", more, len(sent)))["bytes"] == len(sent) + len(more)


async def test_multi_line_key_in_a_plain_transcript_is_masked(laptop: SyncClient):
    sent = ("user: here\n" + "\n".join(KEY_FILE) + "\nassistant: thanks\n").encode()
    await laptop.upload("s-1", sent, tool="aider")
    stored = (await laptop.read_all_bytes("s-1")).decode()
    assert (list_leaks(stored), stored.count("\n")) == ([], sent.count(b"\n"))
    assert stored.startswith("user: here\n")
    assert stored.endswith("\nassistant: thanks\n")


async def test_ids_of_live_sessions_are_not_stored(laptop: SyncClient, team: Team):
    alice = await team.agent("alice")
    text = f"session_id for these tools: {alice.session_id}\nand {alice.session_id}"
    await laptop.upload("s-1", TranscriptScript().user(text).content)
    assert alice.session_id not in await everything_stored(team.database)
    assert alice.session_id not in await everything_shown(laptop)


@pytest.fixture
async def outside(database: Database, clock: HandClock, tmp_path: Path) -> AsyncIterator[SyncClient]:
    """A client of a server that keeps full frames in a folder."""
    settings: Settings = config.read_settings({"archives": str(tmp_path / "bodies")}, {})
    calls = Calls(database, CATALOGUE, settings, clock)
    await calls.bus.open()
    yield await register_sync_client(Team(calls, clock))
    await calls.bus.close()


async def test_frames_in_a_folder_have_no_secret(outside: SyncClient, tmp_path: Path):
    sent = TranscriptScript().user("z" * FRAME_BYTES).content + leaking_script().content * 300
    await outside.upload("s-1", sent)
    files = [path for path in (tmp_path / "bodies").rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert list_leaks(zstd.decompress(path.read_bytes()).decode(errors="replace")) == []
