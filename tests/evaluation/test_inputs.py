"""What an evaluation and a service are asked for."""

from __future__ import annotations

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.inputs import cache_key, name_reformulators
from acqo_rl.reformulation.load import StrategySettings


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("trained:demo", "trained-demo"),
        ("outputs/mine/policy", "outputs-mine-policy"),
        ("../runs/a+b/", "runs-a-b"),
        ("someone/some-policy-1.5", "someone-some-policy-1.5"),
    ],
)
def test_a_policy_needs_no_name(given, name):
    assert name_reformulators([given, "raw"], None) == {name: given, "raw": ""}
    assert name_reformulators([given], "other") == {name: given}


def test_a_given_name_is_kept():
    assert name_reformulators(["mine=trained:demo", "policy"], "a/b") == {"mine": "trained:demo", "policy": "a/b"}


@pytest.mark.parametrize(
    "given", [["trained:demo", "trained/demo"], ["trained:demo", "trained:demo"], ["://"], ["policy"]]
)
def test_what_names_nothing_or_twice_is_refused(given):
    with pytest.raises(ConfigError):
        name_reformulators(given, None)


def test_answers_are_kept_for_the_same_reformulator_model_files_and_settings_that_it_reads(tmp_path):
    """A policy reads no settings of a strategy, and a strategy none of another."""
    (tmp_path / "weights").write_text("old")
    three, four = StrategySettings(num_variants=3), StrategySettings(num_variants=4)
    policy = cache_key("policy", str(tmp_path), three)
    assert policy == cache_key("policy", str(tmp_path), four)
    assert policy != cache_key("policy_else_rules", str(tmp_path), three)
    assert cache_key("hyde", "m", three) == cache_key("hyde", "m", four) != cache_key("hyde", "n", three)
    assert cache_key("multi_query", "m", three) != cache_key("multi_query", "m", four)
    (tmp_path / "weights").write_text("renewed")
    assert policy != cache_key("policy", str(tmp_path), three)
