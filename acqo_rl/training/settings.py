"""Settings of the trainers, as they stand in YAML files."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from types import SimpleNamespace
from typing import Any, Literal

from acqo_rl.errors import ConfigError
from acqo_rl.ranges import ABOVE_0, FINITE, check_ranges
from acqo_rl.reformulation.policy import RANGES, PolicySettings, settings_of_policy
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.types import FusionName

_RANGES = {
    **RANGES,
    **dict.fromkeys(("limit", "lora_rank", "alarm_patience", "teacher_queries", "samples"), (0, FINITE)),
    **dict.fromkeys(("cost", "top_ranks", "top_bonus", "learning_rate", "margin", "tolerance"), (0, FINITE)),
    **dict.fromkeys(("eval_limit", "save_steps", "examples"), (1, FINITE)),
    **dict.fromkeys(("batch_size", "micro_batch_size", "rollouts"), (1, FINITE)),
    **dict.fromkeys(("epochs", "temperature"), (ABOVE_0, FINITE)),
    **dict.fromkeys(("top_p", "decay", "hardest"), (ABOVE_0, 1)),
    **dict.fromkeys(("invalid", "band_low", "band_high"), (-FINITE, FINITE)),
    "seed": (0, 2**32 - 1),
    "least_share": (0, 1),
}

LORA_RATE, FULL_RATE = 2e-5, 1e-6
"""Peak learning rates: of an adapter, and of all weights (the paper's). An adapter needs ten times as much or more."""
LEAST_LORA_RATE = 1e-5

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

RESERVED = frozenset(
    [
        "output_dir",
        "max_completion_length",
        "mask_truncated_completions",
        "bf16",
        "use_cpu",
        "dataloader_pin_memory",
        "eval_strategy",
        "eval_on_start",
        "save_strategy",
        "save_steps",
        "load_best_model_at_end",
        "metric_for_best_model",
        "greater_is_better",
        "remove_unused_columns",
        "seed",
        "vllm_structured_outputs_regex",
        "generation_kwargs",
    ]
)
"""Settings of GRPOConfig that the command sets itself."""


@dataclass
class PathSettings(IndexSettings):
    """Where a stage reads from and writes to."""

    data: str = field(metadata={"help": "BEIR folder with corpus.jsonl, queries.jsonl and qrels/."})
    index: str = field(metadata={"help": INDEX_HELP})
    output_dir: str = field(metadata={"help": "Folder of the run. The same settings resume it."})
    model: str = field(metadata={"help": "What to start from: Hub id, folder, adapter folder or embedded:smollm2."})
    split: str = field(default="train", metadata={"help": "Queries to learn from: qrels/SPLIT.tsv."})
    dev_split: str = field(default="dev", metadata={"help": "Queries to measure on during training."})
    limit: int = field(default=0, metadata={"help": "Use only this many training queries; 0 uses all."})
    fusion: FusionName = field(default="rsf", metadata={"help": "How rankings are merged."})
    seed: int = field(default=0, metadata={"help": "Of sampling, shuffling and new weights."})

    def __post_init__(self) -> None:
        """Refuses a number that training cannot do with.

        Raises:
            ConfigError: a setting is out of range.
        """
        check_ranges(self, _RANGES)


_OF_POLICY = "Default: that of the policy in --model, else"


@dataclass
class PromptSettings:
    """What the policy reads, how much it may write, and how that is searched.

    A setting that is ``None`` is that of the policy that training starts from (:func:`policy_settings`).
    """

    max_sub_queries: int | None = field(default=None, metadata={"help": f"Searches per query. {_OF_POLICY} 3."})
    history_tokens: int | None = field(
        default=None,
        metadata={"help": f"Prompt budget of the conversation; long turns are shortened. {_OF_POLICY} 256."},
    )
    query_tokens: int | None = field(default=None, metadata={"help": f"Prompt budget of the query. {_OF_POLICY} 128."})
    feedback_results: int | None = field(
        default=None, metadata={"help": f"Results of a first search in the prompt. {_OF_POLICY} 0."}
    )
    feedback_words: int | None = field(default=None, metadata={"help": f"Words of each result. {_OF_POLICY} 28."})
    max_new_tokens: int | None = field(
        default=None, metadata={"help": f"Limit of a completion, in tokens. {_OF_POLICY} 64."}
    )
    raw_query_margin: float | None = field(
        default=None,
        metadata={
            "help": "Search the raw query beside readings, and use its list only where its best cosine is above theirs "
            f"by more than this. For dense indexes. {_OF_POLICY} off."
        },
    )


@dataclass
class RewardSettings:
    """What a completion is worth."""

    cost: float = field(default=0.03, metadata={"help": "Subtracted for each search after the first."})
    invalid: float = field(default=-0.1, metadata={"help": "Reward of a completion outside the grammar; under 0."})
    decay: float = field(default=0.6, metadata={"help": "Eta, with several gold documents."})
    top_ranks: int = field(default=3, metadata={"help": "k*: ranks with a bonus in Stage II; 0: no bonus."})
    top_bonus: float = field(default=0.5, metadata={"help": "Lambda: size of that bonus."})


@dataclass
class GrpoSettings:
    """One stage of GRPO; all settings of TRL's trainer are in ``trainer``."""

    stage: Literal["explore", "converge"] = field(
        default="explore", metadata={"help": "Stage I takes the best subset of sub-queries, Stage II all of them."}
    )
    lora_rank: int = field(default=16, metadata={"help": "Rank of a new LoRA adapter; 0 trains every weight."})
    credit_searches: bool = field(
        default=False,
        metadata={
            "help": "Stage II: the tokens of each search get the Shapley value of that search as their share of the "
            "advantage; the mean over the searches is kept. Requires scale_rewards none."
        },
    )
    history_sampling: bool = field(
        default=True, metadata={"help": "Draw queries more often whose rewards have varied."}
    )
    share_prompts: Literal["auto", "always", "never"] = field(
        default="auto",
        metadata={"help": "Read the prompt of a group once, in place of TRL's own passes. auto: on a CPU only."},
    )
    difficulty: str | None = field(
        default=None, metadata={"help": "File of acqo difficulty: keep the queries inside the band."}
    )
    band_low: float = field(default=0.05, metadata={"help": "Least mean reward of a kept query."})
    band_high: float = field(default=5 / 3, metadata={"help": "Largest mean reward of a kept query."})
    hardest: float = field(
        default=1.0, metadata={"help": "Of the queries inside the band, the share with the lowest mean reward."}
    )
    eval_limit: int = field(default=200, metadata={"help": "Dev queries measured, a fixed sample."})
    eval_measure: str = field(default="nDCG@10", metadata={"help": "Measure that decides which model is kept."})
    alarm_patience: int = field(
        default=5, metadata={"help": "Stop after this many alarmed log lines in a row; 0: never."}
    )
    trainer: dict = field(  # type: ignore[type-arg]
        default_factory=dict,
        metadata={
            "help": "Settings of TRL's GRPOConfig, such as learning_rate, max_steps, per_device_train_batch_size or "
            "use_vllm; on the command line --trainer.max_steps 60. Defaults that differ from TRL's: "
            + ", ".join(f"{name} {value}" for name, value in TRAINER.items())
            + f"; learning_rate {LORA_RATE:g} with an adapter, {FULL_RATE:g} without."
        },
    )


def policy_settings(settings: PromptSettings, model: str) -> PolicySettings:
    """The settings of a policy: those given, else those of the policy in ``model``, else the defaults."""
    given = {f.name: getattr(settings, f.name) for f in fields(PromptSettings)}
    start = settings_of_policy(model) or PolicySettings()
    return replace(start, **{name: value for name, value in given.items() if value is not None})


def trainer_settings(settings: GrpoSettings) -> dict[str, Any]:
    """The settings of TRL's trainer: ``settings.trainer`` over the defaults of this project.

    Raises:
        ConfigError: ``trainer`` is not a mapping, has a setting that this project sets itself, or a number in it is
            out of range.
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
