"""Groups of settings that several commands share."""

from __future__ import annotations

from dataclasses import dataclass

from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.settings import group
from acqo_rl.training.settings import PromptSettings, RewardSettings


@dataclass(kw_only=True)
class WithStrategy:
    """The settings of reformulators."""

    strategy: StrategySettings = group(
        "Settings of the reformulators, such as --strategy.num_variants 5; most apply to prompted strategies.",
        StrategySettings,
    )


@dataclass(kw_only=True)
class WithPolicy:
    """The settings of the reward and of the trained policy."""

    reward: RewardSettings = group("Settings of the reward, such as --reward.cost 0.02.", RewardSettings)
    prompt: PromptSettings = group(
        "What the policy reads and writes, such as --prompt.feedback_results 2; by default as the policy in --model.",
        PromptSettings,
    )
