"""How searches are worded."""

from __future__ import annotations

import pytest

from acqo_rl.reformulation.word_statistics import WordStatistics
from acqo_rl.types import Query, Reformulation, SubQuery

QUERY = Query("q", "Which wine is red?")
RAW = SubQuery(QUERY.text, "original")


def answer(*sub_queries, completion=""):
    return Reformulation(QUERY, "decompose", sub_queries, "test", completion)


def part(text):
    return SubQuery(text, "part")


def test_words_beyond_the_query_are_counted():
    stuffed = SubQuery(f"{QUERY.text} Shiraz shiraz, Shiraz wine", "expansion")
    statistics = WordStatistics.of([answer(part("red wine wine"), RAW), answer(stuffed), answer(RAW)])
    assert statistics == WordStatistics(searches=2, words=3.5, repeated_twice=0.5, repeated_3_times=0.5)


@pytest.mark.parametrize(
    ("text", "repeated_twice", "repeated_3_times"),
    [
        ("Malbec Malbec", 1, 0),
        ("Malbec Malbec malbec", 1, 1),
        ("wine wine", 0, 0),
        ("wine wine wine", 1, 0),
        ("of the top of the top", 0, 0),
    ],
)
def test_a_word_counts_beyond_how_often_the_query_holds_it(text, repeated_twice, repeated_3_times):
    statistics = WordStatistics.of([answer(part(text))])
    assert (statistics.repeated_twice, statistics.repeated_3_times) == (repeated_twice, repeated_3_times)


def test_repetitions_removed_is_the_share_of_completions_that_repeat_words():
    clean, repeats = "split\nred Malbec\n= dry", "split\nred Malbec\n= dry dry"
    answers = [answer(part("Malbec"), completion=c) for c in (clean, repeats, "pass", "")]
    assert WordStatistics.of(answers).repetitions_removed == 0.25


def test_nothing_written_is_all_zeros():
    assert WordStatistics.of([answer(RAW)]) == WordStatistics.of([]) == WordStatistics()
