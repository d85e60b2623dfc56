"""Several retrievers merged into one by a fusion."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from acqo_rl.errors import ConfigError
from acqo_rl.types import Fusion, Ranking, Retriever, fingerprint_of


class HybridRetriever:
    """Searches with all its retrievers at the same time and merges their rankings of each text."""

    cosine = False

    def __init__(
        self, retrievers: Sequence[Retriever], fusion: Fusion, *, depth: int = 100, name: str = "hybrid"
    ) -> None:
        """Names the parts.

        Args:
            retrievers: over the same documents; names differ, so that a fusion can tell their scores apart.
            fusion: merges the rankings of each text, in the order of the retrievers.
            depth: documents that each retriever gives to the fusion, or ``k`` where that is more.
            name: recorded in every ranking.

        Raises:
            ConfigError: there is no retriever, or two have one name.
        """
        names = [retriever.name for retriever in retrievers]
        if not names or len(set(names)) < len(names):
            raise ConfigError(f"A hybrid of the retrievers {names} was asked for; give at least one, names differing.")
        self.name = name
        self.parts = retrievers
        self._fusion = fusion
        self._depth = depth

    @property
    def fingerprint(self) -> str:
        """Changes with the documents of any retriever that says so."""
        return " ".join(map(fingerprint_of, self.parts))

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """At most ``k`` documents a text, position for position. A failure of one retriever is raised."""
        depth = max(k, self._depth)
        with ThreadPoolExecutor(len(self.parts)) as pool:
            found = list(pool.map(lambda retriever: retriever.search(texts, depth), self.parts))
        merged = (self.merge(lists, k) for lists in zip(*found, strict=True))
        return [replace(ranking, query=text) for ranking, text in zip(merged, texts, strict=True)]

    def merge(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        """One list of at most ``k`` documents of what the parts found for a text."""
        return replace(self._fusion.fuse([rankings], k)[0], retriever=self.name)
