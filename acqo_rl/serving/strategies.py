"""The strategies of a service: one description of a search path each, and their reformulators, loaded at once."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from cachetools import cachedmethod

from acqo_rl.errors import NotFoundError
from acqo_rl.language_models.local import TransformersModel
from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.reformulation.load import lexicon_for, load_strategy_model
from acqo_rl.reformulation.policy import Policy
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.roles import LanguageModel, Reformulator
from acqo_rl.searching.assemble import open_reformulator
from acqo_rl.searching.description import PathSpec
from acqo_rl.serving.batching import BatchedModel, Batcher
from acqo_rl.types import Corpus


@dataclass
class Strategies:
    """Reformulators by name; concurrent calls of a model in this process are batched.

    Attributes:
        paths: name -> search path. The first one is the default.
        batcher: combines the calls of a model in this process.
        lexicon: names in the collections, used by the rules.

    Raises:
        ConfigError: a model cannot be loaded or a setting is invalid.
        GrammarError: a policy has another grammar or prompt version.
    """

    paths: Mapping[str, PathSpec]
    batcher: Callable[..., Batcher[Any, Any]] = Batcher
    lexicon: Lexicon | None = None

    def __post_init__(self) -> None:
        self.names = tuple(self.paths)
        self.default = self.names[0]
        prompted = {spec.model: spec.strategy for spec in self.paths.values() if spec.prompts}
        self._language_models = {
            model: batched(load_strategy_model(model, settings), self.batcher) for model, settings in prompted.items()
        }
        self._loaded: dict[tuple[Any, ...], Reformulator] = {}
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
        """
        if name not in self.names:
            raise NotFoundError(f"Unknown strategy {name!r}; choose one of {', '.join(self.names)}.")
        return self._load(name, num_variants or self.paths[name].strategy.num_variants)

    def read(self, corpora: Sequence[Corpus]) -> None:
        """Reads the names in the collections again, for the rules."""
        if self.lexicon is None:
            return
        self.lexicon = lexicon_for(["rules"], corpora)
        with self._loading:
            for key in [key for key in self._loaded if self.paths[key[0]].reformulator == "rules"]:
                del self._loaded[key]

    def has_variants(self, name: str) -> bool:
        """Whether a strategy uses ``num_variants``."""
        [users] = [set(f.metadata["of"]) for f in fields(StrategySettings) if f.name == "num_variants"]
        return not users.isdisjoint(self.paths[name].reformulator.split("+"))

    @cachedmethod(lambda self: self._loaded, condition=lambda self: self._loading)
    def _load(self, name: str, num_variants: int) -> Reformulator:
        spec = self.paths[name]
        shared = self._language_models.get(spec.model) if spec.prompts else None
        settings = replace(spec.strategy, num_variants=num_variants)
        loaded = open_reformulator(replace(spec, strategy=settings), lexicon=self.lexicon, language_model=shared)
        if isinstance(loaded, Policy):
            loaded.model = batched(loaded.model, self.batcher)
        return loaded


def batched(model: LanguageModel, batcher: Callable[..., Batcher[Any, Any]]) -> LanguageModel:
    """The model; if Transformers runs it, its concurrent calls are combined into batches."""
    return BatchedModel(model, batcher) if isinstance(model, TransformersModel) else model
