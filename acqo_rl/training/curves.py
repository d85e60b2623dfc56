"""Draws the logs of training runs: one panel per quantity, one colour per run."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acqo_rl.evaluation.plots import COLOURS, render

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

LOG, CURVES = "log.json", "curves.png"
_DEV = "eval_"
_WINDOW = 5
_COLUMNS = 3

QUANTITIES = {
    "cross_entropy": "warm start: cross-entropy (nats per token)",
    "loss": "GRPO: loss",
    "reward": "mean reward per completion",
    "reward_std": "standard deviation of the reward",
    "frac_reward_zero_std": "groups with equal rewards",
    "retrieval/nDCG@10": "nDCG@10 of sampled completions",
    "retrieval/AllGold@10": "completions with all gold in the top 10",
    "entropy": "entropy (nats per token)",
    "completions/mean_length": "mean length (tokens)",
    "completions/valid_ratio": "completions in the grammar",
    "completions/pass_ratio": "completions that pass",
    "completions/sub_queries": "sub-queries per completion",
}
"""Key of a logged quantity -> title of its panel; the dev measures have panels, too."""


def read_log(folder: Path) -> pandas.DataFrame:
    """The log of a finished run, by step; the loss of a warm start is renamed to ``cross_entropy``."""
    import pandas

    rows = json.loads((folder / LOG).read_text(encoding="utf-8"))
    log = pandas.DataFrame(rows).apply(pandas.to_numeric, errors="coerce").set_index("step")
    return log if "reward" in log else log.rename(columns={"loss": "cross_entropy"})


def write_curves(folder: Path, runs: Sequence[Path]) -> None:
    """Draws finished runs to ``curves.png``; a line is the mean of five logged steps, and dev measures are points."""
    logs = {run.name: read_log(run) for run in runs}
    there = dict.fromkeys(key for log in logs.values() for key in log)
    dev = [key for key in there if key.startswith(_DEV) and not key.endswith("_error")]
    shown = {**{key: f"dev: {key.removeprefix(_DEV)}" for key in dev}, **QUANTITIES}
    keys = [key for key in shown if key in there]
    rows = math.ceil(len(keys) / _COLUMNS)
    if not keys:  # the run was shorter than the interval of its log
        return

    def draw(figure: Figure) -> None:
        for number, key in enumerate(keys, start=1):
            axes = figure.add_subplot(rows, _COLUMNS, number)
            for (name, log), colour in zip(logs.items(), COLOURS, strict=False):
                values = log[key].dropna() if key in log else log.index[:0].to_series()
                smooth = values if key in dev else values.rolling(_WINDOW, center=True, min_periods=1).mean()
                axes.plot(values.index, values, ".", color=colour, alpha=0.35)
                axes.plot(smooth.index, smooth, color=colour, label=name)
            axes.set_title(shown[key], fontsize=10, loc="left")
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=4, frameon=False)
        figure.supxlabel("step", fontsize=10)

    (folder / CURVES).write_bytes(render(draw, size=(4.2 * _COLUMNS, 2.9 * rows + 0.5)))
