r"""Score how difficult each training query is for a policy, and report which queries a difficulty band keeps.

    acqo difficulty --data BEIR_DIR --index INDEX_DIR --model RUN/model --output_dir OUT

The policy is sampled --rollouts times per query, and the completions are scored with the Stage I reward. OUT contains
difficulty.jsonl (for acqo grpo --difficulty), report.md and histogram.png. The same command resumes an interrupted run,
and with another band it writes only another report.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from acqo_rl.cli import command
from acqo_rl.cli.fields import setting
from acqo_rl.cli.groups import WithReward
from acqo_rl.training.settings import PathSettings


@dataclass
class DifficultyConfig(WithReward, PathSettings):
    """Settings of the command."""

    rollouts: int = setting("Completions per query (K in the paper).", 8)
    temperature: float = setting("Sampling temperature; use that of training.", 0.8)
    top_p: float = setting("Nucleus sampling; use the value of training.", 0.8)
    batch_size: int = setting("Completions generated at once.", 64)
    min_mean_reward: float = setting("Lowest mean reward inside the band.", 0.05)
    max_mean_reward: float = setting("Highest mean reward inside the band.", 5 / 3)


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(DifficultyConfig, description=__doc__)


def main(config: DifficultyConfig) -> None:
    """Scores the queries that are not scored yet, then writes the report."""
    from pathlib import Path

    from transformers import set_seed

    from acqo_rl.reformulation.policy import Policy
    from acqo_rl.training.curriculum import (
        load_difficulties,
        save_difficulties,
        score_difficulty,
        select_band,
        write_report,
    )
    from acqo_rl.training.materials import open_materials
    from acqo_rl.training.run_folder import open_run

    folder = Path(config.output_dir)
    open_run(folder, asdict(config), free_to_change=["min_mean_reward", "max_mean_reward"])  # of the report only
    file = folder / "difficulty.jsonl"
    policy = Policy.from_pretrained(
        config.model, temperature=config.temperature, top_p=config.top_p, batch_size=config.batch_size
    )
    settings = policy.settings
    materials = open_materials(config, settings.feedback)
    if not file.exists():
        reward = materials.reward("explore", config.reward, settings)
        scored_file = folder / "scored.jsonl"
        scored = load_difficulties(scored_file) if scored_file.exists() else []
        set_seed(config.seed + len(scored))
        left = materials.train[len(scored) :]
        for batch in score_difficulty(left, materials.qrels, policy, reward, config.rollouts):
            scored += batch
            save_difficulties(scored, scored_file)
        scored_file.replace(file)
    band = select_band(load_difficulties(file), config.min_mean_reward, config.max_mean_reward)
    write_report(band, materials.train, folder)
    print(
        f"The band keeps {len(band.kept)} queries; {len(band.too_easy)} are too easy (mean reward above "
        f"{band.high:.2f}) and {len(band.too_hard)} are too hard (below {band.low:.2f}). See {folder / 'report.md'}."
    )
