"""Settings of the trainers, as they stand in YAML files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from acqo_rl.ranges import ABOVE_0, FINITE, check_ranges
from acqo_rl.reformulation.policy import RANGES, PolicySettings
from acqo_rl.retrieval.settings import INDEX_HELP, IndexSettings
from acqo_rl.types import FusionName

_RANGES = {
    **RANGES,
    **dict.fromkeys(("limit", "lora_rank", "alarm_patience"), (0, FINITE)),
    **dict.fromkeys(("cost", "top_ranks", "top_bonus", "learning_rate", "epsilon", "epsilon_high"), (0, FINITE)),
    **dict.fromkeys(("beta", "max_grad_norm", "warmup_steps", "prompted_queries", "samples"), (0, FINITE)),
    **dict.fromkeys(("per_device_train_batch_size", "gradient_accumulation_steps", "num_iterations"), (1, FINITE)),
    **dict.fromkeys(("eval_steps", "eval_limit", "logging_steps", "save_steps", "examples"), (1, FINITE)),
    **dict.fromkeys(("batch_size", "micro_batch_size", "rollouts"), (1, FINITE)),
    **dict.fromkeys(("num_train_epochs", "epochs", "temperature"), (ABOVE_0, FINITE)),
    **dict.fromkeys(("top_p", "decay", "hardest", "vllm_gpu_memory_utilization"), (ABOVE_0, 1)),
    **dict.fromkeys(("invalid", "band_low", "band_high"), (-FINITE, FINITE)),
    "max_steps": (-1, FINITE),
    "num_generations": (2, FINITE),
    "seed": (0, 2**32 - 1),
    "margin": (0, FINITE),
    "tolerance": (0, FINITE),
    "least_share": (0, 1),
}


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


@dataclass
class PromptSettings:
    """What the policy reads, how much it may write, and how that is searched."""

    max_sub_queries: int = field(default=3, metadata={"help": "At most this many searches a query."})
    history_tokens: int = field(
        default=256, metadata={"help": "Prompt budget of the conversation; old turns go, long ones are shortened."}
    )
    query_tokens: int = field(default=128, metadata={"help": "Prompt budget of the query."})
    feedback_results: int = field(default=0, metadata={"help": "Results of a first search in the prompt; 0: none."})
    feedback_words: int = field(default=28, metadata={"help": "Words of each of these results."})
    max_new_tokens: int = field(default=64, metadata={"help": "Limit of a completion, in tokens."})
    raw_lead: float | None = field(
        default=None,
        metadata={
            "help": "The raw query is searched beside readings; its list counts where its best cosine is above theirs "
            "by more than this. For conversations in which some questions stand on their own. None, and with BM25 or "
            "hybrid indexes: readings alone."
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
    """GRPO. Batch sizes count completions, learning rates are per optimizer step."""

    stage: Literal["explore", "converge"] = field(
        default="explore", metadata={"help": "Stage I takes the best subset of sub-queries, Stage II all of them."}
    )
    lora_rank: int = field(default=16, metadata={"help": "Rank of a new LoRA adapter; 0 trains every weight."})
    learning_rate: float = field(default=1e-6, metadata={"help": "Peak learning rate."})
    max_steps: int = field(default=-1, metadata={"help": "Optimizer steps; -1 or 0 runs num_train_epochs."})
    num_train_epochs: float = field(default=1.0, metadata={"help": "Passes over the queries."})
    per_device_train_batch_size: int = field(default=32, metadata={"help": "Completions a device and forward pass."})
    gradient_accumulation_steps: int = field(default=1, metadata={"help": "Forward passes an optimizer step."})
    num_generations: int = field(default=8, metadata={"help": "Rollouts of a group."})
    num_iterations: int = field(default=1, metadata={"help": "Optimizer passes over each generated batch."})
    temperature: float = field(default=0.8, metadata={"help": "Of sampling."})
    top_p: float = field(default=0.8, metadata={"help": "Of sampling."})
    loss_type: str = field(default="dapo", metadata={"help": "TRL's loss: dapo, dr_grpo, bnpo, cispo, ..."})
    epsilon: float = field(default=0.2, metadata={"help": "Lower clip of the probability ratio."})
    epsilon_high: float = field(default=0.28, metadata={"help": "Upper clip of the probability ratio."})
    scale_rewards: Literal["none", "batch", "group"] = field(
        default="none",
        metadata={
            "help": "Divide advantages by the deviation of the rewards in the group (GRPO) or the batch. In a group "
            "that only the cost tells apart, division makes the cost as large as any gain."
        },
    )
    beta: float = field(default=0.0, metadata={"help": "Weight of the KL term."})
    max_grad_norm: float = field(default=1.0, metadata={"help": "Gradient clipping."})
    warmup_steps: float = field(default=0.05, metadata={"help": "Steps, or a share of all steps when below 1."})
    lr_scheduler_type: str = field(default="constant_with_warmup", metadata={"help": "Of transformers."})
    credit_searches: bool = field(
        default=False,
        metadata={
            "help": "Stage II: the tokens of each search get its own share of what the completion gains, its Shapley "
            "value; the mean over the searches stays. Only with scale_rewards none."
        },
    )
    history_sampling: bool = field(default=True, metadata={"help": "Draw prompts whose rewards vary more often."})
    share_prompts: bool = field(
        default=True, metadata={"help": "Read the prompt of a group once; False: TRL's generation and pass."}
    )
    difficulty: str | None = field(
        default=None, metadata={"help": "File of acqo difficulty: keep the queries inside the band."}
    )
    band_low: float = field(default=0.05, metadata={"help": "Least mean reward of a kept query."})
    band_high: float = field(default=5 / 3, metadata={"help": "Largest mean reward of a kept query."})
    hardest: float = field(
        default=1.0, metadata={"help": "Of the queries inside the band, the share with the lowest mean reward."}
    )
    eval_steps: int = field(default=50, metadata={"help": "Steps between measures on dev; the best model is kept."})
    eval_limit: int = field(default=200, metadata={"help": "Dev queries measured, a fixed sample."})
    eval_measure: str = field(default="nDCG@10", metadata={"help": "Measure that decides which model is kept."})
    logging_steps: int = field(default=1, metadata={"help": "Steps between log lines."})
    log_completions: bool = field(default=False, metadata={"help": "Print and keep tables of completions."})
    alarm_patience: int = field(
        default=5, metadata={"help": "Stop after this many alarmed log lines in a row; 0: never."}
    )
    use_vllm: bool = field(default=False, metadata={"help": "Generate with vLLM, guided by the grammar."})
    vllm_mode: Literal["colocate", "server"] = field(default="colocate", metadata={"help": "Where vLLM runs."})
    vllm_server_base_url: str | None = field(default=None, metadata={"help": "URL of `trl vllm-serve`."})
    vllm_gpu_memory_utilization: float = field(default=0.3, metadata={"help": "Share of GPU memory when colocated."})
    gradient_checkpointing: bool = field(default=False, metadata={"help": "Less memory, more time."})
    report_to: Literal["wandb", "tensorboard", "none"] = field(default="none", metadata={"help": "Where to log."})
    run_name: str | None = field(default=None, metadata={"help": "Name of the run in wandb."})


def policy_settings(settings: PromptSettings) -> PolicySettings:
    """What is stored beside the weights."""
    return PolicySettings(
        max_sub_queries=settings.max_sub_queries,
        history_tokens=settings.history_tokens,
        query_tokens=settings.query_tokens,
        feedback_results=settings.feedback_results,
        feedback_words=settings.feedback_words,
        max_new_tokens=settings.max_new_tokens,
        raw_lead=settings.raw_lead,
    )
