"""The trainer of networks: what imitation and reward learn, and what its tables compare."""

from dataclasses import replace

import numpy as np
import pytest

from acqo_rl.networks.features import FeatureTable
from acqo_rl.networks.scorer import Scorer
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.searching.hop import with_name
from acqo_rl.training.choice import with_asking
from acqo_rl.training.hop import expand, with_returns
from acqo_rl.training.options import ScoredOptions
from acqo_rl.training.scorer import Training, ablation, against_imitation, train
from acqo_rl.types import Query

TABLE = FeatureTable({}, {"first": {"is_first": float}, "others": {"is_second": float, "is_third": float}}, {}, {})


def test_the_reward_is_compared_with_imitation_on_queries_that_were_left_out():
    """The second option is often best, by little, and otherwise loses much: only imitation takes it."""
    rewards = [[0.0, 0.1, -1.0] if i % 9 else [0.0, -2.0, -1.0] for i in range(90)]
    options = [option(str(i), (), ("a", "b"), some) for i, some in enumerate(rewards)]
    [row] = against_imitation({"one set": options}, Training(TABLE, steps=300, seeds=1)).rows
    assert row[:2] == ("one set", "18")
    held = np.array(rewards)[::5]
    assert [float(value) for value in row[2:4]] == pytest.approx([held[:, 1].mean(), 0.0], abs=1e-3)
    assert [len(values.split(", ")) for values in row[5:]] == [3]


def option(query_id, searched, names, rewards):
    features = np.eye(len(rewards), 3, dtype=np.float32)
    return ScoredOptions(query_id, searched, names, features, np.array(rewards, np.float32))


class Doubling(Scorer):
    """Takes each option twice as often as the one before."""

    def score(self, features):
        return np.log(2.0) * np.arange(len(features))


@pytest.mark.parametrize("searches", [2, 3])
def test_the_value_of_an_expanded_option_is_the_expected_return_after_its_cost(searches):
    """The name is searched, and mostly also the question with the name."""
    after = with_name(pass_through(Query("q", "who?"), "raw"), "BERT")
    first = option("q", ("who?",), ("BERT", "Oslo"), [0.5, 1.0, 0.7])
    second = option("q", tuple(s.text for s in after.sub_queries[:searches]), ("Google",), [1.0, 2.0])
    [returned] = with_returns([first], [second], Doubling((), np.zeros(3), np.ones(3), ()), cost=0.2)
    assert returned.rewards.tolist() == pytest.approx([0.5, (1.0 + 2 * 1.8) / 3, 0.7])


def test_the_results_of_the_options_that_the_scorer_prefers_are_read():
    state = pass_through(Query("q", "who?"), "raw")
    options = option("q", ("who?",), tuple("abcde"), [0.0] * 6)
    grown = expand([state], [options], Doubling((), np.zeros(3), np.ones(3), ()))
    assert grown == [with_name(state, name) for name in "edc"]


@pytest.mark.parametrize(("cost", "best"), [(0.0, 1), (5.0, 0)])
def test_the_cost_decides_whether_to_stop(cost, best):
    options = [option(str(i), (), ("a", "b"), [0.0, 1.0, 0.2]) for i in range(8)]
    scorer, curve = train(options, Training(TABLE, steps=200, cost=cost, seeds=2, batch_size=8))
    assert int(scorer.score(options[0].features).argmax()) == best
    assert [step for step, _ in curve] == [100, 200]


@pytest.mark.parametrize(("loss_weight", "best"), [(1.0, 1), (3.0, 0)])
def test_a_loss_against_the_first_option_weighs_more_than_a_gain(loss_weight, best):
    """The second option gains 1 for two of three queries, and loses 1 for the others, which look the same."""
    options = [option(str(i), (), ("a",), [0.0, 1.0 if i % 3 else -1.0]) for i in range(9)]
    scorer, _ = train(options, Training(TABLE, steps=300, seeds=2, batch_size=9, loss_weight=loss_weight))
    assert int(scorer.score(options[0].features).argmax()) == best


def test_asking_is_worth_what_networks_of_other_queries_choose_minus_the_price():
    first = [option(str(i), (), ("ask",), [1.0, 0.0]) for i in range(8)]
    second = [replace(one, rewards=np.float32([1.0, 3.0 if i % 2 else 0.0])) for i, one in enumerate(first)]
    valued = with_asking(first, second, Training(TABLE, steps=100, batch_size=8), price=0.5)
    # The even queries are chosen for by networks of the odd ones, for which the model helps, and the other way round.
    assert [one.rewards[-1] for one in valued] == pytest.approx([-0.5, 0.5] * 4)
    assert [one.rewards[0] for one in [*valued, *first]] == [1.0] * 16
    assert {float(one.rewards[-1]) for one in first} == {0.0}


def test_a_group_of_features_is_worth_what_networks_lose_without_it():
    """The first two features tell which of the second and third options is best; the first option has none of them."""
    options = []
    for i in range(60):
        best = 1 + i % 2
        features = np.zeros((3, 3), np.float32)
        features[best, 1] = 1.0
        rewards = np.zeros(3, np.float32)
        rewards[best] = 1.0
        options.append(ScoredOptions(str(i), (), ("a", "b"), features, rewards))
    nothing, first, others = ablation({"one set": options}, Training(TABLE, steps=150, seeds=1)).rows
    assert [row[:2] for row in (nothing, first, others)] == [("nothing", "0"), ("first", "1"), ("others", "2")]
    assert float(nothing[2]) == float(first[2]) == 1.0
    assert float(others[2]) < 0.6
    assert others[3].startswith(f"{float(others[2]) - 1:+.3f}")


def test_a_network_without_a_group_does_not_read_it():
    options = [option(str(i), (), ("a", "b"), [0.0, 1.0, 0.2]) for i in range(8)]
    scorer, _ = train(options, Training(TABLE, steps=20, left_out="others"))
    assert scorer.features == ("is_first",)
    changed = options[0].features.copy()
    changed[:, 1:] += 9.0
    assert np.array_equal(scorer.score(changed), scorer.score(options[0].features))
