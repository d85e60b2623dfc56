"""The labelled questions, and how well the rules agree with them."""

from __future__ import annotations

import math
from collections import Counter
from typing import get_args

import pytest

from acqo_rl.reformulation.classify import classify
from acqo_rl.reformulation.labelled import agreement, held_out_questions, labelled_questions
from acqo_rl.types import Challenge, QueryType

QUESTIONS = labelled_questions()
HELD_OUT = held_out_questions()


def test_the_set_holds_every_kind_and_five_languages():
    assert len(QUESTIONS) >= 800
    assert len({q.query.text for q in QUESTIONS}) == len(QUESTIONS)
    assert min(Counter(q.query_type for q in QUESTIONS).values()) >= 80
    assert {q.query_type for q in QUESTIONS} == set(get_args(QueryType))
    assert {q.route for q in QUESTIONS} == {"pass", "disambiguate", "decompose"}
    assert {c for q in QUESTIONS for c in q.challenges} == set(get_args(Challenge))
    assert {q.language for q in QUESTIONS} == {"en", "zh", "de", "es", "fr"}
    assert all((q.challenges == ("simple",)) == ("simple" in q.challenges) for q in QUESTIONS)


@pytest.mark.parametrize(("what", "floor"), [("query_type", 0.95), ("route", 0.95), ("challenges", 0.95)])
def test_the_rules_do_not_get_worse(what, floor):
    """80 % without a model call. The rules were corrected with these questions in sight: no held-out figure."""
    found = [classify(q.query) for q in QUESTIONS]
    labels, predicted = ([" ".join(_labels(row, what)) for row in rows] for rows in (QUESTIONS, found))
    assert agreement(labels, predicted).accuracy >= floor


def _labels(row, what):
    value = getattr(row, what)
    return sorted(value) if isinstance(value, tuple) else [value]


def test_the_held_out_set_is_another_one_of_the_same_kinds():
    """No floor stands here: its figures are reported as they are, and a rule that is changed to suit it spoils it."""
    assert len(HELD_OUT) >= 80
    assert not {q.query.text.lower() for q in HELD_OUT} & {q.query.text.lower() for q in QUESTIONS}
    assert {q.query_type for q in HELD_OUT} == set(get_args(QueryType))
    assert min(Counter(q.query_type for q in HELD_OUT).values()) >= 10
    assert {q.route for q in HELD_OUT} == {"pass", "disambiguate", "decompose"}
    assert {c for q in HELD_OUT for c in q.challenges} == set(get_args(Challenge))
    assert {q.language for q in HELD_OUT} == {"en", "zh", "de", "es", "fr"}


def test_by_hand():
    """Two of four are correct; "b" is found once out of two, "c" is never predicted, and "d" does not occur."""
    result = agreement(["a", "b", "b", "c"], ["a", "b", "d", "a"])
    assert result.accuracy == 0.5
    assert result.precision["a"] == 0.5
    assert (result.precision["b"], result.recall["b"]) == (1.0, 0.5)
    assert math.isnan(result.precision["c"])
    assert math.isnan(result.recall["d"])
    assert result.confusion["b"] == {"a": 0, "b": 1, "c": 0, "d": 1}
