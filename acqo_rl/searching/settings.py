"""Settings of the steps that read results, shared by all commands that search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from acqo_rl.reformulation.load import AUTO
from acqo_rl.roles import RemoteCorpus
from acqo_rl.searching import choice, hop
from acqo_rl.searching.choice import Choice
from acqo_rl.searching.corpus_words import CorpusWords
from acqo_rl.searching.hop import MOST_HOPS, Hops, LearnedHop
from acqo_rl.searching.scorer import Scorer
from acqo_rl.types import Document


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


def words_of(corpus: Mapping[str, Document]) -> CorpusWords:
    """Titles and words of a local corpus; those of a search engine are not read."""
    return CorpusWords() if isinstance(corpus, RemoteCorpus) else CorpusWords.of(corpus)
