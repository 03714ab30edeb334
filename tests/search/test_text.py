"""Tokens, passages and stems."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.search import text
from commonplace.search.text import query_stems, split_passages, stem


@pytest.mark.parametrize(
    ("given_text", "tokens"),
    [
        ("connection pools", ["connect", "pool"]),
        ("getUserName", ["get", "user", "name", "getusername"]),
        ("get_user_name", ["get", "user", "name", "getusername"]),
        ("HTTPServer2", ["http", "server", "2", "httpserver2"]),
        ("os.path.join", ["os", "path", "join", "ospathjoin"]),
        ("src/app.py:12", ["src", "app", "py", "12", "srcapppy12"]),
        ("the and of", []),
        ("東京都", ["東京", "京都", "東", "京", "都"]),
        ("池", ["池"]),
        ("使用Redis时", ["使用", "使", "用", "redi", "时"]),
        ("はos.path.joinで", ["os", "path", "join", "ospathjoin"]),
        ("café", ["cafe", "café"]),
        ("Größe", ["gross", "größe"]),
        ("Straße-Weg", ["strass", "straße", "weg", "strasseweg"]),
        ("Łódź", ["lodz", "łódź"]),
        ("Αθήνα мой", ["αθηνα", "αθήνα", "мой"]),
        ("", []),
    ],
)
def test_tokens_are_names_whole_and_in_parts_and_stems_of_prose(given_text, tokens):
    assert text.tokenize(given_text) == tokens


def test_asked_are_single_signs_only_where_they_stand_alone():
    assert text.tokenize_question("the 東京都 池 connection pools") == [
        ("東京", "京都"),
        ("池",),
        ("connect",),
        ("pool",),
    ]


def test_tokens_of_an_endless_word_take_no_longer_than_it_is():
    assert len(text.tokenize("e" * 500_000)) == 1


def test_tokens_tell_long_names_apart():
    one, other = text.tokenize("x" * 80 + "a"), text.tokenize("x" * 80 + "b")
    assert (len(one), len(other), one == other) == (1, 1, False)


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("agreed", "agre"),
        ("plastered", "plaster"),
        ("motoring", "motor"),
        ("hopping", "hop"),
        ("filing", "file"),
        ("happy", "happi"),
        ("relational", "relat"),
        ("conditional", "condit"),
        ("vietnamization", "vietnam"),
        ("hopefulness", "hope"),
        ("electricity", "electr"),
        ("adjustment", "adjust"),
        ("controlling", "control"),
        ("connections", "connect"),
        ("deployments", "deploy"),
        ("layered", "layer"),
        ("js", "js"),
    ],
)
def test_stem_is_that_of_porter(word, stemmed):
    assert stem(word) == stemmed


@pytest.mark.parametrize(
    ("word", "former"),
    [
        ("deployment", "deployment"),
        ("deployments", "deployment"),
        ("deployed", "deploi"),
        ("employers", "employer"),
        ("portrayal", "portrayal"),
        ("eyes", "eye"),
        ("keys", "kei"),
        ("connections", "connect"),
        ("statuses", "status"),
    ],
)
def test_query_stems_include_the_stem_that_older_stores_have(word, former):
    assert former in query_stems(word)


def test_stem_is_the_same_in_every_thread():
    words = [
        f"{start}{end}" for start in ("connect", "deploy", "relat") for end in ("ion", "ing", "ed")
    ] * 200
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(stem, words)) == [stem(word) for word in words]


@given(st.text(max_size=400))
def test_tokens_of_any_text_are_plain_and_bounded(anything):
    for token in text.tokenize(anything):
        assert 0 < len(token) <= 64
        assert " " not in token
        assert ":" not in token


@given(st.text(alphabet="ab. \n", max_size=4000), st.integers(80, 1000))
def test_passages_lose_nothing_and_stay_within_their_size(anything, size):
    cuts = text.split_passages(anything, size)
    assert all(len(cut) <= size for cut in cuts)
    position = 0
    for cut in cuts:
        found = anything.find(cut, max(0, position - size))
        assert found >= 0
        assert not anything[position:found].strip()
        position = max(position, found + len(cut))
    assert not anything[position:].strip()


def test_titled_does_not_repeat_a_title_that_was_cut_from_the_text():
    assert text.prepend_title("The pool is", "The pool is cold.") == "The pool is cold."
    assert text.prepend_title("Pool", "It is cold.") == "Pool\nIt is cold."


def test_passages_of_chinese_are_shorter_because_each_character_is_a_token():
    chinese = "默认的连接池大小是十个连接。" * 60
    assert max(map(len, split_passages(chinese))) <= 300
    assert max(map(len, split_passages("The default pool has ten connections. " * 60))) > 900
