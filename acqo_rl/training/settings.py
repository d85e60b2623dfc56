"""Settings of the training stages; the parser of the commands checks their types and ranges."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import inf
from typing import Annotated, Any, Literal, get_type_hints

from annotated_types import Gt, Le, Lt

from acqo_rl.addresses import Address
from acqo_rl.errors import ConfigError, GrammarError, MissingPackageError, did_you_mean
from acqo_rl.reformulation.policy import PolicySettings, read_settings
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.settings import group, setting
from acqo_rl.types import Amount, Count, FusionName, Positive, Seed

Finite = Annotated[float, Gt(-inf), Lt(inf)]

LORA_RATE, FULL_RATE = 2e-5, 1e-6
"""Learning rates of GRPO for an adapter and for all weights (as in the paper); an adapter needs a much higher rate."""

GRPO: dict[str, Any] = {
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
    "save_total_limit": 2,
    "report_to": "none",
    # Its weights compare the policy with what the grammar and top-p leave of it, so completions would hardly count.
    "vllm_importance_sampling_correction": False,
}
"""Settings of TRL's GRPOConfig that differ from its defaults."""

FINE_TUNING: dict[str, Any] = {
    "learning_rate": 5e-4,
    "num_train_epochs": 1.0,
    "per_device_train_batch_size": 4,
    "gradient_accumulation_steps": 4,
    "lr_scheduler_type": "cosine",
    "warmup_steps": 0.05,
    "train_sampling_strategy": "group_by_length",
    "gradient_checkpointing": False,
    "logging_steps": 5,
    "save_steps": 20,
    "save_total_limit": 2,
    "report_to": "none",
}
"""Settings of TRL's SFTConfig for the warm start that differ from its defaults."""


def trainer_help(kind: str, defaults: Mapping[str, Any]) -> str:
    """The help of the setting ``trainer``, a mapping that is handed to the library."""
    shown = ", ".join(f"{name} {value}" for name, value in defaults.items())
    return f"Settings of {kind}. On the command line: --trainer.max_steps 60. Defaults other than its own: {shown}."


@dataclass
class PathSettings(IndexSettings):
    """Inputs and outputs of a stage."""

    data: str = setting("BEIR folder with corpus.jsonl, queries.jsonl and qrels/.")
    index: Address = setting(INDEX_HELP)
    output_dir: str = setting("Folder of the run. The same command with the same settings resumes an interrupted run.")
    model: str = setting("Starting model: Hub id, folder, adapter folder or embedded:smollm2.")
    split: str = setting("Training queries: qrels/SPLIT.tsv.", "train")
    dev_split: str = setting(
        "Dev queries, with which GRPO chooses the checkpoint: qrels/SPLIT.tsv, without training queries.", "dev"
    )
    limit: Count = setting("Maximum number of training queries; 0 means all.", 0)
    fusion: FusionName = setting("Fusion of the rankings.", "rsf")
    reward_steps: list[Literal["choice", "hops", "order"]] = setting(
        "Steps of auto that follow the policy's searches, in the reward (except in Stage I) and in the dev measure.", []
    )
    seed: Seed = setting("Seed for sampling, shuffling and new weights.", 0)
    lora_rank: Count = setting("Rank of a new LoRA adapter; 0 trains all weights.", 16)


@dataclass
class PromptSettings:
    """Settings of :class:`PolicySettings`; those that are ``None`` are taken from the policy that training starts from.

    See :func:`policy_settings`.
    """

    max_sub_queries: Positive | None = None
    history_tokens: Count | None = None
    query_tokens: Positive | None = None
    feedback_results: Count | None = None
    feedback_words: Positive | None = None
    max_new_tokens: Positive | None = None
    raw_query_margin: Amount | None = None


@dataclass
class RewardSettings:
    """Settings of :class:`~acqo_rl.training.rewards.Reward`."""

    cost: Amount = 0.03
    word_cost: Amount = 0.0
    invalid_reward: Finite = -0.1
    gold_decay: Annotated[float, Gt(0), Le(1)] = 0.6
    bonus_ranks: Count = 3
    top_rank_bonus: Amount = 0.5


@dataclass(kw_only=True)
class WithPolicy:
    """The settings of the reward and of the trained policy, as groups of a command's settings."""

    reward: RewardSettings = group("Settings of the reward, such as --reward.cost 0.02.", RewardSettings)
    prompt: PromptSettings = group(
        "What the policy reads and writes, such as --prompt.feedback_results 2; by default as the policy in --model.",
        PromptSettings,
    )


