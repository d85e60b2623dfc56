"""Settings of the training stages."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from types import SimpleNamespace
from typing import Any, Literal

from acqo_rl.addresses import Address
from acqo_rl.errors import ABOVE_0, FINITE, ConfigError, check_ranges
from acqo_rl.reformulation.policy import RANGES, PolicySettings, settings_of_policy
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.types import FusionName

_RANGES = {
    **RANGES,
    **dict.fromkeys(
        ("limit", "lora_rank", "rollouts", "alarm_patience", "teacher_queries", "rollouts_per_query", "layers"),
        (0, FINITE),
    ),
    **dict.fromkeys(
        ("cost", "word_cost", "bonus_ranks", "top_rank_bonus", "learning_rate", "min_gain", "tie_tolerance"),
        (0, FINITE),
    ),
    **dict.fromkeys(("eval_limit", "save_steps", "examples", "results"), (1, FINITE)),
    **dict.fromkeys(("batch_size", "micro_batch_size"), (1, FINITE)),
    **dict.fromkeys(("epochs", "temperature"), (ABOVE_0, FINITE)),
    **dict.fromkeys(("top_p", "gold_decay", "hardest_fraction"), (ABOVE_0, 1)),
    **dict.fromkeys(("invalid_reward", "min_mean_reward", "max_mean_reward"), (-FINITE, FINITE)),
    "seed": (0, 2**32 - 1),
    "min_helped_share": (0, 1),
}

LORA_RATE, FULL_RATE = 2e-5, 1e-6
"""Peak learning rates for an adapter and for all weights (as in the paper); an adapter needs a much higher rate."""

TRAINER: dict[str, Any] = {
    "per_device_train_batch_size": 32,
    "num_generations": 8,
    "temperature": 0.8,
    "top_p": 0.8,
    "loss_type": "dapo",
    "epsilon": 0.2,
    "epsilon_high": 0.28,
    "scale_rewards": "none",
    "beta": 0.0,
    "warmup_steps": 0.05,
    "lr_scheduler_type": "constant_with_warmup",
    "num_train_epochs": 1.0,
    "gradient_checkpointing": False,
    "eval_steps": 50,
    "logging_steps": 1,
    "report_to": "none",
}
"""Settings of GRPOConfig that differ from TRL's defaults."""

_TRAINER_RANGES = {
    **dict.fromkeys(("learning_rate", "epsilon", "epsilon_high", "beta", "warmup_steps"), (0, FINITE)),
    **dict.fromkeys(("per_device_train_batch_size", "gradient_accumulation_steps", "num_iterations"), (1, FINITE)),
    **dict.fromkeys(("eval_steps", "logging_steps"), (1, FINITE)),
    **dict.fromkeys(("num_train_epochs", "temperature"), (ABOVE_0, FINITE)),
    **dict.fromkeys(("top_p", "vllm_gpu_memory_utilization"), (ABOVE_0, 1)),
    "max_steps": (-1, FINITE),
    "num_generations": (2, FINITE),
}

_RESERVED = """
output_dir max_completion_length mask_truncated_completions bf16 use_cpu dataloader_pin_memory eval_strategy
eval_on_start save_strategy save_steps load_best_model_at_end metric_for_best_model greater_is_better
remove_unused_columns seed vllm_structured_outputs_regex generation_kwargs
"""
RESERVED = frozenset(_RESERVED.split())
"""Settings of GRPOConfig that users cannot set, because the command sets them."""


@dataclass
class _Checked:
    def __post_init__(self) -> None:
        """Checks the ranges of the settings.

        Raises:
            ConfigError: a setting is out of range.
        """
        check_ranges(self, _RANGES)


@dataclass
class PathSettings(_Checked, IndexSettings):
    """Inputs and outputs of a stage."""

    data: str = field(metadata={"help": "BEIR folder with corpus.jsonl, queries.jsonl and qrels/."})
    index: Address = field(metadata={"help": INDEX_HELP})
    output_dir: str = field(
        metadata={"help": "Folder of the run. The same command with the same settings resumes an interrupted run."}
    )
    model: str = field(metadata={"help": "Starting model: Hub id, folder, adapter folder or embedded:smollm2."})
    split: str = field(default="train", metadata={"help": "Training queries: qrels/SPLIT.tsv."})
    dev_split: str = field(
        default="dev",
        metadata={
            "help": "Dev queries, with which GRPO chooses the checkpoint: qrels/SPLIT.tsv, without training queries."
        },
    )
    limit: int = field(default=0, metadata={"help": "Maximum number of training queries; 0 means all."})
    fusion: FusionName = field(default="rsf", metadata={"help": "Fusion of the rankings."})
    seed: int = field(default=0, metadata={"help": "Seed for sampling, shuffling and new weights."})


