"""What is found by words alone, in any script, and how much such a hit is said to be worth."""

from collections import Counter
from dataclasses import replace

import pytest

from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.search import index


@pytest.fixture
async def alice(team):
    """An agent of a server without vectors."""
    calls = Calls(team.database, CATALOGUE, replace(Settings(), embeddings="off"), team.clock)
    return await replace(team, calls=calls).agent("alice")


@pytest.mark.parametrize(
    ("content", "question"),
    [
        ("使用PostgreSQL数据库连接池时要小心。", "PostgreSQL"),
        ("使用PostgreSQL数据库连接池时要小心。", "连接池"),
        ("使用PostgreSQL数据库连接池时要小心。", "池"),
        ("接続先はRedisで設定します。", "Redis"),
        ("接続先はos.path.joinで作ります。", "os.path.join"),
        ("데이터는 Redis를 사용합니다.", "redis"),
        ("The café opens at nine.", "cafe"),
        ("The cafe opens at nine.", "café"),
        ("Notes du déploiement.", "deploiement"),
        ("Die Größe des Puffers.", "Grosse"),
        (f"The bucket is {'q' * 80}.", "q" * 80),
    ],
)
async def test_query_finds_names_and_words_of_any_script(alice, content, question):
    made = await alice.store(title="Note", content=content, memory_type="adr")
    await alice.store(title="Other", content="The letter e alone, version 0.", memory_type="adr")
    assert [each["id"] for each in (await alice.query(query=question))["results"]] == [made["id"]]


async def test_query_for_a_name_finds_no_text_with_pieces_of_another(alice):
    await alice.store(title="Note", content="使用PostgreSQL数据库连接池时要小心。", memory_type="adr")
    assert (await alice.query(query="os.path.normpath")).get("results", []) == []


async def test_query_of_words_that_nobody_has_says_that_a_hit_is_worth_little(alice):
    await alice.store(title="Note", content="The connection is closed.", memory_type="adr")
    await alice.store(title="Colours", content="The button is green.", memory_type="adr")
    sole = await alice.query(query="connection")
    among = await alice.query(query="connection walrus otter seal penguin heron badger weasel")
    assert sole["results"][0]["relevance"] > 0.5
    assert among["results"][0]["relevance"] < 0.2


@pytest.mark.parametrize("question", ["deployment", "deployments of the cart", "deploy"])
async def test_query_finds_entries_that_were_stored_with_the_former_stems(alice, team, question):
    made = await alice.store(title="Rollout", content="Filled in below.", memory_type="adr")
    written_before = Counter({"deployment": 2, "deploi": 1, "deploy": 1, "cart": 1})
    entry = index.IndexEntry("shop", "document", made["id"], "adr", "Rollout", "", 1, counted=written_before)
    await team.database.write(lambda tx: index.put_entries(tx, [entry]))
    await alice.store(title="Colours", content="The button is green.", memory_type="adr")
    assert [each["id"] for each in (await alice.query(query=question))["results"]] == [made["id"]]
