"""Settings of choice, hops and order, and of a whole search; shared by commands and service."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from annotated_types import Ge, Le

from acqo_rl.addresses import Address
from acqo_rl.networks import choice, hop, order
from acqo_rl.networks.corpus_words import CorpusWords
from acqo_rl.networks.scorer import Scorer
from acqo_rl.reformulation.load import AUTO, ENGINE_HELP, InferenceEngine
from acqo_rl.retrieval.settings import RERANKER_HELP, IndexSettings
from acqo_rl.roles import RemoteCorpus
from acqo_rl.searching.choice import Choice
from acqo_rl.searching.hop import MOST_HOPS, Hops, LearnedHop
from acqo_rl.searching.order import LearnedOrder
from acqo_rl.searching.reranking import RERANK_DEPTH
from acqo_rl.settings import setting
from acqo_rl.types import Amount, Cosine, Document, FusionName, Positive

AUTO_HOPS = 2
"""Default number of hops after ``auto``."""
TRAINED_ORDER, NO_ORDER = "trained:order", "none"
"""Default order after ``auto``, and after other reformulators."""


class Steps(NamedTuple):
    """The steps of a search path that read results; see :class:`~acqo_rl.searching.path.SearchPath`."""

    choice: Choice | None = None
    hops: Hops | None = None
    order: LearnedOrder | None = None


class Networks(NamedTuple):
    """The networks of the steps that read results, and the number of hops."""

    choice: Scorer | None
    hop: Scorer | None
    hops: int
    order: Scorer | None

    def steps(self, corpus: Mapping[str, Document], words: Callable[[], CorpusWords], *, asks: bool) -> Steps:
        """The steps with these networks.

        Args:
            corpus: document id -> document.
            words: reads the words of the corpus; called only if they are needed.
            asks: whether there is a model to ask.
        """
        if not any((self.choice, self.hop, self.order)):
            return Steps()
        known = words()
        return Steps(
            Choice(self.choice, corpus, known, asks=asks) if self.choice else None,
            Hops(LearnedHop(self.hop, corpus, known), self.hops) if self.hop else None,
            LearnedOrder(self.order, corpus, known) if self.order else None,
        )


@dataclass(kw_only=True)
class StepSettings:
    """Settings of the engine of policies, of choice, hops, order and reranker."""

    engine: InferenceEngine = setting(ENGINE_HELP, "auto")
    choice: str = setting(
        "Folder of the network that chooses the first searches of the reformulator auto.", "trained:choice"
    )
    hops: Annotated[int, Ge(0), Le(MOST_HOPS)] | None = setting(
        f"Maximum number of further searches, 0 to {MOST_HOPS}: a small trained network reads the results "
        f"and searches a name in them, or stops. By default {AUTO_HOPS} for auto, and 0 for other reformulators.",
        None,
    )
    hop: str = setting("Folder of the network that chooses the names.", "trained:hop")
    order: str | None = setting(
        "Folder of the network that orders the first results, or none. By default trained:order for auto, and none for "
        "other reformulators.",
        None,
    )
    reranker: Address | None = setting(RERANKER_HELP, None)
    rerank_depth: Positive = setting("Number of documents per query that are reranked.", RERANK_DEPTH, of="reranker")

    def networks(self, name: str) -> Networks:
        """Loads the networks that a reformulator needs.

        Raises:
            ConfigError: a folder contains no such network.
        """
        chooses = name == AUTO
        hops = self.hops if self.hops is not None else AUTO_HOPS if chooses else 0
        ordered_by = self.order or (TRAINED_ORDER if chooses else NO_ORDER)
        return Networks(
            Scorer.load(self.choice, choice.FEATURES) if chooses else None,
            Scorer.load(self.hop, hop.FEATURES) if hops else None,
            hops,
            Scorer.load(ordered_by, order.FEATURES) if ordered_by != NO_ORDER else None,
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


def words_of(corpus: Mapping[str, Document]) -> CorpusWords:
    """Titles and words of a local corpus; those of a search engine are not read."""
    return CorpusWords() if isinstance(corpus, RemoteCorpus) else CorpusWords.of(corpus)
