"""What a picture is drawn with."""

from __future__ import annotations

import pytest
from matplotlib.axes import Axes

from acqo_rl.evaluation.plots import Point, draw_costs


@pytest.mark.parametrize(("costs", "scales"), [((1, 5), []), ((1, 50), ["log"]), ((0, 1), []), ((0, 0), [])])
def test_costs_far_apart_are_on_a_logarithmic_scale_unless_one_is_free(monkeypatch, costs, scales):
    """A cost of 0 would not be seen on it."""
    seen, whole = [], Axes.set_xscale
    monkeypatch.setattr(Axes, "set_xscale", lambda axes, scale: (seen.append(scale), whole(axes, scale)))
    points = [Point(f"system {i}", "group", cost, 0.5, 0.4, 0.6) for i, cost in enumerate(costs)]
    assert draw_costs(points, "calls", "R@10").startswith(b"\x89PNG")
    assert seen == scales
