"""How searches are worded."""

from __future__ import annotations

import pytest

from acqo_rl.reformulation.wording import Wording
from acqo_rl.types import Query, Reformulation, SubQuery

QUERY = Query("q", "Which wine is red?")
RAW = SubQuery(QUERY.text, "original")


def answer(*sub_queries, completion=""):
    return Reformulation(QUERY, "decompose", sub_queries, "test", completion)


def part(text):
    return SubQuery(text, "part")


def test_words_beyond_the_query_are_counted():
    stuffed = SubQuery(f"{QUERY.text} Shiraz shiraz, Shiraz wine", "expansion")
    wording = Wording.of([answer(part("red wine wine"), RAW), answer(stuffed), answer(RAW)])
    assert wording == Wording(searches=2, words=3.5, repeating=0.5, stuffed=0.5)


@pytest.mark.parametrize(
    ("text", "repeating", "stuffed"),
    [
        ("Malbec Malbec", 1, 0),
        ("Malbec Malbec malbec", 1, 1),
        ("wine wine", 0, 0),
        ("wine wine wine", 1, 0),
        ("of the top of the top", 0, 0),
    ],
)
def test_a_word_counts_beyond_how_often_the_query_holds_it(text, repeating, stuffed):
    wording = Wording.of([answer(part(text))])
    assert (wording.repeating, wording.stuffed) == (repeating, stuffed)


def test_dropped_is_the_share_of_completions_that_repeat_words():
    clean, repeats = "split\nred Malbec\n= dry", "split\nred Malbec\n= dry dry"
    answers = [answer(part("Malbec"), completion=c) for c in (clean, repeats, "pass", "")]
    assert Wording.of(answers).dropped == 0.25


def test_nothing_written_is_all_zeros():
    assert Wording.of([answer(RAW)]) == Wording.of([]) == Wording()
