"""Exact match and F1 as SQuAD's official script computes them, by hand, and where ours goes beyond it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.evaluation.answers import AnswerScore, answer_tokens, gold_answers, score_answer


@pytest.mark.parametrize(
    ("answer", "gold", "em", "f1"),
    [
        ("Denver Broncos", ("Denver Broncos",), 1, 1),
        ("The  Denver Broncos!", ("denver broncos",), 1, 1),
        ("the Broncos of Denver", ("Denver Broncos",), 0, 0.8),  # 2 of 3 words, 2 of 2
        ("Denver", ("Denver Broncos",), 0, 2 / 3),
        ("Boston", ("Denver Broncos",), 0, 0),
        ("2017", ("Super Bowl LII,", "2017"), 1, 1),  # the best of several
        ("in 2017", ("Super Bowl LII,", "2017"), 0, 2 / 3),
        ("in in 2017", ("in 2017",), 0, 0.8),  # a word counts as often as in both
        ("U.S.", ("US",), 1, 1),  # as the official script: punctuation leaves no gap
        ("", ("Denver",), 0, 0),
        ("a", ("the",), 0, 0),
        ("The The", ("the the",), 1, 1),
    ],
)
def test_as_squad(answer, gold, em, f1):
    score = score_answer(answer, gold)
    assert (score.em, score.f1) == (em, pytest.approx(f1))


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("Claudio Javier L\u00f3pez", "claudio javier lo\u0301pez"),  # composed and decomposed
        ("\uff11\uff19\uff18\uff14", "1984"),  # full-width digits
        ("Stra\u00dfe", "STRASSE"),
        ("\u00abGuernica\u00bb", "Guernica"),
        ("\u201cDune\u201d \u2014 1965", "Dune 1965"),
        ("\u5317\u4eac\u3002", "\u5317 \u4eac"),
    ],
)
def test_any_script(answer, gold):
    assert score_answer(answer, [gold]).em == 1


def test_chinese_is_compared_by_characters():
    assert score_answer("\u4e2d\u56fd\u5317\u4eac", ["\u5317\u4eac"]) == AnswerScore(0, pytest.approx(2 / 3), 1)


@pytest.mark.parametrize(
    ("answer", "gold", "holds"),
    [
        ("It was Boston that won in 2017, I think.", ("2017",), 1),
        ("It was written in 20175.", ("2017",), 0),
        ("The film was made by Lilla Brignone.", ("Lilla Brignone",), 1),
        ("Brignone, Lilla", ("Lilla Brignone",), 0),
        ("Yes, both are from there.", ("yes",), 1),
        ("No, there is no such thing.", ("no",), 1),
        ("There is no doubt that both are.", ("no",), 0),  # "no" stands in it by chance
        ("", ("2017",), 0),
    ],
)
def test_holds(answer, gold, holds):
    assert score_answer(answer, gold).holds == holds


@pytest.mark.parametrize(("answer", "right"), [("", 1), (" None. ", 1), ("Unanswerable", 1), ("In 1984.", 0)])
def test_a_question_without_an_answer(answer, right):
    assert score_answer(answer, ()) == AnswerScore(right, right, right)


@pytest.mark.parametrize(
    ("metadata", "gold"),
    [
        ({"answer": "Monticello"}, ("Monticello",)),
        ({"answers": ["winter", "winter", "the winter"]}, ("winter", "the winter")),
        ({"answers": ["14"], "answer": "fifteen"}, ("14",)),
        ({"answer": 14}, ("14",)),
        ({"answer": True}, ("yes",)),
        ({"answers": []}, ()),  # SQuAD 2.0: known to have none
        ({"answer": " "}, ()),
        ({"answers": None}, None),
        ({}, None),
    ],
)
def test_gold_answers(metadata, gold):
    assert gold_answers(metadata) == gold


@given(st.text(max_size=40), st.text(max_size=40))
def test_bounds_and_symmetry(answer, gold):
    score, other = score_answer(answer, [gold]), score_answer(gold, [answer])
    assert 0 <= score.em <= score.f1 <= 1 or (not answer_tokens(answer) and not answer_tokens(gold))
    assert (score.em, score.f1) == (other.em, other.f1)


@given(st.text(min_size=1, max_size=40))
def test_the_gold_answer_is_right(gold):
    if answer_tokens(gold):
        assert score_answer(gold, [gold]) == AnswerScore(1, 1, 1)
