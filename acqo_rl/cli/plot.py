r"""Draw learning curves of finished training runs, as PNG figures with CSV tables of their values.

    acqo plot --run outputs/demo/stage1 outputs/demo/stage2 --output outputs/figures
    acqo plot --run outputs/demo/warm_start --output outputs/figures/warm_start
    acqo plot --run outputs/demo/stage1 outputs/demo/stage2 --difficulty outputs/difficulty_before \
        outputs/demo/difficulty --output outputs/figures

The figures come from log.json of warm starts and GRPO runs: learning_curve (dev measure, searches, share of passed
queries), loss, reward, reward_parts, completions (entropy, length, share in the grammar, share truncated), groups (with
equal rewards) and sub_queries. A figure is drawn if at least one log contains its metrics. --difficulty adds
histograms side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acqo_rl.cli import command
from acqo_rl.cli.fields import setting
from acqo_rl.errors import ConfigError


@dataclass
class PlotTrainingConfig:
    """Settings of the figures."""

    output: str = setting("Output folder; figures with the same name are replaced.")
    run: list[str] = setting("Folders of finished runs, one colour each.", [])
    difficulty: list[str] = setting("Output folders of acqo difficulty, drawn from left to right.", [])


def make_parser() -> Any:
    """The parser of this command."""
    return command.make_parser(PlotTrainingConfig, description=__doc__)


def main(config: PlotTrainingConfig) -> None:
    """Draws the figures."""
    from acqo_rl.files import write_atomic
    from acqo_rl.training.curriculum import load_difficulties
    from acqo_rl.training.curves import draw_difficulty, draw_training, name_folders, read_log

    if not (config.run or config.difficulty):
        raise ConfigError("Nothing to draw: give --run or --difficulty.")
    logs = [read_log(folder, name) for name, folder in name_folders(config.run).items()]
    drawings = draw_training(logs)
    if config.difficulty:
        folders = name_folders(config.difficulty)
        drawings["difficulty"] = draw_difficulty(
            {name: load_difficulties(folder / "difficulty.jsonl") for name, folder in folders.items()}
        )
    for name, drawing in drawings.items():
        write_atomic(Path(config.output, f"{name}.csv"), drawing.csv_lines())
        Path(config.output, f"{name}.png").write_bytes(drawing.picture)
        print(Path(config.output, f"{name}.png"))
