"""What keys of kept results depend on."""

from __future__ import annotations

from acqo_rl.evaluation.inputs import cache_key
from acqo_rl.reformulation.load import StrategySettings


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
