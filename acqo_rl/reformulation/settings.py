"""Settings of the reformulators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le

from acqo_rl.settings import group, setting
from acqo_rl.types import Amount, Cosine, Count, Positive, Seconds, Seed

Number = Annotated[int, Ge(1), Le(5)]
Temperature = Annotated[float, Ge(0), Le(2)]


@dataclass
class StrategySettings:
    """Settings of the reformulators; most apply to the strategies that prompt a language model."""

    num_variants: Number = setting("multi_query: number of paraphrases of a query, 1 to 5.", 3)
    max_parts: Number = setting("decomposition: maximum number of sub-queries, 1 to 5.", 4)
    hyde_include_original: bool = setting("hyde: search the raw query as well.", True)
    step_back_combine: Literal["both", "step_back", "original"] = setting(
        "step_back: search the raw query and the general query, or only one of them.", "both"
    )
    original_weight: Amount | None = setting(
        "Weight of the raw query in the fusion; 0 leaves it out. By default each strategy has its own.", None
    )
    domain: str = setting("Topic of the corpus, in words; added to the prompts.", "")
    translate_to: str = setting("multi_query: language of the last variant, such as Chinese.", "")
    force_strategy: str | None = setting("adaptive: use this strategy for every query, whatever its type.", None)
    classify_by_model: bool = setting(
        "adaptive: determine the query type with the model (one more call) instead of a classifier.", False
    )
    similarity_threshold: Cosine = setting(
        "rewrite_retrieve_read: rewrite a query if its top cosine is below this value.", 0.7
    )
    reuse_templates: bool = setting(
        "If an earlier query differs only in names and years, split the query in the same way, without a model call.",
        False,
    )
    temperature: Temperature = setting("Temperature of the language model; 0 is greedy.", 0.7)
    multi_query_temperature: Temperature | None = setting("multi_query: temperature that replaces --temperature.", None)
    hyde_temperature: Temperature | None = setting("hyde: temperature that replaces --temperature.", None)
    seed: Seed = setting("Sampling seed of the language model.", 0)
    max_new_tokens: Positive = setting("Maximum number of tokens per completion.", 300)
    timeout: Seconds = setting(
        "Time limit in seconds of a model server's response; each retry has the same limit.", 30.0
    )
    max_retries: Count = setting("Number of retries of a failed call to a model server.", 2)
    concurrency: Positive = setting("Maximum number of concurrent calls to a model server.", 8)
    generation_batch: Positive = setting("Batch size of a model in this process.", 32)


@dataclass(kw_only=True)
class WithStrategy:
    """The settings of reformulators, as a group of a command's settings."""

    strategy: StrategySettings = group(
        "Settings of the reformulators, such as --strategy.num_variants 5; most apply to prompted strategies.",
        StrategySettings,
    )
