"""Several retrievers as one, and hybrid retrieval: those over the same documents, merged by a fusion."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from acqo_rl.errors import ConfigError, check_positive
from acqo_rl.roles import Fusion, Retriever
from acqo_rl.types import Ranking, Scope

_PER_PART = 100
"""Minimum number of documents of each part that are fused."""


class Composite(Retriever):
    """Searches other retrievers and merges their rankings of each text.

    They are searched one after another here, and concurrently by the search path.

    Attributes:
        parts: the retrievers.
        least: minimum number of documents of each part that are merged.
    """

    least = 1

    def __init__(self, parts: Sequence[Retriever]) -> None:
        """Creates the retriever.

        Raises:
            ConfigError: there are no parts, or two have the same name.
        """
        names = [part.name for part in parts]
        if not names or len(set(names)) < len(names):
            raise ConfigError(f"The parts of an index are {names}; give at least one, each with a different name.")
        self.parts = parts

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """Returns one ranking per text, in input order.

        Raises:
            ConfigError: ``k`` is less than 1.
            ValueError: a part did not return one ranking per text.
            Exception: an exception of a part.
        """
        check_positive("k", k)
        found = [part.search(texts, max(k, self.least)) for part in self.parts]
        return [replace(self.merge(lists, k), query=text) for text, *lists in zip(texts, *found, strict=True)]

    @abstractmethod
    def merge(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        """Merges the rankings of one text, from the parts that succeeded; uses at most ``k`` documents per part."""


class HybridRetriever(Composite):
    """Retrievers over the same documents, merged by a fusion."""

    least = _PER_PART

    def __init__(self, retrievers: Sequence[Retriever], fusion: Fusion, name: str = "hybrid") -> None:
        """Creates the retriever.

        Args:
            retrievers: retrievers over the same documents. Their names must differ, because a fusion treats scores of
                equal names as comparable.
            fusion: merges the rankings of each text, in the order of the retrievers.
            name: recorded in every ranking.

        Raises:
            ConfigError: there is no retriever, or two have the same name.
        """
        super().__init__(retrievers)
        self.name = name
        self._fusion = fusion

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """Changes with the documents of the retrievers; empty if none of them has a fingerprint."""
        given = [retriever.fingerprint for retriever in self.parts]
        return joined_fingerprint(given, self._fusion.name) if any(given) else ""

    def restrict(self, scope: Scope) -> HybridRetriever:
        """The retriever of a part of the documents; all retrievers must support this."""
        return HybridRetriever([part.restrict(scope) for part in self.parts], self._fusion, self.name)

    def merge(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        """Fuses the parts' rankings of one text into one of at most ``k`` documents."""
        merged = self._fusion.fuse([rankings], k)[0]
        windows = max(ranking.windows for ranking in rankings)
        # scores of several retrievers are not comparable
        return replace(merged, retriever=self.name, similarities=(), windows=windows)


def joined_fingerprint(fingerprints: Sequence[str], fusion: str = "rsf") -> str:
    """The fingerprint of a hybrid whose retrievers have these fingerprints, in the order of fusion."""
    return hashlib.sha256(json.dumps([fusion, _PER_PART, *fingerprints]).encode()).hexdigest()
