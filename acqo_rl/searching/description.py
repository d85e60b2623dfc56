"""The description of a search path: names and numbers, from which :mod:`acqo_rl.searching.assemble` opens it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType

from acqo_rl.addresses import Address
from acqo_rl.networks import choice, hop, order
from acqo_rl.networks.scorer import Scorer
from acqo_rl.reformulation.load import prompts_model
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.searching.reranking import RERANK_DEPTH
from acqo_rl.types import FusionName

CHOICE, HOP, ORDER = "trained:choice", "trained:hop", "trained:order"
"""The networks of this package."""


@cache
def network(folder: str, kind: ModuleType) -> Scorer:
    """Reads a network of a kind, a module of :mod:`acqo_rl.networks`; once per process."""
    return Scorer.load(folder, kind.FEATURES)


@dataclass(frozen=True, kw_only=True)
class PathSpec:
    """What a search path consists of.

    Attributes:
        reformulator: a name that :func:`acqo_rl.reformulation.load.load_reformulator` knows. With a choice, it is asked
            only where the choice says so.
        model: of the reformulator; empty without one. With a choice and without a model, nothing is asked.
        strategy: settings of the reformulator.
        retry_below: see :class:`acqo_rl.searching.path.SearchPath`.
        choice: folder of the network that chooses the first searches; ``None``: the reformulator makes them.
        max_harm: largest share of queries that choice and order may make worse than the raw query; see
            :meth:`acqo_rl.networks.scorer.Scorer.within`. ``None``: the margins of the networks.
        hops: maximum number of hops.
        hop: folder of the network that chooses the names.
        order: folder of the network that orders the first results; ``None``: the order of the fusion.
        fusion: name of the fusion.
        rrf_k: rank constant of RRF.
        federated: whether several collections are searched.
        score_threshold: minimum cosine of a document.
        reranker: reorders the first results; see :mod:`acqo_rl.retrieval.rerankers`.
        rerank_depth: number of documents per query that are reranked.
    """

    reformulator: str = "raw"
    model: str = ""
    strategy: StrategySettings = field(default_factory=StrategySettings)
    retry_below: float | None = None
    choice: str | None = None
    max_harm: float | None = None
    hops: int = 0
    hop: str = HOP
    order: str | None = None
    fusion: FusionName = "rsf"
    rrf_k: float = 60.0
    federated: bool = False
    score_threshold: float | None = None
    reranker: Address | None = None
    rerank_depth: int = RERANK_DEPTH

    def networks(self) -> tuple[Scorer | None, Scorer | None, Scorer | None]:
        """The networks of choice, hops and order.

        Raises:
            ConfigError: a folder contains no such network.
        """
        chooses = network(self.choice, choice) if self.choice else None
        orders = network(self.order, order) if self.order else None
        if chooses and self.max_harm is not None:
            chooses = chooses.within(self.max_harm)
            orders = orders and orders.within(self.max_harm)
        return chooses, network(self.hop, hop) if self.hops else None, orders

    @property
    def prompts(self) -> bool:
        """Whether the reformulator prompts a language model; a trained policy does not count."""
        return prompts_model(self.reformulator)


NAMED: Mapping[str, PathSpec] = {"auto": PathSpec(choice=CHOICE, hops=2, order=ORDER)}
"""Names that stand for more than a reformulator: their steps, unless the settings say otherwise."""
