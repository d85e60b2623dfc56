"""What watches over a run."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

logger = logging.getLogger(__name__)


class Alarms(TrainerCallback):
    """Looks at every log line for the ways in which policies are known to collapse.

    An alarm is a warning and a line in ``alarms.jsonl``; after ``patience`` alarmed log lines in a row training
    stops, and the best model by the dev measure is kept.

    Attributes:
        patience: 0 never stops.
        folder: of the run.
        least_format: share of completions in the grammar.
        most_clipped: share of completions cut by the token limit.
        least_entropy, most_entropy: nats a token.
        most_repetition: share of completions that repeat words.
        most_pass: share of pass routes; a small policy finds the safe way out first.
        most_pass_rise: of the share of pass routes on dev since the start; told, and no reason to stop.
        least_reward_share: of the best mean reward so far.
    """

    def __init__(
        self,
        patience: int,
        folder: str | Path,
        *,
        least_format: float = 0.7,
        most_clipped: float = 0.3,
        least_entropy: float = 1e-3,
        most_entropy: float = 3.0,
        most_repetition: float = 0.3,
        most_pass: float = 0.97,
        most_pass_rise: float = 0.1,
        least_reward_share: float = 0.5,
    ) -> None:
        self.patience = patience
        self.file = Path(folder, "alarms.jsonl")
        self.bounds: tuple[tuple[str, str, float], ...] = (
            ("part/format", "under", least_format),
            ("completions/clipped_ratio", "over", most_clipped),
            ("entropy", "under", least_entropy),
            ("entropy", "over", most_entropy),
            ("part/repetition", "over", most_repetition),
            ("part/pass", "over", most_pass),
        )
        self.most_pass_rise = most_pass_rise
        self.least_reward_share = least_reward_share
        self.best_reward = 0.0
        self.in_a_row = 0

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        """Checks the metrics of a training step or of a measure on dev."""
        if logs and "eval_pass" in logs:
            start = next((entry["eval_pass"] for entry in state.log_history if "eval_pass" in entry), logs["eval_pass"])
            if logs["eval_pass"] > start + self.most_pass_rise:
                self._tell(state, [f"eval_pass is {logs['eval_pass']:.3g}, at the start it was {start:.3g}"])
        if not logs or "reward" not in logs:
            return
        found = [
            f"{name} is {logs[name]:.3g}, {side} {bound:g}"
            for name, side, bound in self.bounds
            if logs.get(name) is not None and (logs[name] < bound if side == "under" else logs[name] > bound)
        ]
        if (reward := logs["reward"]) is None:
            found.append("no completion has a reward")
        else:
            self.best_reward = max(self.best_reward, reward)
            if reward < self.least_reward_share * self.best_reward:
                found.append(f"reward is {reward:.3g}, the best was {self.best_reward:.3g}")
        self.in_a_row = self.in_a_row + 1 if found else 0
        stops = 0 < self.patience <= self.in_a_row
        control.should_training_stop |= stops  # every process: one that went on would wait for the others for ever
        if found:
            self._tell(state, found)
        if stops and state.is_world_process_zero:
            logger.warning("Training stops after %d alarmed log lines in a row.", self.in_a_row)

    def _tell(self, state: Any, found: list[str]) -> None:
        if not state.is_world_process_zero:
            return
        logger.warning("Step %d: %s.", state.global_step, "; ".join(found))
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": state.global_step, "alarms": found}) + "\n")
