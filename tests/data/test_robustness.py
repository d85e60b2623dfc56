"""Typos made by rules."""

import re

from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.conversations import read_history
from acqo_rl.data.draw import mistype
from acqo_rl.types import Query

QUESTION = "What is the population of Linden and which currency circulates there?"


def test_the_same_seed_gives_the_same_typos_whatever_else_is_asked():
    query = Query("q", QUESTION, history=read_history(("U: hello",)))
    other = Query("r", "population of Linden")
    [alone] = mistype([query], 3)
    assert mistype([other, query], 3)[1] == alone
    assert alone.text != QUESTION
    assert (alone.id, alone.history) == ("q", query.history)
    assert len({mistype([query], seed)[0].text for seed in range(20)}) > 10


@given(st.text(max_size=80), st.integers(0, 99))
def test_a_quarter_of_the_long_words_and_at_least_one(text, seed):
    """A typo changes two letters at most; the first letter of a word stays."""
    [query] = mistype([Query("q", text)], seed)
    before, after = (re.findall(r"[^\W\d_]+|[\W\d_]+", some) for some in (text, query.text))
    changed = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
    long = [word for word in before if re.fullmatch(r"[^\W\d_]{4,}", word)]
    assert len(changed) == (max(1, len(long) // 4) if long else 0)
    for one, other in changed:
        assert one in long
        assert one[0] == other[0]
        assert abs(len(one) - len(other)) <= 1
