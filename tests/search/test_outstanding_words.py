"""Vectors outweigh words for short texts; an entry whose words stand out keeps a place among the first five all the same."""

from commonplace.search.embedding_model import RelevanceScale
from commonplace.search.find import Hit, Question, rank_hits
from commonplace.search.query import weigh_terms

WORDS = {"qualiti": 3, "system": 4, "memori": 40}
TERMS = weigh_terms([(word,) for word in WORDS], WORDS, 60, 600, 24, {word: (word,) for word in WORDS})
QUESTION = Question(
    "how does the memory quality system work",
    "model",
    (1.0,),
    0.5,
    RelevanceScale(0.69, 0.11, 0.12, 0.132, 0.08, 0.6),
)


def build_hit(name: str, words: tuple[str, ...], similarity: float) -> Hit:
    counts = "".join(f" {word}:1" for word in words) + " "
    row = {"id": name, "counts": counts, "length": 10, "changed_at": 0}
    return Hit(row, TERMS, TERMS.score_entry(counts, 10), similarity, 0)


def test_entry_with_most_of_the_words_is_among_the_first_five():
    near = [build_hit(f"near{n}", ("memori",), 0.70 - n / 100) for n in range(8)]
    ranked = rank_hits([*near, build_hit("named", ("qualiti", "system"), 0.55)], QUESTION)
    assert [hit.id for hit in ranked][:5] == ["near0", "near1", "near2", "near3", "named"]
    assert [hit.closeness for hit in ranked] == sorted((hit.closeness for hit in ranked), reverse=True)


def test_entry_whose_words_many_others_have_keeps_no_place():
    near = [build_hit(f"near{n}", ("qualiti", "system"), 0.70 - n / 100) for n in range(8)]
    ranked = rank_hits([*near, build_hit("named", ("qualiti", "system"), 0.55)], QUESTION)
    assert [hit.id for hit in ranked][:5] == [f"near{n}" for n in range(5)]
