"""The figures of a study, by hand."""

from __future__ import annotations

import pytest

from acqo_rl.evaluation.pipeline_summary import auroc, measured, summarise_answers, summarise_study
from acqo_rl.evaluation.pipeline_systems import Outcome

QRELS = {"1": {"a": 1, "b": 1}, "2": {"a": 1, "x": 0}, "3": {"c": 2}, "4": {"d": 1}}
GOLD = {"1": ("Lima",), "2": ("yes",), "3": None, "4": ()}


def outcome(query_id, doc_ids, **changed):
    defaults = {"searched": ("q",), "calls": 0, "tokens": 0, "replies": (), "ms": 10.0}
    return Outcome(**({"system": "plain", "query_id": query_id, "doc_ids": tuple(doc_ids)} | defaults | changed))


def said(query_id, answer, confidence, label):
    return outcome(query_id, "a", answer=answer, confidence=confidence, label=label, calls=2)


PLAIN = measured([outcome("1", "axb"), outcome("2", "xa"), outcome("3", "ab"), outcome("4", "")], QRELS, GOLD)


class TestMeasures:
    def test_by_hand(self):
        assert PLAIN.measures["R@10"] == (1, 1, 0, 0)
        assert PLAIN.measures["AllGold@10"] == (1, 1, 0, 0)
        assert PLAIN.measures["AP@10"] == pytest.approx(((1 + 2 / 3) / 2, 0.5, 0, 0))
        assert PLAIN.found == (1, 1, 0, 0)
        assert PLAIN.answers == (None,) * 4

    def test_only_the_ten_best_count_but_all_are_found(self):
        late = measured([outcome("2", [*"0123456789", "a"])], QRELS, GOLD)
        assert (late.measures["R@10"], late.found) == ((0,), (1,))

    def test_the_order_is_that_of_the_outcome(self):
        """Not that of the ids, by which trec_eval breaks ties."""
        first, last = (measured([outcome("2", ids)], QRELS, GOLD).measures["nDCG@10"] for ids in ("azyx", "xyza"))
        assert first == (1.0,)
        assert last[0] < 0.5


class TestSummary:
    def test_costs_and_what_was_left_out(self):
        more = [
            outcome("1", "ab", calls=2, tokens=30, searched=("q", "r"), ms=10, skipped=("step: late",)),
            outcome("2", "ab", calls=1, tokens=10, ms=20, failures=("gap: x",)),
            outcome("3", "abc", ms=30, failures=("gap: down",), errors=("down",)),
            outcome("4", "d", ms=40),
        ]
        plain, summary = summarise_study({"plain": PLAIN, "multi_hop": measured(more, QRELS, GOLD)})
        assert (summary.calls, summary.tokens, summary.searches, summary.passages) == (0.75, 10, 1.25, 2)
        assert (summary.ms_p50, summary.ms_p95) == (25, pytest.approx(38.5))
        assert (summary.skipped, summary.fell_back, summary.errors) == (0.25, 0.5, 0.25)
        assert (summary.found, summary.measures["R@10"], summary.answers) == (1, 1, None)
        assert summary.differences["R@10"].mean == 0.5
        assert plain.differences == {}

    def test_p_values_are_corrected_for_all_systems(self):
        """Holm, of four p-values that are the same: four times each."""
        better = measured([outcome(i, "abcd") for i in "1234"], QRELS, GOLD)
        summaries = summarise_study({"plain": PLAIN, **{str(i): better for i in range(4)}})
        for summary in summaries[1:]:
            assert summary.corrected["R@10"] == pytest.approx(min(1, 4 * summary.differences["R@10"].p))


class TestAnswers:
    def test_by_hand(self):
        """Of four questions one has no gold answer told, and one is known to have none."""
        answers = summarise_answers(
            measured(
                [
                    said("1", "It is Lima", 0.9, "High"),
                    said("2", "", 0.2, "Very Low"),
                    said("3", "who knows", 0.5, "Low"),
                    said("4", "", 0.4, "Low"),
                ],
                QRELS,
                GOLD,
            )
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

    def test_none_to_measure(self):
        assert summarise_answers(PLAIN) is None
        assert summarise_answers(measured([said("3", "x", 0.5, "Low")], QRELS, GOLD)) is None


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
