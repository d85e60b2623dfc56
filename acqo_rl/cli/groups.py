"""Groups of settings that several commands share."""

from __future__ import annotations

from dataclasses import dataclass

from acqo_rl.cli.fields import group
from acqo_rl.reformulation.load import StrategySettings


@dataclass(kw_only=True)
class WithStrategy:
    """The settings of reformulators."""

    strategy: StrategySettings = group(
        "Settings of the reformulators, such as --strategy.num_variants 5; most apply to prompted strategies.",
        StrategySettings,
    )
