"""The plots of a report, as PNG; drawn without a display and without global state."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from acqo_rl.evaluation.run import Evaluation
from acqo_rl.evaluation.summary import compare, pareto_front
from acqo_rl.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Colours of Okabe and Ito, which colour-blind readers can tell apart."""

_MARKERS = ("o", "s", "^")
_HATCHES = ("", "///", "...")
_LOGARITHMIC = 20
"""If the largest cost exceeds the smallest by this factor, the cost axis is logarithmic, unless a cost is 0."""


@dataclass(frozen=True, slots=True)
class Point:
    """A system in the plot of quality against cost.

    Attributes:
        name: of the system.
        group: systems of one group share a colour.
        cost: x.
        quality: y.
        low: lower end of the confidence interval of the quality.
        high: upper end.
    """

    name: str
    group: str
    cost: float
    quality: float
    low: float
    high: float

    @property
    def at(self) -> tuple[float, float]:
        """Position in the plot."""
        return self.cost, self.quality


def draw_costs(points: Sequence[Point], cost: str, measure: str) -> bytes:
    """Draws quality against cost with confidence intervals; the Pareto front is a line, and its systems are named.

    Args:
        points: one per system.
        cost: label of the costs, with the unit.
        measure: label of the qualities.
    """

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for position, group in enumerate(dict.fromkeys(point.group for point in points)):
            mine = [point for point in points if point.group == group]
            x, y = [point.cost for point in mine], [point.quality for point in mine]
            errors = [[max(0.0, p.quality - p.low) for p in mine], [max(0.0, p.high - p.quality) for p in mine]]
            colour, marker = COLOURS[position % len(COLOURS)], _again(_MARKERS, position)
            axes.errorbar(x, y, yerr=errors, fmt="none", ecolor=colour, elinewidth=1, capsize=3, alpha=0.7, zorder=1)
            axes.scatter(x, y, color=colour, marker=marker, label=one_line(group), zorder=2)
        costs = [point.cost for point in points]
        if 0 < _LOGARITHMIC * min(costs) < max(costs):
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_formatter("")
        _front(axes, points)
        axes.set_xlabel(cost)
        axes.set_ylabel(f"{measure}, 95 % confidence interval")
        axes.set_title("Quality against cost (no system is above and left of the line)")
        _legend(axes)

    return render(draw)


def _front(axes: Axes, points: Sequence[Point]) -> None:
    """Joins the points on the Pareto front and writes their names, towards the middle of the plot."""
    best = [points[i] for i in pareto_front([point.at for point in points])]
    front = {point.at: point.name for point in reversed(best)}
    axes.step(*zip(*sorted(front), strict=True), where="post", color="grey", linewidth=1, zorder=1)
    axes.margins(0.08)
    axes.autoscale_view()
    for at, name in front.items():
        across = axes.transAxes.inverted().transform(axes.transData.transform(at))[0]
        side, shift = ("right", -7) if across > 0.5 else ("left", 7)
        axes.annotate(
            one_line(name), at, xytext=(shift, 4), textcoords="offset points", horizontalalignment=side, fontsize=7
        )


def draw_gains(evaluations: Sequence[Evaluation], measure: str) -> bytes:
    """Draws the difference to the first evaluation by kind of query, with confidence intervals."""
    baseline, *others = evaluations

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for position, evaluation in enumerate(others):
            comparison = compare(evaluation, baseline, [measure])
            gains = {"all": comparison.differences[measure], **comparison.by_kind}
            means = [gain.mean for gain in gains.values()]
            below = [max(0.0, gain.mean - gain.low) for gain in gains.values()]
            above = [max(0.0, gain.high - gain.mean) for gain in gains.values()]
            width = 0.8 / len(others)
            centres = np.arange(len(gains)) + (position - (len(others) - 1) / 2) * width
            colour, hatch = COLOURS[position % len(COLOURS)], _again(_HATCHES, position)
            axes.bar(centres, means, width * 0.92, color=colour, hatch=hatch, label=one_line(evaluation.name))
            axes.errorbar(centres, means, yerr=[below, above], fmt="none", ecolor="grey", capsize=3)
            axes.set_xticks(np.arange(len(gains)), [one_line(label)[:24] for label in gains])
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.set_ylabel(f"{measure}: difference to {one_line(baseline.name)}")
        axes.set_title("Difference by kind of query, 95 % confidence intervals")
        _legend(axes)

    return render(draw)


def _again(styles: Sequence[str], position: int) -> str:
    """The next style, after all colours are used."""
    return styles[position // len(COLOURS) % len(styles)]


def _legend(axes: Axes) -> None:
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))


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
