"""The plot of a report, as PNG; drawn without a display and without global state."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from acqo_rl.evaluation.significance import Difference
from acqo_rl.text import one_line

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Colours of Okabe and Ito, which colour-blind readers can tell apart."""

_FAR = 20
"""If the largest cost exceeds the smallest by this factor, the cost axis is logarithmic."""


@dataclass(frozen=True, slots=True)
class Point:
    """A system in the plot: its name, its cost, and its quality with the interval."""

    name: str
    cost: float
    quality: Difference


def draw_costs(points: Sequence[Point], cost: str, measure: str) -> bytes:
    """Draws quality against cost with confidence intervals; equal plots give equal bytes.

    Args:
        points: one per system; each has a colour and its name.
        cost: label of the costs, with the unit.
        measure: label of the qualities.
    """
    import matplotlib
    from matplotlib.figure import Figure

    # Without parse_math, a name with two dollar signs would be a formula.
    own = {"text.parse_math": False, "axes.spines.top": False, "axes.spines.right": False}
    picture = io.BytesIO()
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **own}):
        figure = Figure(figsize=(8, 4), layout="constrained", dpi=120)
        axes = figure.subplots()
        for position, point in enumerate(points):
            colour, quality = COLOURS[position % len(COLOURS)], point.quality
            ends = [[max(0.0, quality.mean - quality.low)], [max(0.0, quality.high - quality.mean)]]
            axes.errorbar([point.cost], [quality.mean], ends, fmt="o", color=colour, capsize=3)
            at = (point.cost, quality.mean)
            axes.annotate(one_line(point.name), at, (6, 4), textcoords="offset points", color=colour, fontsize=7)
        costs = [point.cost for point in points]
        if 0 < _FAR * min(costs) < max(costs):
            axes.set_xscale("log")
        axes.margins(0.15)
        axes.set_xlabel(cost)
        axes.set_ylabel(f"{measure}, 95 % confidence interval")
        axes.set_title("Quality against cost")
        figure.savefig(picture, format="png", metadata={"Software": None})
    return picture.getvalue()
