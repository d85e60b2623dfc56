"""The plots of a report, as PNG; drawn without a display and without global state."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from acqo_rl.evaluation.run import Evaluation
from acqo_rl.evaluation.significance import Difference
from acqo_rl.evaluation.summary import compare
from acqo_rl.text import one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Colours of Okabe and Ito, which colour-blind readers can tell apart."""

_FAR = 20
"""If the largest cost exceeds the smallest by this factor, the cost axis is logarithmic."""


@dataclass(frozen=True, slots=True)
class Point:
    """A system in the plot of quality against cost: its name, its cost, and its quality with the interval."""

    name: str
    cost: float
    quality: Difference


def draw_costs(points: Sequence[Point], cost: str, measure: str) -> bytes:
    """Draws quality against cost with confidence intervals; each system has a colour and its name.

    Args:
        points: one per system.
        cost: label of the costs, with the unit.
        measure: label of the qualities.
    """

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for position, point in enumerate(points):
            colour = COLOURS[position % len(COLOURS)]
            axes.errorbar(
                [point.cost], [point.quality.mean], _errors([point.quality]), fmt="o", color=colour, capsize=3
            )
            at = (point.cost, point.quality.mean)
            axes.annotate(one_line(point.name), at, (6, 4), textcoords="offset points", color=colour, fontsize=7)
        costs = [point.cost for point in points]
        if 0 < _FAR * min(costs) < max(costs):
            axes.set_xscale("log")
        axes.margins(0.15)
        axes.set_xlabel(cost)
        axes.set_ylabel(f"{measure}, 95 % confidence interval")
        axes.set_title("Quality against cost")

    return render(draw)


def draw_gains(evaluations: Sequence[Evaluation], measure: str) -> bytes:
    """Draws the difference to the first evaluation by kind of query, with confidence intervals."""
    baseline, *others = evaluations

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        width = 0.8 / len(others)
        for position, evaluation in enumerate(others):
            comparison = compare(evaluation, baseline, [measure])
            gains = {"all": comparison.differences[measure], **comparison.by_kind}
            centres = np.arange(len(gains)) + (position - (len(others) - 1) / 2) * width
            axes.bar(
                centres,
                [gain.mean for gain in gains.values()],
                width * 0.92,
                yerr=_errors(list(gains.values())),
                color=COLOURS[position % len(COLOURS)],
                ecolor="grey",
                capsize=3,
                label=one_line(evaluation.name),
            )
            axes.set_xticks(np.arange(len(gains)), [one_line(label)[:24] for label in gains])
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.set_ylabel(f"{measure}: difference to {one_line(baseline.name)}")
        axes.set_title("Difference by kind of query, 95 % confidence intervals")
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))

    return render(draw)


def _errors(gains: Sequence[Difference]) -> list[list[float]]:
    """The lengths of the intervals below and above their means."""
    return [[max(0.0, gain.mean - gain.low) for gain in gains], [max(0.0, gain.high - gain.mean) for gain in gains]]


def render(draw: Callable[[Figure], None], *, size: tuple[float, float] = (8, 4)) -> bytes:
    """Renders a plot as PNG; equal plots give equal bytes.

    Args:
        draw: draws into an empty figure.
        size: width and height in inches.
    """
    import matplotlib
    from matplotlib.figure import Figure

    # Without parse_math, a name with two dollar signs would be a formula.
    own = {"text.parse_math": False, "axes.spines.top": False, "axes.spines.right": False}
    picture = io.BytesIO()
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **own}):
        figure = Figure(figsize=size, layout="constrained", dpi=120)
        draw(figure)
        figure.savefig(picture, format="png", metadata={"Software": None})
    return picture.getvalue()