@dataclass
class GrpoSettings:
    """Settings of one stage of GRPO."""

    stage: Literal["explore", "converge"] = setting("explore (Stage I) or converge (Stage II).", "explore")
    rollouts: Count = setting(
        "Rollouts of the starting model per training query (K in the paper); only queries inside the band "
        "are trained on. 0 trains on all.",
        0,
    )
    min_mean_reward: Finite = setting("Lowest mean reward inside the band.", 0.05, of="rollouts")
    max_mean_reward: Finite = setting("Highest mean reward inside the band.", 5 / 3, of="rollouts")
    hardest_fraction: Annotated[float, Gt(0), Le(1)] = setting(
        "Train only on this share of the queries inside the band, the hardest ones.", 1.0, of="rollouts"
    )
    order: Literal["random", "gap"] = setting(
        "Order of the training queries. gap: those first whose best rollout gains most over the raw query.",
        "random",
        of="rollouts",
    )
    eval_limit: Positive = setting("Number of dev queries, a fixed sample.", 200)
    eval_measure: str = setting("Dev measure that chooses the model.", "nDCG@10")
    patience: Positive = setting("Stop after this many consecutive evaluations without a better dev measure.", 5)
    trainer: dict[str, Any] = setting(
        trainer_help(f"TRL's GRPOConfig; learning_rate is {LORA_RATE:g} with an adapter, {FULL_RATE:g} without", GRPO),
        {},
    )


def policy_settings(settings: PromptSettings, model: str) -> PolicySettings:
    """The settings of the trained policy: as given, otherwise as in the policy ``model``, otherwise the defaults."""
    given = {f.name: getattr(settings, f.name) for f in fields(PromptSettings)}
    try:
        start = read_settings(model)
    except GrammarError:  # a plain model, or a policy of another version
        start = PolicySettings()
    return replace(start, **{name: value for name, value in given.items() if value is not None})


def trainer_arguments(kind: type[Any], given: Mapping[str, Any], **ours: Any) -> Any:
    """Creates the configuration of a trainer for the device of this process.

    Args:
        kind: TrainingArguments of transformers, or a class of TRL that is derived from it.
        given: the settings of the user, and defaults.
        ours: settings that the command makes; a user cannot set them.

    Raises:
        ConfigError: a setting is unknown, has another type or is made by the command, or the library rejects a value.
        MissingPackageError: a package that a setting needs is not installed.
    """
    import torch
    from pydantic import TypeAdapter

    on_gpu = torch.cuda.is_available()
    if not on_gpu:
        os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"  # of several processes it would be cpu:0, which torch cannot load
    ours |= {"bf16": on_gpu, "use_cpu": not on_gpu, "dataloader_pin_memory": on_gpu}
    hints = get_type_hints(kind)
    if unknown := sorted(given.keys() - hints.keys()):
        hint = did_you_mean(unknown, hints)
        raise ConfigError(f"trainer has settings that {kind.__name__} does not have: {', '.join(unknown)}{hint}.")
    if both := sorted(given.keys() & ours.keys()):
        raise ConfigError(f"trainer sets {', '.join(both)}, which this command sets itself; remove it.")
    for name, value in given.items():
        try:
            ours[name] = TypeAdapter(hints[name]).validate_python(value)
        except ValueError as error:
            raise ConfigError(f"trainer.{name} is {value!r}; it must be {hints[name]}.") from error
    try:
        arguments = kind(**ours)
        _make_optional_parts(arguments)
    except (ImportError, RuntimeError, TypeError, ValueError) as error:
        failure = MissingPackageError if isinstance(error, ImportError) else ConfigError
        reason = " ".join(str(error).split())
        raise failure(f"{kind.__name__} cannot use the settings in trainer: {reason}") from error
    return arguments


def _make_optional_parts(arguments: Any) -> None:
    """Makes, for a tiny model, what a training makes from optional packages; the library names a missing package."""
    from transformers import LlamaConfig, LlamaForCausalLM, Trainer
    from transformers.integrations import get_reporting_integration_callbacks
    from transformers.integrations.liger import apply_liger_kernel
    from trl.import_utils import is_vllm_available

    size = LlamaConfig(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1)
    model = LlamaForCausalLM(size)
    for tracker in get_reporting_integration_callbacks(arguments.report_to):
        tracker()
    Trainer.get_optimizer_cls_and_kwargs(arguments, model)
    if arguments.use_liger_kernel:
        apply_liger_kernel(model, arguments.liger_kernel_config)
    if getattr(arguments, "use_vllm", False) and not is_vllm_available():
        raise ImportError("use_vllm needs vllm: pip install 'acqo-rl[vllm]'")


def rows_per_step(arguments: Any) -> int:
    """The texts, or completions, that a process reads in a training step, with a trainer's arguments."""
    return int(arguments.per_device_train_batch_size * arguments.gradient_accumulation_steps)
