"""The plots of a report, as PNG; drawn without a display and without global state."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from acqo_rl.evaluation.answers import Answers
from acqo_rl.evaluation.run import Evaluation
from acqo_rl.evaluation.summary import compare, pareto_front, summarise
from acqo_rl.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Colours of Okabe and Ito, which colour-blind readers can tell apart, on white and on black."""

_MARKERS = ("o", "s", "^")
_HATCHES = ("", "///", "...")
_ALL = "all"
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


def draw_costs(points: Sequence[Point], cost: str, measure: str, *, dark: bool = False) -> bytes:
    """Draws quality against cost with confidence intervals; the Pareto front is a line, and its systems are named.

    Args:
        points: one per system.
        cost: label of the costs, with the unit.
        measure: label of the qualities.
        dark: for a dark page.
    """

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        groups = list(dict.fromkeys(point.group for point in points))
        for position, group in enumerate(groups):
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

    return render(draw, dark=dark)


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


def draw_gains(evaluations: Sequence[Evaluation], measure: str, *, dark: bool = False) -> bytes:
    """Draws the difference to the first evaluation by kind of query, with confidence intervals."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        baseline = evaluations[0]
        bars = []
        for evaluation in evaluations[1:]:
            comparison = compare(evaluation, baseline, [measure])
            gains = {_ALL: comparison.differences[measure], **comparison.by_kind}
            errors = [
                [max(0.0, d.mean - d.low) for d in gains.values()],
                [max(0.0, d.high - d.mean) for d in gains.values()],
            ]
            bars.append((evaluation.name, list(gains), [d.mean for d in gains.values()], errors))
        _grouped_bars(axes, bars, _colours(evaluations))
        axes.axhline(0, color="grey", linewidth=0.8)
        axes.set_ylabel(f"{measure}: difference to {one_line(baseline.name)}")
        axes.set_title("Difference by kind of query, 95 % confidence intervals")

    return render(draw, dark=dark)


def draw_sub_queries_by_kind(axes: Axes, evaluations: Sequence[Evaluation]) -> None:
    """Draws the mean number of sub-queries: one group of bars per kind of query, one colour per system."""
    bars = []
    for evaluation in evaluations:
        summary = summarise(evaluation)
        groups = {_ALL: summary.overall, **summary.by_kind}
        bars.append((evaluation.name, list(groups), [g.sub_queries for g in groups.values()], None))
    _grouped_bars(axes, bars, _colours(evaluations))
    axes.set_ylabel("mean number of sub-queries")
    axes.set_title("Sub-queries by kind of query")


def draw_reliability(answers: Mapping[str, Answers], *, dark: bool = False) -> bytes:
    """Draws the share of right answers against confidence: one point per label, its area by the number of answers.

    Args:
        answers: name of a system -> its answers.
        dark: for a dark page.
    """

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color="grey", linestyle=":", linewidth=1)
        for colour, (name, found) in zip(COLOURS, answers.items(), strict=False):
            rows = [row for row in found.reliability if row.answers]
            x, y = [row.confidence or 0.0 for row in rows], [row.right or 0.0 for row in rows]
            errors = [[(r.right or 0) - (r.low or 0) for r in rows], [(r.high or 0) - (r.right or 0) for r in rows]]
            axes.errorbar(x, y, yerr=errors, fmt="none", ecolor=colour, elinewidth=1, capsize=3)
            axes.scatter(x, y, s=[30 + 200 * r.answers / found.questions for r in rows], color=colour, label=name)
        axes.set_xlim(-0.02, 1.02)
        axes.set_ylim(-0.02, 1.02)
        axes.set_xlabel("mean confidence of a label")
        axes.set_ylabel("share of answers that hold a gold answer")
        axes.set_title("Confidence against right answers")
        _legend(axes)

    return render(draw, size=(6, 4.5), dark=dark)


def _grouped_bars(
    axes: Axes, bars: Sequence[tuple[str, list[str], list[float], Any]], colours: Mapping[str, str]
) -> None:
    """Draws bars of (name, labels, heights, errors): one group per label, one colour per name."""
    width = 0.8 / len(bars)
    labels = bars[0][1]
    for position, (name, _, heights, errors) in enumerate(bars):
        centres = np.arange(len(labels)) + (position - (len(bars) - 1) / 2) * width
        hatch = _again(_HATCHES, list(colours).index(name))
        axes.bar(centres, heights, width * 0.92, color=colours[name], hatch=hatch, label=one_line(name))
        if errors is not None:
            axes.errorbar(centres, heights, yerr=errors, fmt="none", ecolor="grey", capsize=3)
    axes.set_xticks(np.arange(len(labels)), [one_line(label)[:24] for label in labels])
    _legend(axes)


def _colours(evaluations: Sequence[Evaluation]) -> dict[str, str]:
    return {e.name: COLOURS[position % len(COLOURS)] for position, e in enumerate(evaluations)}


def _again(styles: Sequence[str], position: int) -> str:
    """The next style, after all colours are used."""
    return styles[position // len(COLOURS) % len(styles)]


def _legend(axes: Axes) -> None:
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))


def render(draw: Callable[[Figure], None], *, size: tuple[float, float] = (8, 4), dark: bool = False) -> bytes:
    """Renders a plot as PNG; equal plots give equal bytes.

    Args:
        draw: draws into an empty figure.
        size: width and height in inches.
        dark: light on dark instead of dark on light.
    """
    import matplotlib
    from matplotlib import style
    from matplotlib.figure import Figure

    picture = io.BytesIO()
    with style.context(["dark_background"] if dark else ["default"]), matplotlib.rc_context():
        matplotlib.rcParams.update(
            {
                "text.parse_math": False,  # a name with two dollar signs is not a formula
                "axes.spines.top": False,
                "axes.spines.right": False,
                "figure.facecolor": "#16181d" if dark else "#ffffff",
                "axes.facecolor": "#16181d" if dark else "#ffffff",
            }
        )
        figure = Figure(figsize=size, layout="constrained", dpi=120)
        draw(figure)
        figure.savefig(picture, format="png", metadata={"Software": None})
    return picture.getvalue()
