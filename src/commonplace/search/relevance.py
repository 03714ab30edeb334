"""Is a hit about the question at all? If none is, a reply says so instead of showing the nearest texts.

`find.py` orders hits; the order says nothing about whether the first one is worth reading. Figures and how the thresholds
were chosen: docs/decisions/0008-search.md.
"""

from commonplace.search.find import Hit, Question

# Who asks for an exact name wants the entry that has it, whatever its vector says.
_RELEVANT_COVERAGE = 0.6
_SURE_COVERAGE = 0.3
_RELEVANT_WORDS_WITHOUT_VECTOR = 0.5
_KNOWN_BONUS_WITHOUT_VECTOR = 0.3
_UNKNOWN_NAME_PENALTY_WITHOUT_VECTOR = 0.16


def has_meaning(hit: Hit, question: Question) -> bool:
    """Is the entry nearer to the question than texts of one field are anyway?"""
    least = question.relevance.meaning if question.relevance else question.floor
    return hit.similarity is not None and hit.similarity >= least


def is_near_without_words(hit: Hit, question: Question) -> bool:
    """Has the entry no word of the question, but is it near enough for a project of this size?"""
    if hit.word_score or hit.similarity is None or question.relevance is None:
        return False
    return hit.similarity >= question.relevance.choose_meaning(hit.terms.passages)


def is_doubtful(hit: Hit, question: Question) -> bool:
    """Is the entry no nearer than unrelated texts can be? One with few words of the question has to be nearer than most
    of them, one without any nearer than nearly all."""
    scale = question.relevance
    if scale is None or hit.similarity is None or hit.coverage >= _SURE_COVERAGE:
        return False
    return hit.similarity < (scale.meaning if hit.word_score else scale.sure_meaning)


def keep_relevant(hits: list[Hit], question: Question) -> list[Hit]:
    """The hits that have a word or the meaning of the question, if one of them is about it; else those that are near
    without a word. The others are not shown: a filter must not make the least unrelated entry an answer."""
    matching = [hit for hit in hits if hit.word_score or has_meaning(hit, question)]
    if any(is_relevant(hit, question) for hit in matching):
        return matching
    return [hit for hit in hits if is_near_without_words(hit, question) and is_relevant(hit, question)]


def is_relevant(hit: Hit, question: Question) -> bool:
    """Is the entry about the question? Unknown without a vector or a scale of its model; then words decide."""
    scale, terms = question.relevance, hit.terms
    if scale is None or hit.coverage >= _RELEVANT_COVERAGE:
        return True
    if hit.similarity is None:
        evidence = hit.coverage + _KNOWN_BONUS_WITHOUT_VECTOR * terms.known
        evidence -= _UNKNOWN_NAME_PENALTY_WITHOUT_VECTOR * terms.has_only_unknown_names
        return evidence >= _RELEVANT_WORDS_WITHOUT_VECTOR
    evidence = hit.similarity + scale.word_bonus * hit.coverage + scale.known_bonus * terms.known
    evidence += scale.name_bonus * (terms.has_known_name - terms.has_only_unknown_names)
    return evidence >= scale.choose_threshold(terms.passages)
