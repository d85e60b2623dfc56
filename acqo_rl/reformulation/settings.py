"""Settings of the reformulators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Le

from acqo_rl.types import Amount, Count, Positive

Number = Annotated[int, Ge(1), Le(5)]
Temperature = Annotated[float, Ge(0), Le(2)]


@dataclass
class StrategySettings:
    """Settings of the reformulators; most apply to the strategies that prompt a language model."""

    num_variants: Number = field(default=3, metadata={"help": "multi_query: number of paraphrases of a query, 1 to 5."})
    max_parts: Number = field(default=4, metadata={"help": "decomposition: maximum number of sub-queries, 1 to 5."})
    hyde_include_original: bool = field(default=True, metadata={"help": "hyde: search the raw query as well."})
    step_back_combine: Literal["both", "step_back", "original"] = field(
        default="both", metadata={"help": "step_back: search the raw query and the general query, or only one of them."}
    )
    original_weight: Amount | None = field(
        default=None,
        metadata={
            "help": "Weight of the raw query in the fusion; 0 leaves it out. By default each strategy has its own."
        },
    )
    domain: str = field(default="", metadata={"help": "Topic of the corpus, in words; added to the prompts."})
    translate_to: str = field(
        default="", metadata={"help": "multi_query: language of the last variant, such as Chinese."}
    )
    force_strategy: str | None = field(
        default=None, metadata={"help": "adaptive: use this strategy for every query, whatever its type."}
    )
    classify_by_model: bool = field(
        default=False,
        metadata={"help": "adaptive: determine the query type with the model (one more call) instead of a classifier."},
    )
    similarity_threshold: float = field(
        default=0.7, metadata={"help": "rewrite_retrieve_read: rewrite a query if its top cosine is below this value."}
    )
    reuse_templates: bool = field(
        default=False,
        metadata={
            "help": "If an earlier query differs only in names and years, split the query in the same way, without a "
            "model call."
        },
    )
    temperature: Temperature = field(default=0.7, metadata={"help": "Temperature of the language model; 0 is greedy."})
    multi_query_temperature: Temperature | None = field(
        default=None, metadata={"help": "multi_query: temperature that replaces --temperature."}
    )
    hyde_temperature: Temperature | None = field(
        default=None, metadata={"help": "hyde: temperature that replaces --temperature."}
    )
    seed: int = field(default=0, metadata={"help": "Sampling seed of the language model."})
    max_new_tokens: Positive = field(default=300, metadata={"help": "Maximum number of tokens per completion."})
    timeout: Annotated[float, Ge(0.001)] = field(
        default=30.0,
        metadata={"help": "Time limit in seconds of a model server's response; each retry has the same limit."},
    )
    max_retries: Count = field(default=2, metadata={"help": "Number of retries of a failed call to a model server."})
    concurrency: Positive = field(default=8, metadata={"help": "Maximum number of concurrent calls to a model server."})
    generation_batch: Positive = field(default=32, metadata={"help": "Batch size of a model in this process."})
