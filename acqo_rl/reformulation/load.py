"""Reformulators by name, as the scripts take them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from acqo_rl.errors import ConfigError
from acqo_rl.ranges import FINITE, check_ranges
from acqo_rl.types import Document, LanguageModel, Reformulator

if TYPE_CHECKING:
    from acqo_rl.reformulation.lexicon import Lexicon
    from acqo_rl.reformulation.logged import Logged
    from acqo_rl.reformulation.strategies import Strategy

STRATEGIES = ("multi_query", "hyde", "step_back", "decomposition", "expansion", "rewrite")
"""What a language model can be asked to do; several are joined by ``+``."""

LOOKS_FIRST = "rewrite_retrieve_read"
"""Asks a language model to rewrite, only where the raw query finds nothing that is similar enough."""

WITHOUT_MODEL = ("raw", "rules", "turns")
"""Those that need no model."""

ELSE_RULES = "_else_rules"
"""Ends the name of a policy behind which the rules stand: they are asked where it passes."""

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
    "cache_ttl": (0, math.inf),
    "cache_size": (1, FINITE),
}


@dataclass
class StrategySettings:
    """Settings of the strategies that ask a language model."""

    num_variants: int = field(default=3, metadata={"help": "multi_query: other wordings of a query, 1 to 5."})
    max_parts: int = field(default=4, metadata={"help": "decomposition: parts of a query, 1 to 5."})
    expansion_form: Literal["text", "sub_queries"] = field(
        default="text", metadata={"help": "expansion: terms appended to the query, or each searched by itself."}
    )
    include_original: bool = field(
        default=True, metadata={"help": "Search the raw query beside what a strategy writes."}
    )
    hyde_include_original: bool = field(default=True, metadata={"help": "hyde: the same, for this strategy alone."})
    step_back_combine: Literal["both", "step_back", "original"] = field(
        default="both", metadata={"help": "step_back: search the raw query and the general one, or one of them."}
    )
    original_weight: float | None = field(
        default=None,
        metadata={"help": "Weight of the raw query beside what a strategy writes, in place of the strategy's own."},
    )
    domain: str = field(default="", metadata={"help": "What the corpus is about, in words, for the prompts."})
    translate_to: str = field(
        default="", metadata={"help": "multi_query: a language for the last variant, such as Chinese."}
    )
    force_strategy: str | None = field(
        default=None, metadata={"help": "adaptive: this strategy for every query, whatever its type."}
    )
    classify_by_model: bool = field(
        default=False, metadata={"help": "adaptive: ask the model for the query type (one more call), not the rules."}
    )
    similarity_threshold: float = field(
        default=0.7, metadata={"help": "rewrite_retrieve_read: best cosine below which it rewrites."}
    )
    reuse_templates: bool = field(
        default=False, metadata={"help": "Split a query as one that differs in names and years was; no model call."}
    )
    temperature: float = field(default=0.7, metadata={"help": "Of the language model; 0 is greedy."})
    multi_query_temperature: float | None = field(
        default=None, metadata={"help": "multi_query: in place of temperature."}
    )
    hyde_temperature: float | None = field(default=None, metadata={"help": "hyde: in place of temperature."})
    seed: int = field(default=0, metadata={"help": "Of the samples of a language model."})
    max_new_tokens: int = field(default=300, metadata={"help": "Limit of each completion."})
    timeout: float = field(
        default=30.0, metadata={"help": "Seconds for a model server's answer; each retry has as many again."}
    )
    max_retries: int = field(default=2, metadata={"help": "Of a model server's failed call."})
    concurrency: int = field(default=8, metadata={"help": "Calls of a model server at once."})
    generation_batch: int = field(default=32, metadata={"help": "Completions at once of a model in this process."})
    cache_ttl: float = field(default=3600.0, metadata={"help": "Seconds that a reformulation is kept; 0 keeps none."})
    cache_size: int = field(default=10_000, metadata={"help": "Reformulations that are kept."})


def asks_model(name: str) -> bool:
    """Whether a name is that of one or several strategies that ask a language model; a policy is its own model."""
    return name in ("prompted", "adaptive", LOOKS_FIRST) or set(name.split("+")) <= set(STRATEGIES)


def is_policy(name: str) -> bool:
    """Whether a name is that of a trained policy alone."""
    return not (name in (*WITHOUT_MODEL, LOOKS_FIRST) or asks_model(name) or name.endswith(ELSE_RULES))


def lexicon_for(names: Iterable[str], documents: Iterable[Document]) -> Lexicon | None:
    """The names in a corpus for the rules; ``None`` if no reformulator asks the rules.

    The documents are read only if needed: about two seconds for 35,000 passages.

    Args:
        names: of reformulators, as :func:`load_reformulator` takes them.
        documents: of the corpus.
    """
    from acqo_rl.reformulation.lexicon import Lexicon

    return Lexicon.of(documents) if any(name == "rules" or name.endswith(ELSE_RULES) for name in names) else None


def most_calls(name: str, settings: StrategySettings) -> int:
    """Model calls of one query at most, by the name that :func:`load_reformulator` takes."""
    from acqo_rl.reformulation.adaptive import BY_TYPE

    if name == "adaptive":
        chosen = [settings.force_strategy] if settings.force_strategy else BY_TYPE.values()
        return settings.classify_by_model + max(most_calls(strategy, settings) for strategy in chosen)
    if name in WITHOUT_MODEL:
        return 0
    return len(name.split("+")) if asks_model(name) else 1


def check_strategy(name: str, model: str) -> None:
    """Refuses a name that is no strategy's though only one can be meant: a prompted model, or several joined by ``+``.

    Raises:
        ConfigError: the name is one of those, or joins a strategy to itself.
    """
    parts = name.split("+")
    if asks_model(name) and len(set(parts)) < len(parts):
        raise ConfigError(f"{name!r} joins a strategy to itself; give each once.")
    if asks_model(name) or not ("+" in name or model.startswith(("openai:", "anthropic:", "embedded:"))):
        return
    unknown = [part for part in parts if part not in STRATEGIES]
    raise ConfigError(
        f"There is no strategy {unknown[0]!r}; choose prompted, adaptive, {', '.join(STRATEGIES)}, "
        f"or join some of the last {len(STRATEGIES)} by '+'."
    )


def load_reformulator(
    name: str,
    model: str,
    settings: StrategySettings | None = None,
    *,
    language_model: LanguageModel | None = None,
    lexicon: Lexicon | None = None,
) -> Logged:
    """A reformulator by name.

    Args:
        name: ``raw``, ``rules``, ``turns``, ``prompted``, ``adaptive``, one of ``STRATEGIES`` or several joined by
            ``+`` (``multi_query+hyde``); any other one names a trained policy, and with
            ``_else_rules`` behind it (``policy_else_rules``) one where the rules are asked about what it passes.
            Of ``rewrite_retrieve_read``, what rewrites;
            :class:`acqo_rl.pipeline.rewrite_retrieve_read.RewriteRetrieveRead` looks before.
        model: folder, Hub id or embedded model, or ``openai:NAME@URL`` or ``anthropic:NAME`` where it is prompted;
            not used by ``raw``, ``rules`` and ``turns``.
        settings: of the strategies that ask a language model.
        language_model: asked by them in place of one that is loaded, so that several can share it; ``model`` is then
            what their caches know it by.
        lexicon: names of the corpus, which the rules know then.

    Raises:
        ConfigError: there is no such model or strategy, or a setting is out of range.
        GrammarError: the model is no policy, or one of another grammar or prompt version.
    """
    from acqo_rl.reformulation.fallback import else_rules
    from acqo_rl.reformulation.heuristic import Heuristic
    from acqo_rl.reformulation.logged import Logged
    from acqo_rl.reformulation.pass_through import PassThrough
    from acqo_rl.reformulation.policy import Policy
    from acqo_rl.reformulation.turns import RecentTurns

    if name == "raw":
        return Logged(PassThrough())
    if name == "rules":
        return Logged(Heuristic(lexicon=lexicon))
    if name == "turns":
        return Logged(RecentTurns())
    settings = settings or StrategySettings()
    check_strategy(name, model)
    if asks_model(name):
        return Logged(_prompted(name, model, settings, language_model))
    alone = name.removesuffix(ELSE_RULES)
    policy = Policy.from_pretrained(model, name=alone, batch_size=settings.generation_batch)
    chosen = policy if name == alone else else_rules(policy, lexicon, name)
    return Logged(chosen)


def made_with(name: str, model: str, settings: StrategySettings) -> str:
    """All that the answers of what asks a language model depend on but the query, of the settings those that it reads.

    Args:
        name: one for which :func:`asks_model` holds.
        model: what it asks, as its callers know it.
        settings: see :class:`StrategySettings`.

    Raises:
        ConfigError: there is no such strategy.
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
    """Of the model, how it writes, and strategies, whose fields are the settings that they read."""
    own = _temperatures(settings)
    temperatures = [own.get(strategy.name, settings.temperature) for strategy in strategies]
    seed = settings.seed if any(temperatures) else None
    versions = [(strategy, strategy.version) for strategy in strategies]
    return repr((model, temperatures, seed, settings.max_new_tokens, versions))


