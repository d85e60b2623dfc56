"""Figures of training runs, drawn from their logs, each with a CSV table of its values.

Runs are overlaid in different colours. Quantities of single steps are noisy: they are drawn as points, with a centred
moving mean as a line. Dev measures are not smoothed.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.plots import COLOURS, render
from acqo_rl.files import write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

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


@dataclass(frozen=True, slots=True)
class Log:
    """The log of a run: step -> quantity -> value."""

    name: str
    steps: dict[int, dict[str, float]]

    def points(self, key: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The steps that logged a quantity, int64[points], and the values, float64[points]."""
        found = [(step, values[key]) for step, values in self.steps.items() if key in values]
        return np.array([s for s, _ in found], np.int64), np.array([v for _, v in found], np.float64)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A figure as PNG, and the table of its values."""

    picture: bytes
    header: tuple[str, ...]
    rows: tuple[tuple[str | int | float, ...], ...]

    def csv_lines(self) -> list[str]:
        """The lines of the table as CSV; floats have four significant digits."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows([f"{v:.4g}" if isinstance(v, float) else v for v in row] for row in self.rows)
        return text.getvalue().splitlines()


def read_log(folder: str | Path, name: str) -> Log:
    """Reads the log of a finished run; the loss of a warm start is renamed to ``cross_entropy``.

    Raises:
        ConfigError: the folder contains no log.
    """
    file = Path(folder, LOG)
    try:
        rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
        steps: dict[int, dict[str, float]] = {}
        for row in rows:
            values = {k: float(v) for k, v in row.items() if isinstance(v, int | float) and math.isfinite(v)}
            steps.setdefault(int(row["step"]), {}).update(values)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{file} cannot be read as the log of a run ({type(error).__name__}: {error}); give the output folder of a "
            f"finished acqo warm-start or acqo grpo."
        ) from error
    if not any("reward" in values for values in steps.values()):
        steps = {
            step: {"cross_entropy" if key == "loss" else key: value for key, value in values.items()}
            for step, values in steps.items()
        }
    return Log(name, dict(sorted(steps.items())))


def moving_mean(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Centred mean over ``window`` values, float64[values]; the window is truncated at both ends."""
    before, after = (window - 1) // 2, window // 2
    return np.array([values[max(0, i - before) : i + after + 1].mean() for i in range(len(values))])


def draw_training(logs: Sequence[Log]) -> dict[str, Drawing]:
    """Draws every figure that has at least one logged quantity; returns figure -> drawing."""
    figures = {"learning_curve": _dev_panels(logs), **FIGURES}
    return {name: drawing for name, panels in figures.items() if (drawing := _draw(logs, panels))}


def _dev_panels(logs: Sequence[Log]) -> tuple[Panel, ...]:
    keys = dict.fromkeys(k for log in logs for values in log.steps.values() for k in values if k.startswith(_DEV))
    effort = (Panel("eval_searches", "dev: searches per query"), Panel("eval_pass", "dev: queries passed", share=True))
    other = {panel.key for panel in effort}
    measures = [key for key in keys if key not in other and not key.endswith(_ERROR)]
    return (*(Panel(key, f"dev: {key.removeprefix(_DEV).replace('_', ' ')}") for key in measures), *effort)


def _draw(logs: Sequence[Log], panels: Sequence[Panel]) -> Drawing | None:
    """Draws the panels that at least one log has a quantity for; ``None`` if there are none."""
    panels = [panel for panel in panels if any(len(log.points(panel.key)[0]) for log in logs)]
    if not panels:
        return None
    styles = {log.name: _style(position) for position, log in enumerate(logs)}
    columns = min(len(panels), 2 if len(panels) == 4 else 3)
    lines = math.ceil(len(panels) / columns)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(lines, columns, squeeze=False).flat
        for axes, panel in zip(grid, panels, strict=False):
            for log in logs:
                _curve(axes, log, panel, styles[log.name])
            _label(axes, panel)
        shown = [log.name for log in logs if any(len(log.points(panel.key)[0]) for panel in panels)]
        figure.legend(
            [_handle(styles[name]) for name in shown],
            shown,
            loc="outside upper left",
            ncols=min(len(shown), 4),
            frameon=False,
        )
        smoothed = not panels[0].key.startswith(_DEV)
        figure.supxlabel(f"step (line: moving mean over {WINDOW} points)" if smoothed else "step", fontsize=10)

    keys = [panel.key for panel in panels]
    picture = render(draw, size=(4.2 * columns if columns > 1 else 6, 2.9 * lines + 0.5))
    return Drawing(picture, ("run", "step", *keys), tuple(_rows(logs, keys)))


def _style(position: int) -> dict[str, str]:
    """The colour and line style of a run; lines are dashed when all colours are used."""
    lap, colour = divmod(position, len(COLOURS))
    return {"color": COLOURS[colour], "linestyle": ("-", "--", ":")[lap % 3]}


def _curve(axes: Axes, log: Log, panel: Panel, style: Mapping[str, Any]) -> None:
    steps, values = log.points(panel.key)
    if panel.key.startswith(_DEV):
        _, errors = log.points(panel.key + _ERROR)
        axes.errorbar(steps, values, errors if len(errors) else None, **style, marker="o", markersize=4, capsize=2)
        return
    axes.plot(steps, values, ".", color=style["color"], alpha=0.35, markersize=4)
    axes.plot(steps, moving_mean(values, WINDOW), **style)


def _label(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    axes.set_title(f"{panel.label} (%)" if panel.share else panel.label, fontsize=10, loc="left")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.grid(axis="y", color="lightgrey", linewidth=0.6)
    if panel.share:
        axes.yaxis.set_major_formatter(PercentFormatter(xmax=1, symbol=""))
        axes.set_ylim(-0.03, 1.03)


def _handle(style: Mapping[str, Any]) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], **style, linewidth=2)


def _rows(logs: Sequence[Log], keys: Sequence[str]) -> Iterator[tuple[str | int | float, ...]]:
    for log in logs:
        for step, values in log.steps.items():
            if any(key in values for key in keys):
                yield log.name, step, *(values.get(key, "") for key in keys)


def write_curves(folder: Path, runs: Sequence[Path]) -> None:
    """Writes the figures of finished runs as PNG, each with a CSV table of its values.

    Raises:
        ConfigError: a run has no log.
    """
    for name, drawing in draw_training([read_log(run, run.name) for run in runs]).items():
        write_atomic(folder / f"{name}.csv", drawing.csv_lines())
        (folder / f"{name}.png").write_bytes(drawing.picture)
