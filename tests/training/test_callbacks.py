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


def watch(alarms, *logs, main=True):
    """Feeds log lines; returns for each whether training should stop after it."""
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
        ({"completions/valid_ratio": 0.5}, "completions/valid_ratio is 0.5, below 0.7"),
        ({"completions/clipped_ratio": 0.9}, "completions/clipped_ratio is 0.9, above 0.3"),
        ({"entropy": 0.0}, "entropy is 0, below 0.001"),
        ({"entropy": 9.0}, "entropy is 9, above 3"),
        ({"completions/pass_ratio": 1.0}, "completions/pass_ratio is 1, above 0.97"),
        ({"reward": 0.4}, "reward is 0.4, the best was 1"),
        ({"reward": None}, "no completion has a reward"),
    ],
)
def test_each_sign_of_collapse_raises_an_alarm(tmp_path, caplog, changed, message):
    assert watch(Alarms(0, tmp_path), HEALTHY, HEALTHY | changed) == [False, False]
    line = json.loads((tmp_path / "alarms.jsonl").read_text())
    assert line["step"] == 2
    assert [a[: len(message)] for a in line["alarms"]] == [message]
    assert message in caplog.text


def test_training_stops_after_consecutive_alarms(tmp_path):
    collapsed = HEALTHY | {"completions/valid_ratio": 0.0}
    assert watch(Alarms(2, tmp_path), collapsed, HEALTHY, collapsed, collapsed) == [False, False, False, True]


def test_a_rising_share_of_passed_dev_queries_is_reported_without_stopping(tmp_path):
    measured = [{"eval_pass": share} for share in (0.65, 0.7, 0.76)]
    assert watch(Alarms(1, tmp_path), *measured) == [False] * 3
    line = json.loads((tmp_path / "alarms.jsonl").read_text())
    assert line == {"step": 3, "alarms": ["eval_pass is 0.76, at the start it was 0.65"]}


def test_healthy_and_other_log_lines_raise_no_alarm(tmp_path):
    alarms = Alarms(1, tmp_path)
    assert watch(alarms, HEALTHY, {"eval_nDCG@10": 0.0}, None, {"reward": 1.0}) == [False] * 4
    assert not list(tmp_path.iterdir())


def test_all_processes_stop_but_only_the_main_process_writes(tmp_path):
    assert watch(Alarms(1, tmp_path), HEALTHY | {"completions/valid_ratio": 0.0}, main=False) == [True]
    assert not list(tmp_path.iterdir())
