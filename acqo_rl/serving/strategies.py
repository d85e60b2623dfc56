"""The reformulators of a service; each is loaded once and shared by all requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from acqo_rl.errors import NotFoundError
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.language_models.openvino import OpenVinoModel
from acqo_rl.reformulation.load import (
    load_reformulator,
    load_strategy_model,
    max_calls,
    prompts_model,
)
from acqo_rl.reformulation.names import Lexicon
from acqo_rl.reformulation.policy import Policy
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.roles import LanguageModel, Reformulator
from acqo_rl.serving.batching import BatchedModel, BatchedReformulator, Batcher

_CALLS = 8
"""Concurrent calls of a policy whose model answers each call as soon as it is finished."""


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
        *,
        batch_size: int = 32,
        batch_wait: float = 0.002,
        timeout: float | None = None,
        on_batch: Callable[[int], None] = lambda _: None,
        lexicon: Lexicon | None = None,
    ) -> None:
        """Loads all models.

        Args:
            models: name (see :func:`acqo_rl.reformulation.load.load_reformulator`) -> model; see also
                :func:`offered_names`.
            settings: settings of the strategies that prompt a language model.
            batch_size: maximum number of queries, or conversations, per model call.
            batch_wait: maximum time that the first query of a batch waits for others, in seconds.
            timeout: maximum time that a query waits for its model, in seconds.
            on_batch: called with the size of each batch.
            lexicon: names in the collections, used by the rules.

        Raises:
            ConfigError: a model cannot be loaded or a setting is invalid.
            GrammarError: a policy has another grammar or prompt version.
        """
        self.names = offered_names(models)
        self.default = self.names[0]
        self._models = dict(models)
        self._settings = settings
        self._lexicon = lexicon
        self._batcher = partial(Batcher, size=batch_size, wait=batch_wait, timeout=timeout, on_batch=on_batch)
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
            num_variants = 0
        with self._lock:
            if (name, num_variants) not in self._loaded:
                self._loaded[name, num_variants] = self._load(name, num_variants)
            return self._loaded[name, num_variants]

    def _load(self, name: str, num_variants: int) -> ServedStrategy:
        model = self._models.get(name, "")
        settings = replace(self._settings, num_variants=num_variants or self._settings.num_variants)
        asks = prompts_model(name)
        language_model = self._language_model(model) if asks else None
        loaded = load_reformulator(name, model, settings, language_model=language_model, lexicon=self._lexicon)
        if model and not asks:  # a policy: the batch includes the creation of its prompts
            loaded = BatchedReformulator(loaded, partial(self._batcher, threads=_concurrent_calls(loaded)))
        return ServedStrategy(loaded, max_calls(name, settings))

    def _language_model(self, model: str) -> LanguageModel:
        if model not in self._language_models:
            self._language_models[model] = _batched(load_strategy_model(model, self._settings), self._batcher)
        return self._language_models[model]


def load_answer_model(
    name: str,
    max_new_tokens: int,
    settings: StrategySettings,
    *,
    batch_size: int,
    batch_wait: float,
    on_batch: Callable[[int], None],
) -> LanguageModel:
    """Loads the language model that writes answers with greedy decoding; its calls are batched.

    Raises:
        ConfigError: the model does not exist, or its package or key is missing.
    """
    from acqo_rl.language_models.load import load_language_model

    model = load_language_model(
        name,
        max_new_tokens=max_new_tokens,
        timeout=settings.timeout,
        max_retries=settings.max_retries,
        concurrency=settings.concurrency,
    )
    return _batched(model, partial(Batcher, size=batch_size, wait=batch_wait, on_batch=on_batch))


def _concurrent_calls(policy: Reformulator) -> int:
    model = policy.model if isinstance(policy, Policy) else None
    return _CALLS if isinstance(model, OpenVinoModel) else 1


def _batched(model: LanguageModel, batcher: Callable[..., Batcher[Any, Any]]) -> LanguageModel:
    return BatchedModel(model, batcher) if isinstance(model, TransformersModel) else model
