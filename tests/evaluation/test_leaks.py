from __future__ import annotations

import pytest

from acqo_rl.evaluation.run import leaks_answer
from acqo_rl.types import Query, Reformulation, Snippet, SubQuery

QUERY = Query(
    "q", "Who directed Jaws?", history=("U: I like Universal.",), feedback=(Snippet("Jaws", "A film of 1975."),)
)


@pytest.mark.parametrize(
    ("search", "metadata", "leaks"),
    [
        ("Steven Spielberg films", {"answer": "Steven Spielberg"}, True),
        ("steven-spielberg", {"answers": ["nobody", "Steven Spielberg"]}, True),
        ("Stevens Spielberg", {"answer": "Steven Spielberg"}, False),
        ("director of Jaws", {"answer": "Steven Spielberg"}, False),
        ("Universal 1975", {"answer": "Universal"}, None),
        ("Universal Jaws", {"answer": "Universal Jaws"}, True),  # two texts, one after the other
        ("films of 1975", {"answers": ["1975"]}, None),
        ("yes", {"answer": "yes"}, None),
        ("no", {"answer": "no"}, None),
        ("anything", {}, None),
        ("anything", {"answers": []}, None),
    ],
)
def test_an_answer_that_nobody_told_the_model(search, metadata, leaks):
    made = Reformulation(QUERY, "disambiguate", (SubQuery(search, "reading"),), "by hand")
    assert leaks_answer(made, metadata) is leaks


def test_the_query_itself_is_no_leak():
    made = Reformulation(QUERY, "pass", (SubQuery("Steven Spielberg", "original"),), "by hand")
    assert leaks_answer(made, {"answer": "Steven Spielberg"}) is False
