"""Pictures of any number of systems with any names."""

from __future__ import annotations

from acqo_rl.evaluation.plots import Point, draw_costs
from acqo_rl.evaluation.significance import mean_difference


def test_the_same_points_give_the_same_picture():
    points = [Point(f"$x_{i}$ <b>", 10.0**i, mean_difference([i / 20, 1.0])) for i in range(20)]
    picture = draw_costs(points, "milliseconds", "nDCG@10")
    assert picture.startswith(b"\x89PNG")
    assert picture == draw_costs(points, "milliseconds", "nDCG@10")
