"""Loads reformulators by the names that the scripts accept."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from acqo_rl.errors import ConfigError, check_settings
from acqo_rl.reformulation.adaptive import BY_TYPE, PROMPT, Adaptive, Classifier
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.reformulation.pass_through import PassThrough, RecentTurns
from acqo_rl.reformulation.policy import Policy, read_settings
from acqo_rl.reformulation.prompted import Prompted, Strategy, strategies_for
from acqo_rl.reformulation.settings import REWRITE_RETRIEVE_READ, STRATEGIES, WHOLE, StrategySettings
from acqo_rl.reformulation.templated import Templated
from acqo_rl.roles import LanguageModel, Reformulator, RemoteCorpus
from acqo_rl.types import Corpus, FeedbackSpec, QueryType

_READ_AGAIN = FeedbackSpec(results=3, words=40)

PROMPTED_ONLY = ("openai:", "anthropic:", "embedded:")
"""First parts of the names of models that can only be prompted."""

WITHOUT_MODEL = ("raw", "rules", "turns")
"""Reformulators without a model."""

InferenceEngine = Literal["auto", "transformers"]
"""What runs a policy on this machine."""

ENGINE_HELP = "What runs a policy on a CPU. auto: OpenVINO, if it is installed, for the policies of this package."


def prompts_model(name: str) -> bool:
    """Whether a name stands for strategies that prompt a language model; a trained policy does not count."""
    return name in WHOLE or set(name.split("+")) <= set(STRATEGIES)


def with_engine_prefix(name: str, model: str, engine: InferenceEngine) -> str:
    """The model of a reformulator with the prefix of the engine that runs it.

    Args:
        name: as in :func:`load_reformulator`.
        model: its model, or empty.
        engine: ``auto`` runs policies with OpenVINO where :func:`acqo_rl.language_models.openvino.fastest` says so.
    """
    from acqo_rl.language_models.openvino import fastest

    return model if engine == "transformers" or not model or prompts_model(name) else fastest(model)


def lexicon_for(names: Iterable[str], corpora: Iterable[Corpus]) -> Lexicon | None:
    """Returns the names in some corpora for the rules; ``None`` if no reformulator uses the rules.

    The documents are read only if needed, which takes about two seconds for 35,000 passages. Those of an engine that
    cannot list them are not read.

    Args:
        names: names of reformulators, see :func:`load_reformulator`.
        corpora: document id -> document.
    """
    if "rules" not in names:
        return None
    listed = (corpus for corpus in corpora if not isinstance(corpus, RemoteCorpus) or corpus.lists)
    return Lexicon.of(document for corpus in listed for document in corpus.values())


def check_strategy(name: str, model: str) -> None:
    """Checks a strategy before it is loaded: its name, and the settings of a policy.

    Raises:
        ConfigError: the name contains an unknown strategy or repeats one, or there is no such policy.
        GrammarError: the model is not a policy of this version.
    """
    _check_name(name, model)
    if model and not prompts_model(name):
        read_settings(model)


def _check_name(name: str, model: str) -> None:
    """Checks a name that contains ``+``, or whose model can only be prompted."""
    parts = name.split("+")
    if name in WHOLE or (parts == [name] and not model.startswith(PROMPTED_ONLY)):
        return
    if wrong := [part for part in parts if part not in STRATEGIES or parts.count(part) > 1]:
        raise ConfigError(
            f"{name!r} contains {wrong[0]!r}, which is unknown or given twice; choose {', '.join(WHOLE)}, "
            f"{', '.join(STRATEGIES)}, or join some of the last {len(STRATEGIES)} by '+'."
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
            ``+`` (``multi_query+hyde``). Any other name is that of a trained policy.
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
    if name == "raw":
        return PassThrough()
    if name == "rules":
        return Heuristic(lexicon=lexicon)
    if name == "turns":
        return RecentTurns()
    settings = settings or StrategySettings()
    _check_name(name, model)
    if prompts_model(name):
        return _prompted(name, model, settings, language_model)
    return Policy.from_pretrained(model, name=name, batch_size=settings.generation_batch)


def strategy_key(name: str, model: str, settings: StrategySettings) -> str:
    """Cache key of everything except the query that affects the results of a prompted strategy.

    Args:
        name: a name for which :func:`prompts_model` is true.
        model: name of the language model.
        settings: only the settings that the strategy uses enter the key.

    Raises:
        ConfigError: the strategy is unknown.
    """
    names = [name]
    choice = ""
    if name == "adaptive":
        names = list(_by_type(settings).values())
        choice = f"{names} {PROMPT if settings.classify_by_model else 'classifier'}"
    strategies = [strategy for part in names if part != "raw" for strategy in _strategies(part, settings)]
    temperatures = [settings.temperature if s.temperature is None else s.temperature for s in strategies]
    seed = settings.seed if any(temperatures) else None
    return f"{choice} {(settings.reuse_templates, model, temperatures, seed, settings.max_new_tokens, strategies)}"


def retries_below(name: str, settings: StrategySettings) -> float | None:
    """The cosine of the raw query below which a strategy asks its model; ``None``: always.

    Raises:
        ConfigError: ``adaptive`` would choose itself.
    """
    used = set(_by_type(settings).values()) if name == "adaptive" else {name}
    return settings.similarity_threshold if used == {REWRITE_RETRIEVE_READ} else None


def load_strategy_model(model: str, settings: StrategySettings) -> LanguageModel:
    """Loads the language model of prompted strategies.

    Raises:
        ConfigError: the model does not exist, its package or key is missing, or a setting is out of range.
    """
    from acqo_rl.language_models.load import load_language_model

    check_settings(settings)
    return load_language_model(model, **model_settings_of(settings))


def model_settings_of(settings: StrategySettings) -> dict[str, Any]:
    """The settings with which the language model of prompted strategies is loaded."""
    return {
        "max_new_tokens": settings.max_new_tokens,
        "temperature": settings.temperature,
        "seed": settings.seed,
        "timeout": settings.timeout,
        "max_retries": settings.max_retries,
        "concurrency": settings.concurrency,
        "batch_size": settings.generation_batch,
    }


def _prompted(name: str, model: str, settings: StrategySettings, language_model: LanguageModel | None) -> Reformulator:
    check_settings(settings)
    by_type = _by_type(settings)
    names = dict.fromkeys(by_type.values()) if name == "adaptive" else [name]
    strategies = {part: _strategies(part, settings) for part in names if part != "raw"}  # before the model is loaded
    language_model = language_model or load_strategy_model(model, settings)
    loaded: dict[str, Reformulator] = {"raw": PassThrough()}
    for part, asked in strategies.items():
        again = (part, _READ_AGAIN) if part == REWRITE_RETRIEVE_READ else ()
        prompted = Prompted(language_model, asked, *again) if asked else PassThrough()
        loaded[part] = Templated(prompted) if settings.reuse_templates else prompted
    if name != "adaptive":
        return loaded[name]
    classifier = Classifier(language_model if settings.classify_by_model else None)
    return Adaptive(loaded, by_type=by_type, classifier=classifier)


def _by_type(settings: StrategySettings) -> Mapping[QueryType, str]:
    by_type: dict[QueryType, str] = {**BY_TYPE, **settings.by_type}
    if "adaptive" in by_type.values():
        raise ConfigError("by_type contains 'adaptive', which cannot choose itself; give another strategy.")
    forced = settings.force_strategy
    return dict.fromkeys(by_type, forced) if forced and forced != "adaptive" else by_type


def _strategies(name: str, settings: StrategySettings) -> list[Strategy]:
    """The strategies in a name joined by ``+`` whose sub-queries are searched."""
    check_strategy(name, "openai:")
    known = strategies_for(settings)
    asked = [known["rewrite" if part == REWRITE_RETRIEVE_READ else part] for part in name.split("+")]
    return [strategy for strategy in asked if strategy.weight]
