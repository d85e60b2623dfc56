"""Figures of training runs, drawn from their logs.

Runs are overlaid in different colours. Quantities of single steps are noisy: they are drawn as points, with a centred
moving mean as a line. Dev measures are not smoothed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.evaluation.plots import COLOURS, render

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Logs = Mapping[str, Any]
"""Run -> its log, a data frame with a column for each quantity, by step."""

LOG = "log.json"
_DEV, _ERROR = "eval_", "_error"
WINDOW = 5
"""Number of logged steps over which a curve is smoothed."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One logged quantity: its key, its title with the unit, and whether it is a share (shown in percent)."""

    key: str
    label: str
    share: bool = False


FIGURES: dict[str, tuple[Panel, ...]] = {
    "loss": (
        Panel("cross_entropy", "warm start: cross-entropy (nats per token)"),
        Panel("loss", "GRPO: loss"),
    ),
    "reward": (Panel("reward", "mean reward per completion"), Panel("reward_std", "standard deviation of the reward")),
    "reward_parts": (
        Panel("retrieval/nDCG@10", "nDCG@10 of sampled completions"),
        Panel("retrieval/R@10", "R@10 of sampled completions"),
        Panel("retrieval/Success@10", "completions with a hit in the top 10", share=True),
        Panel("retrieval/AllGold@10", "completions with all gold in the top 10", share=True),
    ),
    "completions": (
        Panel("entropy", "entropy (nats per token)"),
        Panel("completions/mean_length", "mean length (tokens)"),
        Panel("completions/valid_ratio", "completions in the grammar", share=True),
        Panel("completions/clipped_ratio", "completions truncated by the token limit", share=True),
        Panel("completions/words_per_sub_query", "words per sub-query"),
        Panel("completions/repeated_word_ratio", "completions that repeat words", share=True),
    ),
    "groups": (Panel("frac_reward_zero_std", "groups with equal rewards", share=True),),
    "sub_queries": (
        Panel("completions/sub_queries", "sub-queries per sampled completion"),
        Panel("completions/pass_ratio", "sampled completions that pass", share=True),
        Panel("completions/includes_raw_query_ratio", "completions that search the raw query", share=True),
    ),
}
"""Figure -> its panels. The learning curve is added in ``draw_training``, because its measure depends on the run."""
_EFFORT = (Panel("eval_searches", "dev: searches per query"), Panel("eval_pass", "dev: queries passed", share=True))


def read_log(folder: Path) -> Any:
    """Reads the log of a finished run, a data frame; the loss of a warm start is renamed to ``cross_entropy``."""
    import pandas

    rows = json.loads((folder / LOG).read_text(encoding="utf-8"))
    log = pandas.DataFrame(rows).apply(pandas.to_numeric, errors="coerce").set_index("step")
    return log if "reward" in log else log.rename(columns={"loss": "cross_entropy"})


def draw_training(logs: Logs) -> dict[str, bytes]:
    """Draws every figure that has at least one logged quantity; returns figure -> PNG."""
    figures = {"learning_curve": _dev_panels(logs), **FIGURES}
    drawn = {}
    for name, panels in figures.items():
        if shown := [panel for panel in panels if any(panel.key in log for log in logs.values())]:
            drawn[name] = _draw(logs, shown)
    return drawn


def _dev_panels(logs: Logs) -> tuple[Panel, ...]:
    keys = dict.fromkeys(key for log in logs.values() for key in log if key.startswith(_DEV))
    measures = [key for key in keys if key not in {panel.key for panel in _EFFORT} and not key.endswith(_ERROR)]
    return (*(Panel(key, f"dev: {key.removeprefix(_DEV).replace('_', ' ')}") for key in measures), *_EFFORT)


def _draw(logs: Logs, panels: Sequence[Panel]) -> bytes:
    columns = min(len(panels), 2 if len(panels) == 4 else 3)
    lines = math.ceil(len(panels) / columns)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(lines, columns, squeeze=False).flat
        handles = {}
        for axes, panel in zip(grid, panels, strict=False):
            for position, (name, log) in enumerate(logs.items()):
                if panel.key in log:
                    handles[name] = _curve(axes, log, panel, COLOURS[position % len(COLOURS)])
            _label(axes, panel)
        place = {"loc": "outside upper left", "ncols": min(len(handles), 4), "frameon": False}
        figure.legend(handles.values(), handles.keys(), **place)
        smoothed = not panels[0].key.startswith(_DEV)
        figure.supxlabel(f"step (line: moving mean over {WINDOW} points)" if smoothed else "step", fontsize=10)

    return render(draw, size=(4.2 * columns if columns > 1 else 6, 2.9 * lines + 0.5))


def _curve(axes: Axes, log: Any, panel: Panel, colour: str) -> Any:
    """Draws the curve of a run; returns its handle for the legend."""
    values = log[panel.key].dropna()
    if panel.key.startswith(_DEV):
        errors = log[panel.key + _ERROR].dropna() if panel.key + _ERROR in log else None
        return axes.errorbar(values.index, values, errors, color=colour, marker="o", markersize=4, capsize=2)
    axes.plot(values.index, values, ".", color=colour, alpha=0.35, markersize=4)
    smooth = values.rolling(WINDOW, center=True, min_periods=1).mean()
    return axes.plot(values.index, smooth, color=colour)[0]


def _label(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    axes.set_title(f"{panel.label} (%)" if panel.share else panel.label, fontsize=10, loc="left")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.grid(axis="y", color="lightgrey", linewidth=0.6)
    if panel.share:
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1, symbol=""))
        axes.set_ylim(-0.03, 1.03)


def write_curves(folder: Path, runs: Sequence[Path]) -> None:
    """Writes the figures of finished runs as PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in draw_training({run.name: read_log(run) for run in runs}).items():
        (folder / f"{name}.png").write_bytes(picture)
