"""Loads reformulators by the names that the scripts accept."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from acqo_rl.errors import ConfigError
from acqo_rl.ranges import FINITE, check_ranges
from acqo_rl.roles import LanguageModel, Reformulator
from acqo_rl.types import Document

if TYPE_CHECKING:
    from acqo_rl.reformulation.names import Lexicon
    from acqo_rl.reformulation.strategies import Strategy

STRATEGIES = ("multi_query", "hyde", "step_back", "decomposition", "expansion", "rewrite")
"""Strategies for prompting a language model; several can be joined by ``+``."""

REWRITE_RETRIEVE_READ = "rewrite_retrieve_read"
"""Rewrites a query with a language model only if the raw query finds no similar document."""

WITHOUT_MODEL = ("raw", "rules", "turns")
"""Reformulators without a model."""

Engine = Literal["auto", "transformers"]
"""What runs a policy on this machine."""

ENGINE_HELP = (
    "What runs a policy on a CPU. auto: OpenVINO, if it is installed, for policies exported for it and those of this "
    "package."
)

WITH_RULES = "_with_rules"
"""Suffix of the name of a policy that is combined with the rules."""

_RANGES = {
    "num_variants": (1, 5),
    "max_parts": (1, 5),
    "temperature": (0, 2),
    "multi_query_temperature": (0, 2),
    "hyde_temperature": (0, 2),
    "original_weight": (0, FINITE),
    "max_new_tokens": (1, FINITE),
    "timeout": (0.001, math.inf),
    "max_retries": (0, FINITE),
    "concurrency": (1, FINITE),
    "generation_batch": (1, FINITE),
}


@dataclass
class StrategySettings:
    """Settings of the reformulators; most apply to the strategies that prompt a language model."""

    num_variants: int = field(default=3, metadata={"help": "multi_query: number of paraphrases of a query, 1 to 5."})
    max_parts: int = field(default=4, metadata={"help": "decomposition: maximum number of sub-queries, 1 to 5."})
    expansion_form: Literal["text", "sub_queries"] = field(
        default="text",
        metadata={"help": "expansion: append the terms to the query (text), or search each separately (sub_queries)."},
    )
    include_original: bool = field(
        default=True, metadata={"help": "Search the raw query in addition to the sub-queries of a strategy."}
    )
    hyde_include_original: bool = field(
        default=True, metadata={"help": "hyde: search the raw query as well (include_original must be on, too)."}
    )
    step_back_combine: Literal["both", "step_back", "original"] = field(
        default="both", metadata={"help": "step_back: search the raw query and the general query, or only one of them."}
    )
    original_weight: float | None = field(
        default=None,
        metadata={"help": "Weight of the raw query in the fusion; by default each strategy has its own."},
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
        metadata={"help": "adaptive: determine the query type with the model (one more call) instead of rules."},
    )
    similarity_threshold: float = field(
        default=0.7, metadata={"help": "rewrite_retrieve_read: rewrite a query if its top cosine is below this value."}
    )
    reformulate_below: float | None = field(
        default=None,
        metadata={
            "help": "Reformulate a query only if the best cosine that the raw query finds is below this value. "
            "Requires a dense index, alone or in a hybrid. By default every query is reformulated."
        },
    )
    reuse_templates: bool = field(
        default=False,
        metadata={
            "help": "If an earlier query differs only in names and years, split the query in the same way, without a "
            "model call."
        },
    )
    temperature: float = field(default=0.7, metadata={"help": "Temperature of the language model; 0 is greedy."})
    multi_query_temperature: float | None = field(
        default=None, metadata={"help": "multi_query: temperature that replaces --temperature."}
    )
    hyde_temperature: float | None = field(
        default=None, metadata={"help": "hyde: temperature that replaces --temperature."}
    )
    seed: int = field(default=0, metadata={"help": "Sampling seed of the language model."})
    max_new_tokens: int = field(default=300, metadata={"help": "Maximum number of tokens per completion."})
    timeout: float = field(
        default=30.0,
        metadata={"help": "Time limit in seconds of a model server's response; each retry has the same limit."},
    )
    max_retries: int = field(default=2, metadata={"help": "Number of retries of a failed call to a model server."})
    concurrency: int = field(default=8, metadata={"help": "Maximum number of concurrent calls to a model server."})
    generation_batch: int = field(default=32, metadata={"help": "Batch size of a model that runs in this process."})


def prompts_model(name: str) -> bool:
    """Whether a name stands for strategies that prompt a language model; a trained policy does not count."""
    return name in ("prompted", "adaptive", REWRITE_RETRIEVE_READ) or set(name.split("+")) <= set(STRATEGIES)


def is_policy(name: str) -> bool:
    """Whether a name stands for a trained policy without the rules."""
    return not (name in (*WITHOUT_MODEL, REWRITE_RETRIEVE_READ) or prompts_model(name) or name.endswith(WITH_RULES))


def with_engine_prefix(name: str, model: str, engine: Engine) -> str:
    """The model of a reformulator with the prefix of the engine that runs it.

    Args:
        name: as in :func:`load_reformulator`.
        model: its model, or empty.
        engine: ``auto`` runs policies with OpenVINO where :func:`acqo_rl.language_models.openvino.fastest` says so.
    """
    from acqo_rl.language_models.openvino import fastest

    return model if engine == "transformers" or not model or prompts_model(name) else fastest(model)


def lexicon_for(names: Iterable[str], documents: Iterable[Document]) -> Lexicon | None:
    """Returns the names in a corpus for the rules; ``None`` if no reformulator uses the rules.

    The documents are read only if needed, which takes about two seconds for 35,000 passages.

    Args:
        names: names of reformulators, see :func:`load_reformulator`.
        documents: the corpus.
    """
    from acqo_rl.reformulation.names import Lexicon

    return Lexicon.of(documents) if any(name == "rules" or name.endswith(WITH_RULES) for name in names) else None


def max_calls(name: str, settings: StrategySettings) -> int:
    """Maximum number of model calls per query; ``name`` as in :func:`load_reformulator`."""
    from acqo_rl.reformulation.adaptive import BY_TYPE

    if name == "adaptive":
        chosen = [settings.force_strategy] if settings.force_strategy else BY_TYPE.values()
        return settings.classify_by_model + max(max_calls(strategy, settings) for strategy in chosen)
    if name in WITHOUT_MODEL:
        return 0
    return len(name.split("+")) if prompts_model(name) else 1


def check_strategy(name: str, model: str) -> None:
    """Checks the name of a strategy, if the name contains ``+`` or the model can only be prompted.

    Raises:
        ConfigError: the name contains an unknown strategy or repeats one.
    """
    parts = name.split("+")
    if prompts_model(name) and len(set(parts)) < len(parts):
        raise ConfigError(f"{name!r} contains a strategy twice; give each strategy once.")
    if prompts_model(name) or not ("+" in name or model.startswith(("openai:", "anthropic:", "embedded:"))):
        return
    unknown = [part for part in parts if part not in STRATEGIES]
    raise ConfigError(
        f"Unknown strategy {unknown[0]!r}; choose prompted, adaptive, {', '.join(STRATEGIES)}, "
        f"or join some of the last {len(STRATEGIES)} by '+'."
    )


def load_reformulator(
    name: str,
    model: str,
    settings: StrategySettings | None = None,
    *,
    language_model: LanguageModel | None = None,
    lexicon: Lexicon | None = None,
) -> Reformulator:
    """Loads a reformulator.

    Args:
        name: ``raw``, ``rules``, ``turns``, ``prompted``, ``adaptive``, one of ``STRATEGIES`` or several joined by
            ``+`` (``multi_query+hyde``). Any other name is that of a trained policy; with the suffix ``_with_rules``
            (``policy_with_rules``) it is combined with the rules. ``rewrite_retrieve_read``
            loads only the rewriter; see :class:`acqo_rl.pipeline.rewrite_retrieve_read.RewriteRetrieveRead`.
        model: folder, Hub id or ``embedded:`` name, with ``openvino:`` before a policy to run it with
            OpenVINO; also ``openai:NAME@URL`` or ``anthropic:NAME`` for prompted strategies. Not used by ``raw``,
            ``rules`` and ``turns``.
        settings: settings of the reformulators.
        language_model: a loaded language model for these strategies, so that several can share it.
        lexicon: names of the corpus for the rules.

    Raises:
        ConfigError: the model or the strategy is unknown, or a setting is out of range.
        GrammarError: the model is not a policy, or has another grammar or prompt version.
    """
    from acqo_rl.reformulation.heuristic import Heuristic
    from acqo_rl.reformulation.in_turn import with_rules
    from acqo_rl.reformulation.pass_through import PassThrough
    from acqo_rl.reformulation.policy import Policy
    from acqo_rl.reformulation.turns import RecentTurns

    if name == "raw":
        return PassThrough()
    if name == "rules":
        return Heuristic(lexicon=lexicon)
    if name == "turns":
        return RecentTurns()
    settings = settings or StrategySettings()
    check_strategy(name, model)
    if prompts_model(name):
        return _prompted(name, model, settings, language_model)
    alone = name.removesuffix(WITH_RULES)
    policy = Policy.from_pretrained(model, name=alone, batch_size=settings.generation_batch)
    return policy if name == alone else with_rules(policy, lexicon, name)


def strategy_key(name: str, model: str, settings: StrategySettings) -> str:
    """Cache key of everything except the query that affects the results of a prompted strategy.

    Args:
        name: a name for which :func:`prompts_model` is true.
        model: name of the language model.
        settings: see :class:`StrategySettings`; only the settings that the strategy uses enter the key.

    Raises:
        ConfigError: the strategy is unknown.
    """
    from acqo_rl.reformulation.adaptive import BY_TYPE
    from acqo_rl.reformulation.model_classifier import VERSION

    settings = _for(name, settings)
    names, choice = [name], ""
    if name == "adaptive":
        names = [settings.force_strategy] if settings.force_strategy else list(BY_TYPE.values())
        choice = f"{names} {VERSION if settings.classify_by_model else 'rules'}"
    asked = {part: _strategies(part, settings) for part in names if part != "raw"}
    return f"{choice} {settings.reuse_templates} {_key(model, settings, [s for part in asked.values() for s in part])}"


def _key(model: str, settings: StrategySettings, strategies: Sequence[Strategy]) -> str:
    """Cache key of the model, its generation settings and the strategies with their versions."""
    own = _temperatures(settings)
    temperatures = [own.get(strategy.name, settings.temperature) for strategy in strategies]
    seed = settings.seed if any(temperatures) else None
    versions = [(strategy, strategy.version) for strategy in strategies]
    return repr((model, temperatures, seed, settings.max_new_tokens, versions))


def _temperatures(settings: StrategySettings) -> dict[str, float]:
    """Strategy name -> temperature, for strategies with a separate temperature."""
    own = {"multi_query": settings.multi_query_temperature, "hyde": settings.hyde_temperature}
    return {name: temperature for name, temperature in own.items() if temperature is not None}


def load_strategy_model(name: str, model: str, settings: StrategySettings) -> LanguageModel:
    """Loads the language model of a strategy with the strategy's settings.

    Raises:
        ConfigError: the model does not exist, or its package or key is missing.
    """
    from acqo_rl.language_models.load import load_language_model

    check_ranges(settings, _RANGES)
    settings = _for(name, settings)
    return load_language_model(
        model,
        max_new_tokens=settings.max_new_tokens,
        temperature=settings.temperature,
        seed=settings.seed,
        timeout=settings.timeout,
        max_retries=settings.max_retries,
        concurrency=settings.concurrency,
        batch_size=settings.generation_batch,
    )


def _for(name: str, settings: StrategySettings) -> StrategySettings:
    if name == "prompted":  # greedy, so that results are reproducible
        return replace(settings, temperature=0.0)
    return settings


def _prompted(name: str, model: str, settings: StrategySettings, language_model: LanguageModel | None) -> Reformulator:
    from acqo_rl.reformulation.prompted import Prompted
    from acqo_rl.reformulation.templated import Templated

    check_ranges(settings, _RANGES)
    if settings.force_strategy:
        check_strategy(settings.force_strategy, model)
    settings = _for(name, settings)
    names = _names_of_adaptive(settings) if name == "adaptive" else [name]
    strategies = {name: _strategies(name, settings) for name in names}  # checked before the model is loaded
    language_model = language_model or load_strategy_model(name, model, settings)
    loaded: dict[str, Reformulator] = {}
    for part, asked in strategies.items():
        prompted = Prompted(language_model, asked, temperatures=_temperatures(settings))
        loaded[part] = Templated(prompted) if settings.reuse_templates else prompted
    return _adaptive(loaded, language_model, settings) if name == "adaptive" else loaded[name]


def _names_of_adaptive(settings: StrategySettings) -> list[str]:
    from acqo_rl.reformulation.adaptive import BY_TYPE

    forced = [settings.force_strategy] if settings.force_strategy else []
    return [name for name in dict.fromkeys([*STRATEGIES, *BY_TYPE.values(), *forced]) if name != "raw"]


def _adaptive(
    reformulators: Mapping[str, Reformulator], language_model: LanguageModel, settings: StrategySettings
) -> Reformulator:
    from acqo_rl.reformulation.adaptive import Adaptive
    from acqo_rl.reformulation.model_classifier import ModelClassifier
    from acqo_rl.reformulation.pass_through import PassThrough

    return Adaptive(
        {"raw": PassThrough(), **reformulators},
        classifier=ModelClassifier(language_model).query_types if settings.classify_by_model else None,
        forced=settings.force_strategy,
    )


def _strategies(name: str, settings: StrategySettings) -> list[Strategy]:
    """Creates the strategies in a name joined by ``+``."""
    from acqo_rl.reformulation.strategies import (
        ClassifyAndRewrite,
        Decomposition,
        Expansion,
        HyDE,
        MultiQuery,
        Rewrite,
        StepBack,
    )

    name = "rewrite" if name == REWRITE_RETRIEVE_READ else name
    known: tuple[Strategy, ...] = (
        MultiQuery(settings.num_variants, settings.domain, settings.translate_to),
        HyDE(settings.domain),
        StepBack(settings.domain),
        Decomposition(settings.max_parts, settings.domain),
        Expansion(form=settings.expansion_form, domain=settings.domain),
        Rewrite(settings.domain),
        ClassifyAndRewrite(),
    )
    by_name = {strategy.name: strategy for strategy in known}
    if missing := [part for part in name.split("+") if part not in by_name]:
        raise ConfigError(f"Unknown strategy {missing[0]!r}; choose {', '.join(STRATEGIES)}, or join some by '+'.")
    chosen = [by_name[part] for part in name.split("+")]
    return [replace(cast(Any, strategy), **_weights(strategy, settings)) for strategy in chosen]


def _weights(strategy: Strategy, settings: StrategySettings) -> dict[str, float]:
    """The weights of a strategy that the settings change; 0 drops a sub-query."""
    name, combine = strategy.name, settings.step_back_combine
    if not settings.include_original or (name == "hyde" and not settings.hyde_include_original):
        return {"original_weight": 0.0}
    if name == "step_back" and combine != "both":
        return {"original_weight": 0.0} if combine == "step_back" else {"weight": 0.0}
    if settings.original_weight is None or not strategy.original_weight:  # a strategy without the raw query
        return {}
    return {"original_weight": settings.original_weight}
