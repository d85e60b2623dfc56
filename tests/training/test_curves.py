"""Figures of training runs and their tables."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.errors import ConfigError
from acqo_rl.training.curves import (
    draw_training,
    moving_mean,
    read_log,
    write_curves,
)

RL = [
    {"eval_nDCG@10": 0.5, "eval_searches": 1.25, "eval_pass": 0.75, "epoch": 0, "step": 0},
    {
        "loss": -0.1,
        "reward": 1.5,
        "entropy": 0.5,
        "completions/pass_ratio": 0.25,
        "frac_reward_zero_std": 0.5,
        "step": 1,
    },
    {
        "loss": 0.1,
        "reward": None,
        "entropy": float("nan"),
        "completions/pass_ratio": 0.5,
        "frac_reward_zero_std": 0.0,
        "step": 2,
    },
    {"eval_nDCG@10": 0.625, "eval_searches": 1.5, "eval_pass": 0.5, "epoch": 1, "step": 2},
    {"train_loss": 0.0, "train_runtime": 60.0, "step": 2},
]
WARM_START = [{"loss": 3.0, "step": 5}, {"loss": 1.0, "step": 10}, {"train_loss": 2.0, "step": 10}]


def write(folder, rows):
    folder.mkdir(parents=True)
    (folder / "log.json").write_text(json.dumps(rows))
    return folder


@pytest.fixture
def rl(tmp_path):
    return read_log(write(tmp_path / "rl", RL), "rl")


@pytest.fixture
def warm_start(tmp_path):
    return read_log(write(tmp_path / "warm", WARM_START), "warm, $x$")


def test_moving_mean_by_hand():
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert moving_mean(values, 1).tolist() == values.tolist()
    assert moving_mean(values, 2).tolist() == [1.5, 2.5, 3.5, 4.5, 5.0]
    assert moving_mean(values, 3).tolist() == [1.5, 2.0, 3.0, 4.0, 4.5]
    assert moving_mean(values, 99).tolist() == [3.0] * 5


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=20), st.integers(1, 30))
def test_a_mean_stays_between_the_extremes(values, window):
    smooth = moving_mean(np.array(values), window)
    assert len(smooth) == len(values)
    assert min(values) - 1e-9 <= smooth.min()
    assert smooth.max() <= max(values) + 1e-9


class TestReadLog:
    def test_rows_of_a_step_are_joined_and_missing_values_are_skipped(self, rl):
        assert list(rl.steps) == [0, 1, 2]
        assert [a.tolist() for a in rl.points("eval_nDCG@10")] == [[0, 2], [0.5, 0.625]]
        assert [a.tolist() for a in rl.points("reward")] == [[1], [1.5]]
        assert [a.tolist() for a in rl.points("entropy")] == [[1], [0.5]]
        assert [a.tolist() for a in rl.points("loss")] == [[1, 2], [-0.1, 0.1]]

    def test_the_loss_of_a_warm_start_is_named_cross_entropy(self, warm_start):
        assert [a.tolist() for a in warm_start.points("cross_entropy")] == [[5, 10], [3.0, 1.0]]
        assert len(warm_start.points("loss")[0]) == 0

    @pytest.mark.parametrize("content", ["{", "{}x", '[{"loss": 1}]', '["row"]', "7"])
    def test_a_file_that_is_not_a_log_is_rejected(self, tmp_path, content):
        (tmp_path / "log.json").write_text(content)
        with pytest.raises(ConfigError, match=r"log\.json"):
            read_log(tmp_path, "x")

    def test_an_unfinished_run_is_rejected(self, tmp_path):
        with pytest.raises(ConfigError, match=r"log\.json .*FileNotFoundError"):
            read_log(tmp_path, "x")


class TestFigures:
    def test_only_logged_quantities_are_drawn(self, rl, warm_start):
        assert set(draw_training([warm_start])) == {"loss"}
        drawings = draw_training([rl, warm_start])
        assert set(drawings) == {"learning_curve", "loss", "reward", "completions", "groups", "sub_queries"}
        assert all(drawing.picture.startswith(b"\x89PNG") for drawing in drawings.values())
        assert drawings["reward"].header == ("run", "step", "reward")

    def test_the_table_contains_raw_values(self, rl, warm_start):
        drawings = draw_training([rl, warm_start])
        assert drawings["learning_curve"].csv_lines() == [
            "run,step,eval_nDCG@10,eval_searches,eval_pass",
            "rl,0,0.5,1.25,0.75",
            "rl,2,0.625,1.5,0.5",
        ]
        assert drawings["loss"].csv_lines() == [
            "run,step,cross_entropy,loss",
            "rl,1,,-0.1",
            "rl,2,,0.1",
            '"warm, $x$",5,3,',
            '"warm, $x$",10,1,',
        ]

    def test_the_same_logs_give_the_same_picture(self, warm_start):
        assert draw_training([warm_start]) == draw_training([warm_start])

    def test_runs_are_written_side_by_side(self, tmp_path):
        runs = [write(tmp_path / "stage1", RL), write(tmp_path / "stage2", RL)]
        write_curves(tmp_path / "figures", runs)
        names = {path.stem for path in (tmp_path / "figures").glob("*.png")}
        assert names == {path.stem for path in (tmp_path / "figures").glob("*.csv")} >= {"reward", "learning_curve"}
        assert (tmp_path / "figures" / "reward.csv").read_text().splitlines()[1:] == ["stage1,1,1.5", "stage2,1,1.5"]
