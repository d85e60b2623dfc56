"""Alarms during GRPO."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

logger = logging.getLogger(__name__)


BOUNDS = (
    ("completions/valid_ratio", "below", 0.7),
    ("completions/clipped_ratio", "above", 0.3),
    ("entropy", "below", 1e-3),
    ("entropy", "above", 3.0),
    ("completions/repeated_word_ratio", "above", 0.3),
    ("completions/pass_ratio", "above", 0.97),
)
"""Metric, side and bound: a metric on this side of the bound raises an alarm. The entropy is in nats per token."""
LEAST_REWARD_SHARE = 0.5
"""Minimum mean reward, as a share of the highest mean reward so far."""


class Alarms(TrainerCallback):
    """Checks every logged step for signs that the policy collapses.

    An alarm is logged as a warning and written to ``alarms.jsonl``. After ``patience`` consecutive steps with an alarm
    training stops, and the best model by the dev measure is kept.

    Args:
        patience: number of consecutive steps with an alarm that stops training; 0 never stops.
        folder: folder of the run.
    """

    def __init__(self, patience: int, folder: str | Path) -> None:
        self.patience = patience
        self.file = Path(folder, "alarms.jsonl")
        self.best_reward = 0.0
        self.in_a_row = 0

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        """Checks the metrics of a training step."""
        if not logs or "reward" not in logs:
            return
        found = [
            f"{name} is {logs[name]:.3g}, {side} {bound:g}"
            for name, side, bound in BOUNDS
            if logs.get(name) is not None and (logs[name] < bound if side == "below" else logs[name] > bound)
        ]
        if (reward := logs["reward"]) is None:
            found.append("no completion has a reward")
        else:
            self.best_reward = max(self.best_reward, reward)
            if reward < LEAST_REWARD_SHARE * self.best_reward:
                found.append(f"reward is {reward:.3g}, the best was {self.best_reward:.3g}")
        self.in_a_row = self.in_a_row + 1 if found else 0
        stops = 0 < self.patience <= self.in_a_row
        control.should_training_stop |= stops  # in every process; a process that continued alone would wait forever
        if found and state.is_world_process_zero:
            logger.warning("Step %d: %s.", state.global_step, "; ".join(found))
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": state.global_step, "alarms": found}) + "\n")
        if stops and state.is_world_process_zero:
            logger.warning("Training stops after %d consecutive steps with an alarm.", self.in_a_row)
