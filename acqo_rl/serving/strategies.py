"""The reformulators of a service; each is loaded once and shared by all requests."""

import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cachetools import cachedmethod

from acqo_rl.errors import ConfigError, NotFoundError
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.reformulation.load import load_reformulator, load_strategy_model, prompts_model
from acqo_rl.reformulation.policy import Policy
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.roles import LanguageModel, Reformulator
from acqo_rl.serving.batching import BatchedModel, Batcher
from acqo_rl.settings import used_by


@dataclass
class Strategies:
    """Reformulators by name, all loaded at once; concurrent calls of a model in this process are batched.

    Attributes:
        models: name (see :func:`acqo_rl.reformulation.load.load_reformulator`) -> model. The first one is the default.
        settings: settings of the strategies that prompt a language model.
        batcher: combines the calls of a model in this process.
        lexicon: names in the collections, used by the rules.

    Raises:
        ConfigError: a model cannot be loaded or a setting is invalid.
        GrammarError: a policy has another grammar or prompt version.
    """

    models: Mapping[str, str]
    settings: StrategySettings
    batcher: Callable[..., Batcher[Any, Any]] = Batcher
    lexicon: Lexicon | None = None

    def __post_init__(self) -> None:
        self.names = tuple(dict.fromkeys([*self.models, "raw"]))
        self.default = self.names[0]
        self._language_models: dict[Hashable, LanguageModel] = {}
        self._loaded: dict[Hashable, Reformulator] = {}
        self._loading = threading.Condition()
        for name in self.names:
            self.get(name)

    def get(self, name: str, num_variants: int | None = None) -> Reformulator:
        """Returns a reformulator.

        Args:
            name: one of ``names``.
            num_variants: number of paraphrases that ``multi_query`` writes, also if ``adaptive`` chooses it; by
                default that of the settings.

        Raises:
            NotFoundError: the strategy is not offered.
            ConfigError: ``num_variants`` is given for a strategy that has none.
        """
        if name not in self.names:
            raise NotFoundError(f"Unknown strategy {name!r}; choose one of {', '.join(self.names)}.")
        users = used_by(StrategySettings, "num_variants")
        if num_variants is not None and set(users).isdisjoint(name.split("+")):
            raise ConfigError(
                f"num_variants is {num_variants}, but {name!r} does not use it; it is for {', '.join(users)}."
            )
        return self._load(name, num_variants or self.settings.num_variants)

    @cachedmethod(lambda self: self._loaded, condition=lambda self: self._loading)
    def _load(self, name: str, num_variants: int) -> Reformulator:
        model = self.models.get(name, "")
        settings = replace(self.settings, num_variants=num_variants)
        language_model = self._language_model(model) if prompts_model(name) else None
        loaded = load_reformulator(name, model, settings, language_model=language_model, lexicon=self.lexicon)
        if isinstance(loaded, Policy):
            loaded.model = batched(loaded.model, self.batcher)
        return loaded

    @cachedmethod(lambda self: self._language_models, condition=lambda self: self._loading)
    def _language_model(self, model: str) -> LanguageModel:
        return batched(load_strategy_model(model, self.settings), self.batcher)


def batched(model: LanguageModel, batcher: Callable[..., Batcher[Any, Any]]) -> LanguageModel:
    """The model; if Transformers runs it, its concurrent calls are combined into batches."""
    return BatchedModel(model, batcher) if isinstance(model, TransformersModel) else model
