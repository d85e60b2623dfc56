"""What the steps of the pipeline find and answer, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest
from by_hand import evaluation

from acqo_rl.evaluation.answers import auroc, summarise_answers, summarise_step
from acqo_rl.evaluation.pipeline import Outcome

GOLD = {"q0": ("Lima",), "q1": ("yes",), "q2": None, "q3": ()}


def outcome(doc_ids="a", **changed):
    defaults = {"searched": ("q",), "calls": 0, "tokens": 0, "replies": (), "ms": 10.0}
    return Outcome(**({"doc_ids": tuple(doc_ids)} | defaults | changed))


def said(answer, confidence, label):
    return outcome(answer=answer, confidence=confidence, label=label, calls=2)


def step(*outcomes, ranks=({},)):
    """The evaluation of a step with these outcomes, and ranks of relevant documents."""
    whole = evaluation("step", [0.0] * len(outcomes))
    pairs = zip(whole.results, outcomes, list(ranks) * len(outcomes), strict=False)
    return replace(whole, results=tuple(replace(r, outcome=o, gold_ranks=g or {"d": 1}) for r, o, g in pairs))


def test_steps_by_hand():
    outcomes = [
        outcome("axb", skipped=("step: late",)),
        outcome("xa", failures=("gap: x",)),
        outcome("ab", failures=("gap: down",), errors=("down",)),
        outcome(""),
    ]
    ranks = [{"a": 1, "b": 3}, {"a": 2}, {"c": None, "a": 1}, {"d": None}]
    found = summarise_step(step(*outcomes, ranks=ranks))
    assert (found.passages, found.found) == (7 / 4, pytest.approx((1 + 1 + 0.5 + 0) / 4))
    assert (found.skipped, found.fell_back, found.errors) == (0.25, 0.5, 0.25)


def test_a_reformulator_is_no_step():
    assert summarise_step(evaluation("raw", [0.5])) is None
    assert summarise_answers(evaluation("raw", [0.5]), GOLD) is None


def test_answers_by_hand():
    """Of four questions one has no known answer, and one is known to have none."""
    answers = summarise_answers(
        step(
            said("It is Lima", 0.9, "High"),
            said("", 0.2, "Very Low"),
            said("who knows", 0.5, "Low"),
            said("", 0.4, "Low"),
        ),
        GOLD,
    )
    assert (answers.questions, answers.unknown) == (3, 1)
    assert (answers.answered, answers.words) == (pytest.approx(1 / 3), 3)
    assert (answers.em, answers.holds) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert answers.f1 == pytest.approx((0.5 + 0 + 1) / 3)
    high, medium, low, very_low = answers.reliability
    assert (high.answers, high.right, high.confidence) == (1, 1, 0.9)
    assert (medium.answers, medium.right) == (0, None)
    assert (low.answers, low.right, low.f1) == (1, 1, 1)
    assert (very_low.right, very_low.confidence) == (0, 0.2)
    assert answers.calibration_error == pytest.approx((0.1 + 0.6 + 0.2) / 3)
    assert answers.auroc == 1


def test_there_are_no_answers_to_measure_without_gold_answers():
    assert summarise_answers(step(outcome()), GOLD) is None
    assert summarise_answers(step(said("x", 0.5, "Low")), {"q0": None}) is None


@pytest.mark.parametrize(
    ("scores", "right", "expected"),
    [
        ([0.9, 0.1], [True, False], 1.0),
        ([0.1, 0.9], [True, False], 0.0),
        ([0.5, 0.5], [True, False], 0.5),
        ([0.8, 0.6, 0.4, 0.2], [True, False, True, False], 0.75),
        ([0.5], [True], None),
        ([0.5], [False], None),
    ],
)
def test_auroc(scores, right, expected):
    assert auroc(scores, right) == expected
