"""Settings shared by the commands that search: of the steps that read results, and of a whole search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from annotated_types import Ge

from acqo_rl.addresses import Address
from acqo_rl.reformulation.load import AUTO, ENGINE_HELP, Engine
from acqo_rl.retrieval.settings import RERANKER_HELP, IndexSettings
from acqo_rl.roles import RemoteCorpus
from acqo_rl.searching import choice, hop
from acqo_rl.searching.choice import Choice
from acqo_rl.searching.corpus_words import CorpusWords
from acqo_rl.searching.hop import MOST_HOPS, Hops, LearnedHop
from acqo_rl.searching.reranking import DEPTH
from acqo_rl.searching.scorer import Scorer
from acqo_rl.types import Document, FusionName


@dataclass(kw_only=True)
class StepSettings:
    """Settings of the choice and of the hops."""

    choice: str = field(
        default="trained:choice",
        metadata={"help": "Folder of the network that chooses the first searches of the reformulator auto."},
    )
    hops: int = field(
        default=0,
        metadata={
            "help": f"Maximum number of further searches, 0 to {MOST_HOPS}: a small trained network reads the results "
            "and searches a name in them, or stops."
        },
    )
    hop: str = field(default="trained:hop", metadata={"help": "Folder of the network that chooses the names."})

    def open_hops(self, corpus: Mapping[str, Document], words: CorpusWords | None = None) -> Hops | None:
        """Loads the network of the hops; ``None`` without hops.

        Args:
            corpus: document id -> document.
            words: words of the corpus; by default they are read.

        Raises:
            ConfigError: the number is out of range, or the folder contains no such network.
        """
        if not self.hops:
            return None
        words = words or words_of(corpus)
        return Hops(LearnedHop(Scorer.load(self.hop, hop.KIND), corpus, words), self.hops)

    def open_choice(
        self, name: str, corpus: Mapping[str, Document], words: CorpusWords | None = None, *, asks: bool
    ) -> Choice | None:
        """Loads the network of the choice; ``None`` for all reformulators except ``auto``.

        Args:
            name: name of the reformulator.
            corpus: document id -> document.
            words: words of the corpus; by default they are read.
            asks: whether there is a model to ask.

        Raises:
            ConfigError: the folder contains no such network.
        """
        if name != AUTO:
            return None
        return Choice(Scorer.load(self.choice, choice.KIND), corpus, words or words_of(corpus), asks=asks)


@dataclass(kw_only=True)
class SearcherSettings(StepSettings, IndexSettings):
    """Settings of a search with its answer, shared by ``acqo search`` and ``acqo serve``."""

    model: Address | None = field(
        default=None, metadata={"help": "Policy, or language model of the strategies that are given without one."}
    )
    engine: Engine = field(default="auto", metadata={"help": ENGINE_HELP})
    answer_model: Address | None = field(
        default=None, metadata={"help": "Language model that writes answers; without it, only passages are returned."}
    )
    max_model_calls: int = field(default=20, metadata={"help": "Maximum number of model calls per answer."})
    fusion: FusionName = field(default="rsf", metadata={"help": "Fusion of the rankings."})
    rrf_k: float = field(default=60.0, metadata={"help": "Rank constant of rrf."})
    score_threshold: float | None = field(
        default=None,
        metadata={
            "help": "Minimum cosine of a document; if no document reaches it, the result is empty. Requires dense "
            "indexes."
        },
    )
    reranker: Address | None = field(default=None, metadata={"help": RERANKER_HELP})
    rerank_depth: Annotated[int, Ge(1)] = field(
        default=DEPTH, metadata={"help": "Number of documents per query that are reranked."}
    )


def words_of(corpus: Mapping[str, Document]) -> CorpusWords:
    """Titles and words of a local corpus; those of a search engine are not read."""
    return CorpusWords() if isinstance(corpus, RemoteCorpus) else CorpusWords.of(corpus)
