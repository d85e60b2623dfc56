"""Training of scorers: margins that limit the share of questions that become worse."""

import numpy as np
import pytest
from stand_ins import linear_scorer

from acqo_rl.networks.choice import FEATURES
from acqo_rl.training.options import ScoredOptions
from acqo_rl.training.scorer import calibrated

COLUMN = FEATURES.names.index("searches_last_turn")


def decisions(count, share_worse, seed):
    """Queries whose second option is worse in this share of them; where the scorer is surer, it is so less often."""
    drawn = np.random.default_rng(seed)
    made = []
    for number in range(count):
        worse = drawn.random() < share_worse
        features = np.zeros((2, len(FEATURES.names)), np.float32)
        features[1, COLUMN] = drawn.uniform(0, 2) if worse else drawn.uniform(0, 6)
        rewards = np.array([1.0, 0.0 if worse else 2.0], np.float32)
        made.append(ScoredOptions(str(number), (), (), features, rewards))
    return made


def share_that_becomes_worse(scorer, options):
    best = scorer.best([one.features for one in options])
    return np.mean([one.rewards[i] < 1 for one, i in zip(options, best, strict=True)])


@pytest.mark.parametrize("max_harm", [0.02, 0.05, 0.1])
def test_a_calibrated_margin_keeps_its_promise_on_other_questions(max_harm):
    """Of twenty calibrations, at most one may fail; with the margin 0, nearly a fifth becomes worse."""
    scorer, others = linear_scorer(FEATURES, searches_last_turn=1.0), decisions(4000, 0.2, 1000)
    assert share_that_becomes_worse(scorer, others) > 0.15
    found = [calibrated(scorer, decisions(300, 0.2, seed), max_harm) for seed in range(20)]
    assert sum(share_that_becomes_worse(one, others) > max_harm for one in found) <= 1
    assert any(one.margin < 2 for one in found) or max_harm == 0.02
    assert found[0].within(max_harm).margin == found[0].margin


def test_a_scorer_that_only_harms_has_the_largest_margin():
    made = calibrated(linear_scorer(FEATURES, searches_last_turn=9.0), decisions(50, 1.0, 0), 0.05)
    assert made.margin == max(margin for margin, _ in made.harm)
