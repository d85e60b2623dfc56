"""Alarms: the ways in which policies are known to collapse."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from acqo_rl.training.callbacks import Alarms

HEALTHY = {
    "reward": 1.0,
    "part/format": 1.0,
    "completions/clipped_ratio": 0.0,
    "entropy": 0.5,
    "part/pass": 0.4,
}


def watch(alarms, *logs, main=True):
    """Feeds log lines; whether training was told to stop after each."""
    control = SimpleNamespace(should_training_stop=False)
    stopped, history = [], []
    for step, line in enumerate(logs, start=1):
        history.append(line or {})
        state = SimpleNamespace(global_step=step, is_world_process_zero=main, log_history=history)
        alarms.on_log(None, state, control, logs=line)
        stopped.append(control.should_training_stop)
    return stopped


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"part/format": 0.5}, "part/format is 0.5, under 0.7"),
        ({"completions/clipped_ratio": 0.9}, "completions/clipped_ratio is 0.9, over 0.3"),
        ({"entropy": 0.0}, "entropy is 0, under 0.001"),
        ({"entropy": 9.0}, "entropy is 9, over 3"),
        ({"part/pass": 1.0}, "part/pass is 1, over 0.97"),
        ({"reward": 0.4}, "reward is 0.4, the best was 1"),
        ({"reward": None}, "no completion has a reward"),
    ],
)
def test_each_sign_of_collapse_is_told(tmp_path, caplog, changed, message):
    assert watch(Alarms(0, tmp_path), HEALTHY, HEALTHY | changed) == [False, False]
    line = json.loads((tmp_path / "alarms.jsonl").read_text())
    assert line["step"] == 2
    assert [a[: len(message)] for a in line["alarms"]] == [message]
    assert message in caplog.text


def test_patience_stops_after_alarms_in_a_row(tmp_path):
    ill = HEALTHY | {"part/format": 0.0}
    assert watch(Alarms(2, tmp_path), ill, HEALTHY, ill, ill) == [False, False, False, True]


def test_a_policy_that_learns_to_pass_more_is_told_and_goes_on(tmp_path):
    measured = [{"eval_pass": share} for share in (0.65, 0.7, 0.76)]
    assert watch(Alarms(1, tmp_path), *measured) == [False] * 3
    line = json.loads((tmp_path / "alarms.jsonl").read_text())
    assert line == {"step": 3, "alarms": ["eval_pass is 0.76, at the start it was 0.65"]}


def test_other_log_lines_and_health_are_quiet(tmp_path):
    alarms = Alarms(1, tmp_path)
    assert watch(alarms, HEALTHY, {"eval_nDCG@10": 0.0}, None, {"reward": 1.0}) == [False] * 4
    assert not list(tmp_path.iterdir())


def test_every_process_stops_one_writes(tmp_path):
    """A process that went on alone would wait for the others for ever."""
    assert watch(Alarms(1, tmp_path), HEALTHY | {"part/format": 0.0}, main=False) == [True]
    assert not list(tmp_path.iterdir())
