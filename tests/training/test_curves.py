"""Figures of training runs."""

from __future__ import annotations

import json

import pytest

from acqo_rl.training.curves import draw_training, read_log, write_curves

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
    return read_log(write(tmp_path / "rl", RL))


@pytest.fixture
def warm_start(tmp_path):
    return read_log(write(tmp_path / "warm", WARM_START))


def test_the_log_has_the_values_of_each_quantity_by_step(rl):
    wanted = {"eval_nDCG@10": {0: 0.5, 2: 0.625}, "reward": {1: 1.5}, "entropy": {1: 0.5}, "loss": {1: -0.1, 2: 0.1}}
    assert {name: dict(rl[name].dropna()) for name in wanted} == wanted


def test_the_loss_of_a_warm_start_is_named_cross_entropy(warm_start):
    assert dict(warm_start["cross_entropy"].dropna()) == {5: 3.0, 10: 1.0}
    assert "loss" not in warm_start


def test_only_logged_quantities_are_drawn(rl, warm_start):
    assert set(draw_training({"warm, $x$": warm_start})) == {"loss"}
    drawings = draw_training({"rl": rl, "warm, $x$": warm_start})
    assert set(drawings) == {"learning_curve", "loss", "reward", "completions", "groups", "sub_queries"}
    assert all(picture.startswith(b"\x89PNG") for picture in drawings.values())


def test_the_same_logs_give_the_same_picture(warm_start):
    assert draw_training({"one": warm_start}) == draw_training({"one": warm_start})


def test_the_figures_of_several_runs_are_written(tmp_path):
    write_curves(tmp_path / "figures", [write(tmp_path / "stage1", RL), write(tmp_path / "stage2", RL)])
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"reward.png", "learning_curve.png"} <= names
