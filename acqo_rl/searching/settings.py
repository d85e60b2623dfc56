"""Settings of choice, hops and order, and of a whole search; shared by commands and service."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Le

from acqo_rl.addresses import Address
from acqo_rl.reformulation.load import ENGINE_HELP, InferenceEngine, retries_below
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.retrieval.settings import RERANKER_HELP, IndexSettings
from acqo_rl.searching.description import CHOICE, HOP, NAMED, PathSpec
from acqo_rl.searching.hop import MOST_HOPS
from acqo_rl.searching.names import name_reformulators
from acqo_rl.searching.reranking import RERANK_DEPTH
from acqo_rl.settings import setting
from acqo_rl.types import Amount, Cosine, FusionName, Positive, Share

NO_ORDER = "none"


@dataclass(kw_only=True)
class StepSettings:
    """Settings of the engine of policies, of choice, hops, order and reranker.

    ``described`` names those that are attributes of a description with the same meaning.
    """

    engine: InferenceEngine = setting(ENGINE_HELP, "auto")
    choice: str = setting("Folder of the network that chooses the first searches of the reformulator auto.", CHOICE)
    max_harm: Share | None = setting(
        "With the reformulator auto: share of the questions that choice and order may make worse than the raw query, "
        "at most and with 95 % confidence, as measured on questions they were not trained on. By default, they keep "
        "the margins of their training.",
        None,
    )
    hops: Annotated[int, Ge(0), Le(MOST_HOPS)] | None = setting(
        f"Maximum number of further searches, 0 to {MOST_HOPS}: a small trained network reads the results "
        f"and searches a name in them, or stops. By default {NAMED['auto'].hops} for auto, and 0 for other "
        "reformulators.",
        None,
    )
    hop: str = setting("Folder of the network that chooses the names.", HOP)
    order: str | None = setting(
        "Folder of the network that orders the first results, or none. By default trained:order for auto, and none for "
        "other reformulators.",
        None,
    )
    reranker: Address | None = setting(RERANKER_HELP, None)
    rerank_depth: Positive = setting("Number of documents per query that are reranked.", RERANK_DEPTH, of="reranker")

    described: ClassVar[tuple[str, ...]] = ("max_harm", "hop", "rerank_depth")

    def paths(
        self, given: Sequence[str], strategy: StrategySettings | None = None, model: str | None = None
    ) -> dict[str, PathSpec]:
        """Describes the search path of each reformulator, by its name.

        Args:
            given: as :func:`~acqo_rl.searching.names.name_reformulators` takes them; also the errors.
            strategy: settings of the reformulators; by default their defaults.
            model: of the reformulators that are given without one.
        """
        named = name_reformulators(given, model or getattr(self, "model", None), self.engine)
        settings = strategy or StrategySettings()
        return {name: self._path(kind, model, settings) for name, (kind, model) in named.items()}

    def _path(self, kind: str, model: str, strategy: StrategySettings) -> PathSpec:
        usual = NAMED.get(kind, PathSpec())
        order = self.order or usual.order
        return PathSpec(
            reformulator=kind,
            model=model,
            strategy=strategy,
            retry_below=retries_below(kind, strategy),
            choice=usual.choice and self.choice,
            hops=usual.hops if self.hops is None else self.hops,
            order=None if order == NO_ORDER else order,
            **{name: getattr(self, name) for name in self.described},
        )


@dataclass(kw_only=True)
class SearcherSettings(StepSettings, IndexSettings):
    """Settings of a search, shared by ``acqo search`` and ``acqo serve``."""

    model: Address | None = setting("Policy, or language model of the strategies that are given without one.", None)
    fusion: FusionName = setting("Fusion of the rankings.", "rsf")
    rrf_k: Amount = setting("Rank constant.", 60.0, of="rrf")
    score_threshold: Cosine | None = setting(
        "Minimum cosine of a document; if no document reaches it, the result is empty. Requires dense indexes.", None
    )

    described: ClassVar[tuple[str, ...]] = (*StepSettings.described, "fusion", "rrf_k", "score_threshold", "reranker")
