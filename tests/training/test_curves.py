"""Figures of training runs."""

from __future__ import annotations

import json

from acqo_rl.training.curves import read_log, write_curves

RL = [
    {"eval_nDCG@10": 0.5, "eval_pass": 0.75, "epoch": 0, "step": 0},
    {"loss": -0.1, "reward": 1.5, "entropy": 0.5, "step": 1},
    {"loss": 0.1, "reward": None, "entropy": float("nan"), "step": 2},
    {"eval_nDCG@10": 0.625, "eval_pass": 0.5, "epoch": 1, "step": 2},
    {"train_loss": 0.0, "train_runtime": 60.0, "step": 2},
]
WARM_START = [{"loss": 3.0, "step": 5}, {"loss": 1.0, "step": 10}, {"train_loss": 2.0, "step": 10}]


def test_logs_are_read_by_step_and_drawn(tmp_path):
    for name, rows in (("rl, $x$", RL), ("warm", WARM_START)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.json").write_text(json.dumps(rows))
    rl, warm = read_log(tmp_path / "rl, $x$"), read_log(tmp_path / "warm")
    wanted = {"eval_nDCG@10": {0: 0.5, 2: 0.625}, "reward": {1: 1.5}, "entropy": {1: 0.5}, "loss": {1: -0.1, 2: 0.1}}
    assert {name: dict(rl[name].dropna()) for name in wanted} == wanted
    assert dict(warm["cross_entropy"].dropna()) == {5: 3.0, 10: 1.0}
    write_curves(tmp_path, [tmp_path / "rl, $x$", tmp_path / "warm"])
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