def _temperatures(settings: StrategySettings) -> dict[str, float]:
    """Of the strategies that have one of their own."""
    own = {"multi_query": settings.multi_query_temperature, "hyde": settings.hyde_temperature}
    return {name: temperature for name, temperature in own.items() if temperature is not None}


def load_strategy_model(name: str, model: str, settings: StrategySettings) -> LanguageModel:
    """The language model that a strategy asks, with the settings it asks it with.

    Raises:
        ConfigError: there is no such model, or its package or key is missing.
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
    if name == "prompted":  # the same in every run
        return replace(settings, temperature=0.0)
    return settings


def _prompted(name: str, model: str, settings: StrategySettings, language_model: LanguageModel | None) -> Reformulator:
    from acqo_rl.reformulation.cached import Cached, reformulation_cache
    from acqo_rl.reformulation.prompted import Prompted
    from acqo_rl.reformulation.templated import Templated

    check_ranges(settings, _RANGES)
    if settings.force_strategy:
        check_strategy(settings.force_strategy, model)
    settings = _for(name, settings)
    names = _names_of_adaptive(settings) if name == "adaptive" else [name]
    strategies = {name: _strategies(name, settings) for name in names}  # before the model, which takes long to load
    language_model = language_model or load_strategy_model(name, model, settings)
    cache = reformulation_cache(settings.cache_ttl, settings.cache_size)
    cached: dict[str, Reformulator] = {}
    for part, asked in strategies.items():
        key = _key(model, settings, asked)
        prompted = Prompted(language_model, asked, temperatures=_temperatures(settings))
        reused = Templated(prompted, key, cache) if settings.reuse_templates else prompted
        cached[part] = Cached(reused, key, cache)
    return _adaptive(cached, language_model, settings) if name == "adaptive" else cached[name]


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
    """The strategies that a name joins by ``+``."""
    from acqo_rl.reformulation.strategies import (
        ClassifyAndRewrite,
        Decomposition,
        Expansion,
        HyDE,
        MultiQuery,
        Rewrite,
        StepBack,
    )

    name = "rewrite" if name == LOOKS_FIRST else name
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
        raise ConfigError(f"There is no strategy {missing[0]!r}; choose {', '.join(STRATEGIES)}, or join some by '+'.")
    chosen = [by_name[part] for part in name.split("+")]
    return [replace(cast(Any, strategy), **_weights(strategy, settings)) for strategy in chosen]


def _weights(strategy: Strategy, settings: StrategySettings) -> dict[str, float]:
    """The weights that settings change: 0 leaves a path out."""
    name, combine = strategy.name, settings.step_back_combine
    if not settings.include_original or (name == "hyde" and not settings.hyde_include_original):
        return {"original_weight": 0.0}
    if name == "step_back" and combine != "both":
        return {"original_weight": 0.0} if combine == "step_back" else {"weight": 0.0}
    if settings.original_weight is None or not strategy.original_weight:  # which leave the raw query out
        return {}
    return {"original_weight": settings.original_weight}
