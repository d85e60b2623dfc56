"""Settings of the reformulators."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from annotated_types import Ge, Le

from acqo_rl.settings import group, setting
from acqo_rl.types import Amount, Cosine, Count, Positive, QueryType, Seconds, Seed

Name = Literal["multi_query", "hyde", "step_back", "decomposition", "expansion", "rewrite"]
STRATEGIES: tuple[Name, ...] = get_args(Name)
"""Strategies for prompting a language model; several can be joined by ``+``."""

REWRITE_RETRIEVE_READ = "rewrite_retrieve_read"
"""Rewrites a query with a language model only if the raw query finds no similar document."""

WHOLE = ("prompted", "adaptive", REWRITE_RETRIEVE_READ)
"""Strategies for prompting a language model that cannot be joined to others."""

_TEXTS = (*STRATEGIES, "adaptive", REWRITE_RETRIEVE_READ)
_PROMPTED = ("prompted", *_TEXTS)
_ON_SERVERS = ("openai", "anthropic")
Number = Annotated[int, Ge(1), Le(5)]
Temperature = Annotated[float, Ge(0), Le(2)]


@dataclass
class CallSettings:
    """Settings of the calls of a language model."""

    timeout: Seconds = setting(
        "Time limit in seconds of a model server's response; each retry has the same limit.",
        30.0,
        of=_ON_SERVERS,
    )
    max_retries: Count = setting("Number of retries of a failed call to a model server.", 2, of=_ON_SERVERS)
    concurrency: Positive = setting("Maximum number of concurrent calls to a model server.", 8, of=_ON_SERVERS)
    generation_batch: Positive = setting("Batch size of a model in this process.", 32)


@dataclass
class StrategySettings(CallSettings):
    """Settings of the reformulators; most apply to the strategies that prompt a language model."""

    num_variants: Number = setting("number of paraphrases of a query, 1 to 5.", 3, of="multi_query, adaptive")
    max_parts: Number = setting("maximum number of sub-queries, 1 to 5.", 4, of="decomposition, adaptive")
    hyde_include_original: bool = setting("search the raw query as well.", True, of="hyde, adaptive")
    step_back_combine: Literal["both", "step_back", "original"] = setting(
        "search the raw query and the general query, or only one of them.", "both", of="step_back, adaptive"
    )
    original_weight: Amount | None = setting(
        "Weight of the raw query in the fusion; 0 leaves it out. By default each strategy has its own.",
        None,
        of=(*STRATEGIES[:-1], "adaptive"),
    )
    domain: str = setting("Topic of the corpus, in words; added to the prompts.", "", of=_TEXTS)
    translate_to: str = setting("language of the last variant, such as Chinese.", "", of="multi_query, adaptive")
    by_type: dict[QueryType, str] = setting(
        "strategies of query types, such as --strategy.by_type.complex decomposition.", {}, of="adaptive"
    )
    force_strategy: str | None = setting("use this strategy for every query, whatever its type.", None, of="adaptive")
    classify_by_model: bool = setting(
        "determine the query type with the model (one more call) instead of a classifier.", False, of="adaptive"
    )
    similarity_threshold: Cosine = setting(
        "rewrite a query if its top cosine is below this value.", 0.7, of="rewrite_retrieve_read"
    )
    reuse_templates: bool = setting(
        "If an earlier query differs only in names and years, split the query in the same way, without a model call.",
        False,
        of=_PROMPTED,
    )
    temperature: Temperature = setting("Temperature of the language model; 0 is greedy.", 0.7, of=_TEXTS)
    temperatures: dict[Name, Temperature] = setting(
        "Temperatures of single strategies, such as --strategy.temperatures.hyde 0.3.", {}, of=_TEXTS
    )
    seed: Seed = setting("Sampling seed of the language model.", 0, of=_TEXTS)
    max_new_tokens: Positive = setting("Maximum number of tokens per completion.", 300, of=_PROMPTED)
    token_limits: dict[Name, Positive] = setting(
        "Token limits of single strategies, such as --strategy.token_limits.hyde 200.", {}, of=_TEXTS
    )


@dataclass(kw_only=True)
class WithStrategy:
    """The settings of reformulators, as a group of a command's settings."""

    strategy: StrategySettings = group(
        "Settings of the reformulators, such as --strategy.num_variants 5; most apply to prompted strategies.",
        StrategySettings,
    )
