"""Typos made by rules."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.conversations import read_history
from acqo_rl.data.robustness import mistype
from acqo_rl.types import Query

QUESTION = "What is the population of Linden and which currency circulates there?"


def distance(one, other):
    """Edits between two words; a swap of neighbours is one (Damerau)."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, start=1):
        row = [i]
        for j, b in enumerate(other, start=1):
            row.append(min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b)))
            if i > 1 and j > 1 and (a, b) == (other[j - 2], one[i - 2]):
                row[-1] = min(row[-1], rows[-2][j - 2] + 1)
        rows.append(row)
    return rows[-1][-1]


def test_the_same_seed_gives_the_same_typos_whatever_else_is_asked():
    query, other = Query("q", QUESTION, history=read_history(("U: hello",))), Query("r", "population of Linden")
    [alone] = mistype([query], 3)
    assert mistype([other, query], 3)[1] == alone
    assert alone.text != QUESTION
    assert (alone.id, alone.history) == ("q", query.history)
    assert len({mistype([query], seed)[0].text for seed in range(20)}) > 10


def test_every_kind_of_typo_happens_and_nothing_else():
    made = {mistype([Query("q", "capital")], seed)[0].text for seed in range(300)}
    assert {"cpaital", "cpital", "caapital"} <= made
    assert all(word.startswith("c") and distance("capital", word) == 1 for word in made)


@given(st.text(max_size=80), st.integers(0, 99))
def test_a_quarter_of_the_long_words_and_at_least_one(text, seed):
    [query] = mistype([Query("q", text)], seed)
    words = re.findall(r"[^\W\d_]{4,}", text)
    if words:
        assert query.text != text
        assert distance(text, query.text) <= max(1, len(words) // 4)
    else:
        assert query.text == text
