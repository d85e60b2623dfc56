"""Several retrievers merged into one by a fusion."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.parallel import search_all
from acqo_rl.types import Fusion, Ranking, Retriever, fingerprint_of

_DEPTH = 100  # documents of each list before fusion


class HybridRetriever:
    """Searches with all its retrievers at the same time and merges their rankings of each text."""

    cosine = False

    def __init__(
        self, retrievers: Sequence[Retriever], fusion: Fusion, *, depth: int = _DEPTH, name: str = "hybrid"
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
        """Changes with the documents of any retriever that says so; empty where none does."""
        given = [fingerprint_of(retriever) for retriever in self.parts]
        return joined_fingerprint(given, self._fusion.name, self._depth) if any(given) else ""

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """At most ``k`` documents per text, in input order. A failure of one retriever is raised."""
        found = search_all(self.parts, texts, max(k, self._depth))
        return [replace(self.merge(lists, k), query=text) for lists, text in zip(found, texts, strict=True)]

    def merge(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        """One list of at most ``k`` documents of what the parts found for a text."""
        merged = self._fusion.fuse([rankings], k)[0]
        return replace(merged, retriever=self.name, similarities=())  # of several retrievers, on no common scale


def joined_fingerprint(fingerprints: Sequence[str], fusion: str = "rsf", depth: int = _DEPTH) -> str:
    """Of a hybrid of retrievers with these fingerprints, in the order of fusion."""
    return hashlib.sha256(json.dumps([fusion, depth, *fingerprints]).encode()).hexdigest()
