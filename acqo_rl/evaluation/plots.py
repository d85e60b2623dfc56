"""The pictures of a report, as PNG; drawn without a display and without global state."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from acqo_rl.evaluation.compare import compare, summarise
from acqo_rl.evaluation.cost import pareto_front
from acqo_rl.evaluation.run import Evaluation
from acqo_rl.text import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Okabe and Ito's colours: told apart by everyone, on white and on black."""

_MARKERS = ("o", "s", "^")
_HATCHES = ("", "///", "...")
_LINES = ("-", "--", ":")
_ALL = "all"
_WIDE = 20
"""Costs that differ by more than this factor are drawn on a logarithmic scale, where none is 0."""


@dataclass(frozen=True, slots=True)
class Point:
    """Cost and quality of a system; systems of one group share a colour."""

    name: str
    group: str
    cost: float
    quality: float

    @property
    def at(self) -> tuple[float, float]:
        """Where it is drawn."""
        return self.cost, self.quality


def draw_plots(evaluations: Sequence[Evaluation], measure: str, *, dark: bool = False) -> dict[str, bytes]:
    """File name -> PNG. The first evaluation is the baseline; one evaluation alone has no gains to draw."""
    drawings: dict[str, Callable[[Axes], None]] = {}
    if len(evaluations) > 1:
        drawings["gain_by_kind.png"] = lambda axes: _gain_by_kind(axes, evaluations, measure)
        drawings["gain_per_query.png"] = lambda axes: _gain_per_query(axes, evaluations, measure)
    drawings["sub_queries_by_kind.png"] = lambda axes: draw_sub_queries_by_kind(axes, evaluations)
    return {name: render(partial(_on_one_axes, draw), dark=dark) for name, draw in drawings.items()}


def _on_one_axes(draw: Callable[[Axes], None], figure: Figure) -> None:
    draw(figure.subplots())


def draw_costs(points: Sequence[Point], cost: str, measure: str, *, dark: bool = False) -> bytes:
    """PNG of quality against cost, one point a system; those on the Pareto front are joined and named.

    Args:
        points: of the systems.
        cost: what the costs are, with their unit.
        measure: what the qualities are.
        dark: for a dark page.
    """

    def draw(axes: Axes) -> None:
        groups = list(dict.fromkeys(point.group for point in points))
        for position, group in enumerate(groups):
            mine = [point for point in points if point.group == group]
            colour, marker = COLOURS[position % len(COLOURS)], _again(_MARKERS, position)
            where = [point.cost for point in mine], [point.quality for point in mine]
            axes.scatter(*where, color=colour, marker=marker, label=one_line(group), zorder=2)
        costs = [point.cost for point in points]
        if 0 < _WIDE * min(costs) < max(costs):
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
            axes.xaxis.set_minor_formatter("")
        _front(axes, points)
        axes.set_xlabel(cost)
        axes.set_ylabel(measure)
        axes.set_title("Quality against cost; nothing is above and left of the line")
        _legend(axes)

    return render(partial(_on_one_axes, draw), dark=dark)


def _front(axes: Axes, points: Sequence[Point]) -> None:
    """Joins the points on the Pareto front, and names one of those that lie on each other, towards the middle."""
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


def draw_confusions(matrices: Mapping[str, Mapping[str, Mapping[str, int]]], *, dark: bool = False) -> bytes:
    """PNG of confusion matrices side by side, shaded by the share of each row, with the numbers in the cells.

    Args:
        matrices: title -> label -> predicted label -> number.
        dark: for a dark page.
    """

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(matrices), squeeze=False)[0]
        for axes, (title, matrix) in zip(panels, matrices.items(), strict=True):
            counts = np.array([list(row.values()) for row in matrix.values()])
            shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
            axes.imshow(shares, cmap="Greys_r" if dark else "Greys", vmin=0, vmax=1)
            names = [one_line(name) for name in matrix]
            axes.set_xticks(range(len(names)), names, rotation=45, ha="right")
            axes.set_yticks(range(len(names)), names)
            for (row, column), count in np.ndenumerate(counts):
                lit = (shares[row, column] > 0.5) == dark
                axes.text(column, row, str(count), ha="center", va="center", color="black" if lit else "white")
            axes.set_xlabel("taken for")
            axes.set_title(one_line(title))
        panels[0].set_ylabel("label")

    return render(draw, size=(5 * len(matrices), 4.6), dark=dark)


def _gain_by_kind(axes: Axes, evaluations: Sequence[Evaluation], measure: str) -> None:
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
    axes.set_title("Gain by kind of query, with 95 % confidence intervals")


def draw_sub_queries_by_kind(axes: Axes, evaluations: Sequence[Evaluation]) -> None:
    """Mean number of sub-queries, one group of bars a kind of query, one colour a reformulator."""
    bars = []
    for evaluation in evaluations:
        summary = summarise(evaluation)
        groups = {_ALL: summary.overall, **summary.by_kind}
        bars.append((evaluation.name, list(groups), [g.sub_queries for g in groups.values()], None))
    _grouped_bars(axes, bars, _colours(evaluations))
    axes.set_ylabel("mean number of sub-queries")
    axes.set_title("Sub-queries by kind of query")


def _gain_per_query(axes: Axes, evaluations: Sequence[Evaluation], measure: str) -> None:
    baseline = evaluations[0]
    colours = _colours(evaluations)
    for position, evaluation in enumerate(evaluations[1:], start=1):
        gains = np.sort(evaluation.scores(measure) - baseline.scores(measure))
        shares = np.linspace(0, 100, len(gains) + 1)
        label = one_line(evaluation.name)
        colour, line = colours[evaluation.name], _again(_LINES, position)
        axes.stairs(gains, shares, color=colour, linestyle=line, linewidth=1.8, label=label, baseline=None)
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set_xlabel("queries, from the biggest loss to the biggest gain (%)")
    axes.set_ylabel(f"{measure}: difference to {one_line(baseline.name)}")
    axes.set_title("Difference of each query")
    _legend(axes)


def _grouped_bars(
    axes: Axes, bars: Sequence[tuple[str, list[str], list[float], Any]], colours: Mapping[str, str]
) -> None:
    """Bars of (name, labels, heights, errors): one group a label, one colour a name."""
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
    """The same colour for a reformulator in every picture."""
    return {e.name: COLOURS[position % len(COLOURS)] for position, e in enumerate(evaluations)}


def _again(styles: Sequence[str], position: int) -> str:
    """The next style once all colours are used."""
    return styles[position // len(COLOURS) % len(styles)]


def _legend(axes: Axes) -> None:
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))


def render(draw: Callable[[Figure], None], *, size: tuple[float, float] = (8, 4), dark: bool = False) -> bytes:
    """A drawing as PNG; the same drawing gives the same bytes.

    Args:
        draw: draws into the empty figure that it is given.
        size: width and height in inches.
        dark: light on dark in place of dark on light.
    """
    import matplotlib
    from matplotlib import style
    from matplotlib.figure import Figure

    picture = io.BytesIO()
    with style.context(["dark_background"] if dark else ["default"]), matplotlib.rc_context():
        matplotlib.rcParams.update(
            {
                "text.parse_math": False,  # a name with two dollar signs is no formula
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