@dataclass
class FineTuning(_Checked):
    """How a model is fine-tuned on completions."""

    lora_rank: int = field(default=16, metadata={"help": "Rank of the LoRA adapter; 0 trains all weights."})
    learning_rate: float = field(default=5e-4, metadata={"help": "Peak learning rate; it follows a cosine."})
    epochs: float = field(default=1.0, metadata={"help": "Passes over the examples."})
    batch_size: int = field(default=16, metadata={"help": "Examples per device and optimizer step."})
    micro_batch_size: int = field(
        default=4, metadata={"help": "Examples per forward pass; batch_size must be a multiple of it."}
    )
    save_steps: int = field(default=20, metadata={"help": "Steps between checkpoints, of which two are kept."})
    report_to: Literal["wandb", "tensorboard", "none"] = field(default="none", metadata={"help": "Experiment tracker."})

    def __post_init__(self) -> None:
        """Checks the settings.

        Raises:
            ConfigError: a setting is out of range, or batch_size is not a multiple of micro_batch_size.
        """
        super().__post_init__()
        if self.batch_size % self.micro_batch_size:
            raise ConfigError(
                f"batch_size is {self.batch_size}; it must be a multiple of micro_batch_size {self.micro_batch_size}."
            )


@dataclass
class PromptSettings(_Checked):
    """Settings of :class:`PolicySettings`; those that are ``None`` are taken from the policy that training starts from.

    See :func:`policy_settings`.
    """

    max_sub_queries: int | None = None
    history_tokens: int | None = None
    query_tokens: int | None = None
    feedback_results: int | None = None
    feedback_words: int | None = None
    max_new_tokens: int | None = None
    raw_query_margin: float | None = None


@dataclass
class RewardSettings(_Checked):
    """Settings of :class:`~acqo_rl.training.rewards.Reward`."""

    cost: float = 0.03
    word_cost: float = 0.0
    invalid_reward: float = -0.1
    gold_decay: float = 0.6
    bonus_ranks: int = 3
    top_rank_bonus: float = 0.5


@dataclass
class GrpoSettings:
    """Settings of one stage of GRPO; ``trainer`` holds the settings of TRL's trainer."""

    stage: Literal["explore", "converge"] = field(
        default="explore", metadata={"help": "explore (Stage I) or converge (Stage II)."}
    )
    lora_rank: int = field(default=16, metadata={"help": "Rank of a new LoRA adapter; 0 trains all weights."})
    prioritised_sampling: bool = field(
        default=True, metadata={"help": "Draw queries more often if their rollouts had different rewards."}
    )
    shared_prefix: Literal["auto", "always", "never"] = field(
        default="auto",
        metadata={"help": "Process the prompt once per group, not once per completion. auto: only on a CPU."},
    )
    rollouts: int = field(
        default=0,
        metadata={
            "help": "Rollouts of the starting model per training query (K in the paper); only queries inside the band "
            "are trained on. 0 trains on all."
        },
    )
    min_mean_reward: float = field(default=0.05, metadata={"help": "Lowest mean reward inside the band."})
    max_mean_reward: float = field(default=5 / 3, metadata={"help": "Highest mean reward inside the band."})
    hardest_fraction: float = field(
        default=1.0,
        metadata={"help": "Train only on this share of the queries inside the band, the hardest ones."},
    )
    eval_limit: int = field(default=200, metadata={"help": "Number of dev queries, a fixed sample."})
    eval_measure: str = field(default="nDCG@10", metadata={"help": "Dev measure that chooses the model."})
    alarm_patience: int = field(
        default=5, metadata={"help": "Stop after this many consecutive steps with an alarm; 0 never stops."}
    )
    trainer: dict = field(  # type: ignore[type-arg]
        default_factory=dict,
        metadata={
            "help": "Settings of TRL's GRPOConfig, such as learning_rate, max_steps, per_device_train_batch_size or "
            "use_vllm. On the command line: --trainer.max_steps 60. Defaults that differ from TRL's: "
            + ", ".join(f"{name} {value}" for name, value in TRAINER.items())
            + f"; learning_rate {LORA_RATE:g} with an adapter, {FULL_RATE:g} without."
        },
    )


def policy_settings(settings: PromptSettings, model: str) -> PolicySettings:
    """The settings of the trained policy: as given, otherwise as in the policy ``model``, otherwise the defaults."""
    given = {f.name: getattr(settings, f.name) for f in fields(PromptSettings)}
    start = settings_of_policy(model) or PolicySettings()
    return replace(start, **{name: value for name, value in given.items() if value is not None})


def trainer_settings(settings: GrpoSettings) -> dict[str, Any]:
    """The settings of TRL's trainer: the defaults of this project, overridden by ``settings.trainer``.

    Raises:
        ConfigError: ``trainer`` is not a mapping, contains a reserved setting, or a number is out of range.
    """
    given = settings.trainer
    if not isinstance(given, dict):
        raise ConfigError(f"trainer is {settings.trainer!r}; it must be a mapping of settings of GRPOConfig.")
    if reserved := sorted(given.keys() & RESERVED):
        raise ConfigError(f"trainer sets {', '.join(reserved)}, which this command sets itself; remove it.")
    rate = LORA_RATE if settings.lora_rank else FULL_RATE
    merged = {**TRAINER, "learning_rate": rate, **given}
    for name in merged.keys() & _TRAINER_RANGES.keys():
        if not isinstance(merged[name], int | float):
            raise ConfigError(f"{name} is {merged[name]!r}; it must be a number (in YAML: 1.0e-6, not 1e-6).")
    check_ranges(SimpleNamespace(**merged), _TRAINER_RANGES)
    return merged
