"""Scorers: what is saved with the weights, and which folders are refused."""

import re
from dataclasses import replace

import numpy as np
import pytest
from stand_ins import random_scorer

from acqo_rl.errors import ConfigError
from acqo_rl.networks import choice, hop, order
from acqo_rl.networks.hop import FEATURES
from acqo_rl.networks.scorer import SETTINGS, WEIGHTS, Scorer
from acqo_rl.searching.description import CHOICE, ORDER, PathSpec

SIZE = len(FEATURES.names)


def test_a_scorer_is_saved_and_loaded(tmp_path):
    scorer = replace(random_scorer(), margin=2.0)
    features = np.random.default_rng(0).normal(size=(5, SIZE)).astype(np.float32)
    scorer.save(tmp_path)
    assert np.array_equal(Scorer.load(str(tmp_path), FEATURES).score(features), scorer.score(features))
    without = replace(scorer, margin=0.0).score(features)
    assert scorer.score(features) - without == pytest.approx([2.0, 0.0, 0.0, 0.0, 0.0])
    assert np.allclose(sum([one.score(features) for one in scorer.networks()]) / 2, scorer.score(features), atol=1e-5)


def test_a_scorer_counts_what_is_outside_the_range_of_its_training(tmp_path):
    """Five standard deviations from the mean are inside, more are clipped."""
    replace(random_scorer(), scale=np.full(SIZE, 2.0, np.float32), clipped=0.25).save(tmp_path)
    scorer = Scorer.load(str(tmp_path), FEATURES)
    features = np.full((3, SIZE), 10.0, np.float32)
    features[1, :4] = [10.1, -10.1, 1e9, -9.9]
    scorer.score(features)
    replace(scorer, margin=9.0).best([features, features[:2]])
    assert scorer.read == {"features": 8 * SIZE, "clipped": 9}
    assert scorer.clipped == 0.25
    assert not random_scorer().read


def test_the_margin_follows_the_harm_that_may_be_done(tmp_path):
    calibrated = replace(random_scorer(), margin=1.0, harm=((4.0, 0.01), (1.0, 0.05), (0.0, 0.2)))
    calibrated.save(tmp_path)
    loaded = Scorer.load(str(tmp_path), FEATURES)
    assert [loaded.within(share).margin for share in (0.02, 0.05, 0.5)] == [4.0, 1.0, 0.0]
    with pytest.raises(ConfigError, match=r"least that was measured is 0\.010"):
        loaded.within(0.001)
    with pytest.raises(ConfigError, match="not calibrated"):
        random_scorer().within(0.5)


def test_the_harm_that_may_be_done_sets_the_margins_of_choice_and_order():
    strict, loose = (PathSpec(choice=CHOICE, order=ORDER, max_harm=share).networks() for share in (0.05, 0.09))
    assert [scorer.margin for scorer in strict[::2]] > [scorer.margin for scorer in loose[::2]]
    assert strict[2].margin > loose[2].margin


SHIFTED = {
    "mean": [np.zeros(SIZE - 1, np.float32), np.full(SIZE, np.nan, np.float32)],
    "scale": [np.zeros(SIZE, np.float32), np.full(SIZE, np.inf, np.float32)],
    "margin": [float("nan"), 1e308],
    "languages": ["en"],
    "harm": [((float("nan"), 0.1),)],
    "clipped": [float("nan")],
    "layers": [
        random_scorer().layers[1:],
        *(
            tuple((weights * factor, bias[..., cut:]) for weights, bias in random_scorer().layers)
            for factor, cut in ((np.float32(np.inf), 0), (np.float32(1e37), 0), (1, 1))
        ),
        (),
    ],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in SHIFTED.items() for value in values])
def test_a_scorer_with_wrong_shapes_or_numbers_is_refused(tmp_path, name, value):
    replace(random_scorer(), **{name: value}).save(tmp_path)
    with pytest.raises(ConfigError):
        Scorer.load(str(tmp_path), FEATURES)


@pytest.mark.parametrize("damage", ["of another", "cut", "no scorer"])
@pytest.mark.parametrize("name", [SETTINGS, WEIGHTS])
def test_a_scorer_with_a_damaged_file_is_refused(tmp_path, name, damage):
    random_scorer(1).save(tmp_path / "other")
    random_scorer().save(tmp_path)
    damaged = {
        "of another": (tmp_path / "other" / WEIGHTS).read_bytes(),
        "cut": (tmp_path / name).read_bytes()[:-2],
        "no scorer": b"[]",
    }
    (tmp_path / name).write_bytes(damaged[damage])
    with pytest.raises(ConfigError, match="is not a scorer"):
        Scorer.load(str(tmp_path), FEATURES)


def test_a_scorer_of_other_features_is_refused_by_their_names(tmp_path):
    """A feature of today has another name than in the training."""
    known = FEATURES.names[-1]
    replace(random_scorer(), features=(*FEATURES.names[:-1], "height_of_name")).save(tmp_path)
    with pytest.raises(ConfigError, match=f"it lacks {known}; it also has height_of_name; train it again"):
        Scorer.load(str(tmp_path), FEATURES)
    with pytest.raises(ConfigError, match="train it again"):
        Scorer.load("trained:choice", FEATURES)


def test_features_are_known_by_their_names_not_by_their_places(tmp_path):
    """As after a line of the table was moved: the network reads the same numbers."""
    moved = replace(FEATURES, compared=dict(reversed(FEATURES.compared.items())))
    scorer = random_scorer()
    scorer.save(tmp_path)
    features = np.random.default_rng(0).normal(size=(5, SIZE)).astype(np.float32)
    places = [FEATURES.names.index(name) for name in moved.names]
    assert places != sorted(places)
    assert np.array_equal(Scorer.load(str(tmp_path), moved).score(features[:, places]), scorer.score(features))


@pytest.mark.parametrize("table", [choice.FEATURES, hop.FEATURES, order.FEATURES])
def test_each_feature_has_its_own_name(table):
    assert len(set(table.names)) == len(table.columns)
    assert all(re.fullmatch("[a-z0-9_]+", name) for name in table.names)
