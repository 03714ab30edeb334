"""What a question looks like decides how far vectors are trusted."""

import pytest

from commonplace.search.question_kind import is_foreign, list_names, list_proper_names, measure_name_share


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


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("pool_pre_ping", 1.0),
        ("SameSite=Lax", 1.0),
        ("--no-incremental", 1.0),
        ("what does getUserName return", 0.5),
        ("why is the deploy slow", 0.0),
        ("", 0.0),
    ],
)
def test_share_of_names_in_a_question(question: str, share: float):
    assert measure_name_share(question) == share


def test_proper_names_are_words_with_a_capital_inside_the_question():
    assert list_proper_names("When does PgBouncer close connections of Redis?") == ["PgBouncer", "Redis"]
    assert list_proper_names("What is the size limit") == []


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("unit tests of the COBOL batch", ["COBOL"]),
        ("SAP interface for purchase orders", ["SAP"]),
        ("best time of the year to visit Kyoto", ["Kyoto"]),
        ("No module named 'quantum_annealer'", ["quantum_annealer"]),
        ("why does getUserName return null", ["getUserName"]),
        ("The deploy failed. Make it work again.", []),
        ("what is known of src/shop/order_totals.py", []),
        ("How long is a session", []),
    ],
)
def test_names_are_capitals_inside_a_sentence_abbreviations_and_names_of_code(
    question: str, names: list[str]
):
    assert list_names(question) == names
