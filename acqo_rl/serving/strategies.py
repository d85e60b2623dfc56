"""The reformulators of a service; each is loaded once and shared by all requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from acqo_rl.errors import NotFoundError
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.reformulation.load import load_reformulator, load_strategy_model, max_calls, prompts_model
from acqo_rl.reformulation.names import Lexicon
from acqo_rl.reformulation.policy import Policy
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.roles import LanguageModel, Reformulator
from acqo_rl.serving.batching import BatchedModel, Batcher


@dataclass(frozen=True)
class ServedStrategy:
    """A reformulator that a service offers.

    Attributes:
        reformulator: the reformulator.
        calls: maximum number of model calls per query.
    """

    reformulator: Reformulator
    calls: int = 1


def offered_names(models: Iterable[str]) -> tuple[str, ...]:
    """The names of the offered strategies, the default first; ``raw`` is always offered."""
    return tuple(dict.fromkeys([*models, "raw"]))


class Strategies:
    """Reformulators by name; concurrent calls of a model in this process are combined into batches."""

    def __init__(
        self,
        models: Mapping[str, str],
        settings: StrategySettings,
        batcher: Callable[..., Batcher[Any, Any]] = Batcher,
        lexicon: Lexicon | None = None,
    ) -> None:
        """Loads all models.

        Args:
            models: name (see :func:`acqo_rl.reformulation.load.load_reformulator`) -> model.
            settings: settings of the strategies that prompt a language model.
            batcher: combines the calls of a model in this process.
            lexicon: names in the collections, used by the rules.

        Raises:
            ConfigError: a model cannot be loaded or a setting is invalid.
            GrammarError: a policy has another grammar or prompt version.
        """
        self.names = offered_names(models)
        self.default = self.names[0]
        self._models = dict(models)
        self._settings = settings
        self._batcher = batcher
        self._lexicon = lexicon
        self._language_models: dict[str, LanguageModel] = {}
        self._loaded: dict[tuple[str, int], ServedStrategy] = {}
        self._lock = threading.Lock()
        for name in self.names:
            self.get(name, settings.num_variants)

    def get(self, name: str, num_variants: int) -> ServedStrategy:
        """Returns a reformulator.

        Args:
            name: one of ``names``.
            num_variants: number of paraphrases that ``multi_query`` writes, also if ``adaptive`` chooses it.

        Raises:
            NotFoundError: the strategy is not offered.
        """
        if name not in self.names:
            raise NotFoundError(f"Unknown strategy {name!r}; choose one of {', '.join(self.names)}.")
        if name != "adaptive" and "multi_query" not in name.split("+"):
            num_variants = self._settings.num_variants
        with self._lock:
            if (name, num_variants) not in self._loaded:
                self._loaded[name, num_variants] = self._load(name, num_variants)
            return self._loaded[name, num_variants]

    def _load(self, name: str, num_variants: int) -> ServedStrategy:
        model = self._models.get(name, "")
        settings = replace(self._settings, num_variants=num_variants)
        language_model = self._language_model(model) if prompts_model(name) else None
        loaded = load_reformulator(name, model, settings, language_model=language_model, lexicon=self._lexicon)
        if isinstance(loaded, Policy):
            loaded.model = batched(loaded.model, self._batcher)
        return ServedStrategy(loaded, max_calls(name, settings) if model else 0)

    def _language_model(self, model: str) -> LanguageModel:
        if model not in self._language_models:
            self._language_models[model] = batched(load_strategy_model(model, self._settings), self._batcher)
        return self._language_models[model]


def batched(model: LanguageModel, batcher: Callable[..., Batcher[Any, Any]]) -> LanguageModel:
    """The model; if Transformers runs it, its concurrent calls are combined into batches."""
    return BatchedModel(model, batcher) if isinstance(model, TransformersModel) else model
