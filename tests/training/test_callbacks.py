"""Alarms about signs of collapse."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from acqo_rl.training.callbacks import Alarms

HEALTHY = {
    "reward": 1.0,
    "completions/valid_ratio": 1.0,
    "completions/clipped_ratio": 0.0,
    "entropy": 0.5,
    "completions/pass_ratio": 0.4,
}
COLLAPSED = HEALTHY | {"completions/valid_ratio": 0.0}


def watch(alarms, *logs, main=True):
    """Feeds log lines; returns the steps after which training should stop."""
    control = SimpleNamespace(should_training_stop=False)
    stopped = []
    for step, line in enumerate(logs, start=1):
        state = SimpleNamespace(global_step=step, is_world_process_zero=main)
        alarms.on_log(None, state, control, logs=line)
        stopped += [step] * control.should_training_stop
    return stopped


@pytest.mark.parametrize(
    ("changed", "value"),
    [
        ("completions/valid_ratio", 0.5),
        ("completions/clipped_ratio", 0.9),
        ("entropy", 0.0),
        ("entropy", 9.0),
        ("completions/pass_ratio", 1.0),
        ("reward", 0.4),
        ("reward", None),
    ],
)
def test_each_sign_of_collapse_raises_an_alarm(tmp_path, changed, value):
    assert watch(Alarms(0, tmp_path), HEALTHY, HEALTHY | {changed: value}) == []
    line = json.loads((tmp_path / "alarms.jsonl").read_text())
    assert (line["step"], len(line["alarms"]), changed in line["alarms"][0]) == (2, 1, True)


def test_only_consecutive_alarms_stop_training_in_all_processes(tmp_path):
    assert watch(Alarms(1, tmp_path), HEALTHY, {"eval_pass": 1.0}, None, {"reward": 1.0}) == []
    assert watch(Alarms(1, tmp_path), COLLAPSED, main=False) == [1]
    assert not list(tmp_path.iterdir())  # only the main process writes
    assert watch(Alarms(2, tmp_path), COLLAPSED, HEALTHY, COLLAPSED, COLLAPSED) == [4]
