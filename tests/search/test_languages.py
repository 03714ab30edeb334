"""Questions and texts in other languages than English: the second model, and texts that the English one cannot read."""

from dataclasses import replace

import pytest

from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.search import models
from commonplace.search.models import LANGUAGE_MODEL_NAME, is_foreign

pytestmark = pytest.mark.slow

POOL = "The connection pool closes idle database connections after ten minutes."
GERMAN = "Warum werden ungenutzte Verbindungen zur Datenbank getrennt?"
CHINESE = "数据库的空闲连接在十分钟后被关闭需要在池里设置心跳。"


def open_server(team, embeddings):
    """The same store, opened by a server with another model."""
    calls = Calls(team.database, CATALOGUE, replace(Settings(), embeddings=embeddings), team.clock)
    return replace(team, calls=calls)


async def store_notes(team):
    alice = await team.agent("alice")
    made = await alice.record_learning(topic="Pool", content=POOL)
    for topic, content in (
        ("Colours", "The button of the shop is green on every page."),
        ("Backups", "A copy of the files is written to the other building every night."),
        ("Invoices", "Amounts are stored as whole cents, never as floating point."),
    ):
        await alice.record_learning(topic=topic, content=content)
    await team.calls.search.drain_queue()
    return alice, made["id"]


async def list_models_of_vectors(team):
    rows = await team.database.read(lambda tx: tx.all("select distinct model from embedding"))
    return {row["model"] for row in rows}


async def test_german_question_finds_an_english_note(team):
    alice, pool = await store_notes(open_server(team, "multilingual"))
    assert (await alice.query(query=GERMAN))["results"][0]["id"] == pool


async def test_english_question_is_compared_with_the_english_model(team):
    server = open_server(team, "multilingual")
    alice, pool = await store_notes(server)
    assert (await alice.query(query="why do unused sessions break off"))["results"][0]["id"] == pool
    question = await server.calls.search.build_question("why do unused sessions break off")
    assert question.model == models.BUNDLED_NAME


async def test_light_model_answers_in_every_language(team):
    alice, pool = await store_notes(open_server(team, "light"))
    assert await list_models_of_vectors(team) == {LANGUAGE_MODEL_NAME}
    for query in (GERMAN, "why are unused connections to the database closed"):
        assert (await alice.query(query=query))["results"][0]["id"] == pool


async def test_second_model_is_added_to_stored_vectors_and_taken_away(team):
    await store_notes(team)
    assert await list_models_of_vectors(team) == {models.BUNDLED_NAME}
    both = open_server(team, "multilingual")
    await both.calls.search.drain_queue()
    assert await list_models_of_vectors(team) == {models.BUNDLED_NAME, LANGUAGE_MODEL_NAME}
    bob = await both.agent("bob")
    assert (await bob.query(query=GERMAN))["results"][0]["title"] == "Pool"
    await open_server(team, "on").calls.search.drain_queue()
    assert await list_models_of_vectors(team) == {models.BUNDLED_NAME}


async def test_text_of_unknown_signs_has_a_vector_of_the_second_model_only(team):
    server = open_server(team, "multilingual")
    alice = await server.agent("alice")
    made = await alice.record_learning(topic="连接池", content=CHINESE)
    await server.calls.search.drain_queue()
    assert await list_models_of_vectors(team) == {LANGUAGE_MODEL_NAME}
    assert (await alice.query(query=GERMAN))["results"][0]["id"] == made["id"]


async def test_inspection_counts_questions_that_the_english_model_cannot_answer(team):
    alice, _ = await store_notes(team)
    await alice.query(query=GERMAN)
    findings = (await team.anyone().call("memory_inspect_server"))["findings"]
    search = next(each for each in findings if each["check"] == "search")
    assert search["health"] == "warning"
    assert "--embeddings multilingual" in search["command"]


@pytest.mark.parametrize(
    "question",
    [
        "Warum speichern wir Beträge als ganze Zahlen?",
        "el pipeline falla solo para colaboradores externos",
        "为什么前端打包体积翻倍了",
        "comment restaurer la sauvegarde pour les tests",
        "Kunde wurde doppelt belastet",
        "API-Schlüssel standen in den Logs",
        "latencia alta aunque la CPU casi no se usa",
    ],
)
def test_questions_in_other_languages_are_recognized(question: str):
    assert is_foreign(question)


@pytest.mark.parametrize(
    "question",
    [
        "why do we store amounts as integers",
        "the naïve retry in café.py",
        "pool_pre_ping server_idle_timeout",
        "die when the queue is full",
        "how long does the session of an employee last",
        "comment parser bug",
        "requests per second come late",
        "os.path join",
    ],
)
def test_english_questions_are_not_foreign(question: str):
    assert not is_foreign(question)
