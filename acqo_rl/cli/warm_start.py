r"""Warm start: fine-tune a model on reformulations that the reward has selected.

    acqo warm-start --config configs/warm_start/conversations.yaml --data BEIR_DIR --index INDEX_DIR \
        --output_dir outputs/warm_start
    accelerate launch train/warm_start.py --data BEIR_DIR --index INDEX_DIR --model Qwen/Qwen2.5-3B-Instruct \
        --examples 4000 --trainer.learning_rate 1e-4 --output_dir outputs/warm_start

The output folder contains examples.jsonl (the training examples), log.json and model/ (adapter, tokenizer, settings).
The same command resumes an interrupted run, both during scoring and during training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.language_models.local import load_tokenizer
from acqo_rl.reformulation.policy import PolicySettings
from acqo_rl.settings import setting
from acqo_rl.training.materials import Materials, start_run
from acqo_rl.training.run_folder import read_rows, write_rows
from acqo_rl.training.settings import FINE_TUNING, PathSettings, WithPolicy, policy_settings, trainer_help
from acqo_rl.training.warm_start import (
    Example,
    balanced,
    decided_by_kind,
    scored_in,
    train,
    verified_examples,
    warm_start_arguments,
)
from acqo_rl.types import Amount, Positive, Share

if TYPE_CHECKING:
    from trl import SFTConfig


@dataclass
class WarmStartConfig(WithPolicy, PathSettings):
    """Settings of a warm start."""

    examples: Positive = setting("Maximum number of training examples, balanced over the routes.", 1000)
    min_gain: Amount = setting("Minimum difference between the rewards of a candidate and of the raw query.", 0.05)
    tie_tolerance: Amount = setting(
        "Maximum difference to the best reward for a candidate to count as equally good. Of the equally "
        "good ones, the one with the most common form becomes the target.",
        0.05,
    )
    min_helped_share: Share = setting(
        "Minimum share of the queries of a kind that a reformulation must help; otherwise the target of "
        "the whole kind is to pass. The kind is metadata.kind, or without it the route of the rules. With 0, each "
        "query is decided separately.",
        0.0,
    )
    trainer: dict[str, Any] = setting(trainer_help("TRL's SFTConfig", FINE_TUNING), {})


def main(config: WarmStartConfig) -> None:
    """Collects the examples, unless an earlier run has done so; then trains or resumes training."""
    settings, arguments = check(config)
    load_tokenizer(config.model)  # refuses a model that cannot be prompted before any work is done
    folder = Path(config.output_dir)
    state, materials = start_run(config, settings.feedback)
    if materials is None:
        return
    with state.main_process_first():
        examples = collect(config, materials, folder / "examples.jsonl")
    train(materials.train, examples, settings, arguments, model=config.model, lora_rank=config.lora_rank)
    state.print(f"The warm-started policy is in {folder / 'model'}.")
    state.destroy_process_group()


def check(config: WarmStartConfig) -> tuple[PolicySettings, SFTConfig]:
    """Returns the settings of the policy and of TRL's trainer.

    Raises:
        ConfigError: a setting of the trainer is unknown or invalid, or a package that it needs is not installed.
    """
    settings = policy_settings(config.prompt, config.model)
    return settings, warm_start_arguments(config.trainer, config.output_dir, config.seed)


def collect(config: WarmStartConfig, materials: Materials, file: Path) -> Sequence[Example]:
    """Returns the training examples; reads them from ``file`` if it exists, otherwise selects and writes them."""
    if file.exists():
        return read_rows(Example, file)
    queries = materials.train
    settings = policy_settings(config.prompt, config.model)
    reward = materials.reward("converge", config.reward, settings)
    options = scored_in(file.with_name("scored.jsonl"), queries, materials.qrels, materials.corpus, reward)
    verified = verified_examples(options, config.min_gain, config.tie_tolerance)
    scored = decided_by_kind(verified, materials.kinds, config.min_helped_share)
    examples = balanced(scored, config.examples, config.seed)
    write_rows(examples, file)
    for name, some in (("Targets of the training queries", scored), ("Selected training examples", examples)):
        counts = Counter(e.route for e in some)
        print(f"{name}: " + ", ".join(f"{route} {n}" for route, n in sorted(counts.items())))
    return examples
