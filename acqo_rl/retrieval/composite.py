"""Several retrievers as one: a hybrid over the same documents, or a federation over collections of different documents.

A federation merges the rankings of each text before sub-queries are fused. Without this step, a rank-based fusion
prefers small, irrelevant collections: the best document of such a collection has rank 1 in the collection's own ranking
for every sub-query.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from acqo_rl.errors import ConfigError, check_positive
from acqo_rl.files import hash_of
from acqo_rl.fusion import best_first, spans_of
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
    return hash_of(fusion, _PER_PART, *fingerprints)


class InCollection(Retriever):
    """A retriever whose document ids have the form ``COLLECTION/DOCUMENT``."""

    def __init__(self, retriever: Retriever, collection: str, scale: str) -> None:
        """Adds the name of a collection to a retriever's document ids.

        Args:
            retriever: searches the collection's documents.
            collection: name of the collection.
            scale: recorded as the ``retriever`` of every ranking. Use the same value for retrievers with comparable
                scores, such as those of one encoder. BM25 scores of two collections are not comparable, because word
                frequencies differ between collections.
        """
        self.name = f"{collection}/{retriever.name}"
        self.cosine = retriever.cosine
        self.scale = scale
        self.retriever = retriever
        self.collection = collection

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """The retriever's fingerprint of its documents; empty if it has none."""
        return self.retriever.fingerprint

    def restrict(self, scope: Scope) -> InCollection:
        """The retriever of a part of the documents."""
        return InCollection(self.retriever.restrict(scope), self.collection, self.scale)

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """Returns the retriever's rankings, with document ids of the form ``COLLECTION/DOCUMENT``.

        Cosines are unchanged. BM25 scores become the square root of their share of the ceiling (``Ranking.ceiling``),
        with a ceiling of 1. Scores without a known ceiling are unchanged.
        """
        return [self._of_collection(ranking) for ranking in self.retriever.search(texts, k)]

    def _of_collection(self, ranking: Ranking) -> Ranking:
        doc_ids = tuple(f"{self.collection}/{doc_id}" for doc_id in ranking.doc_ids)
        spans = {f"{self.collection}/{doc_id}": span for doc_id, span in ranking.spans.items()}
        renamed = replace(ranking, doc_ids=doc_ids, retriever=self.scale, spans=spans)
        if self.cosine:
            return replace(renamed, ceiling=1.0)
        if not ranking.ceiling:
            return renamed
        scores = tuple(math.sqrt(max(score, 0.0) / ranking.ceiling) for score in ranking.scores)
        return replace(renamed, scores=scores, ceiling=1.0)


class FederatedRetriever(Composite):
    """Searches several collections and merges the rankings of each text by score: the best ``k`` of each collection.

    The merged score is the cosine, or the square root of a BM25 score divided by its upper bound for the text, the sum
    of the query terms' idf. The two are comparable: among the first 20 results of 600 training queries, the quartiles
    of the relevant documents are .50, .58 and .65 with BM25, and .50, .59 and .67 with all-MiniLM-L6-v2.

    A dense index finds ``k`` documents for every text, even if none fits. Found by several sub-queries, they would rise
    in the fused ranking. So if only some collections are dense, documents with a cosine of at most 0 are dropped.
    """

    def __init__(self, parts: Sequence[InCollection], name: str = "federated") -> None:
        """Creates the retriever.

        Args:
            parts: one retriever per collection.
            name: recorded in every ranking if the parts have different scales; otherwise their scale is recorded.

        Raises:
            ConfigError: there are no parts, or two parts have the same name.
        """
        super().__init__(parts)
        scales = {part.scale for part in parts}
        self.name = name
        self.cosine = all(part.cosine for part in parts) and len(scales) == 1
        self._is_mixed = len({part.cosine for part in parts}) > 1
        self.scale = scales.pop() if len(scales) == 1 else name

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """The fingerprints of all collections, joined by spaces; it changes with their documents."""
        return " ".join(part.fingerprint for part in self.parts)

    def merge(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        """Merges rankings of one text by score; keeps the first ``k`` documents of each collection.

        If dense and BM25 collections are mixed, documents with a score of at most 0 are dropped.

        Raises:
            ConfigError: a ranking has no ``ceiling``.
        """
        found: list[tuple[str, float]] = []
        for ranking in rankings:
            if ranking.doc_ids and ranking.ceiling is None:
                raise ConfigError(
                    f"The scores of the collection {split_id(ranking.doc_ids[0])[0]!r} cannot be merged with those of"
                    " other collections, because their maximum is unknown (it is known for cosines and BM25). Search"
                    " this collection separately."
                )
            pairs = zip(ranking.doc_ids[:k], ranking.scores[:k], strict=True)
            found += [pair for pair in pairs if pair[1] > 0 or not self._is_mixed]
        doc_ids, scores = best_first(found)
        return Ranking(
            doc_ids,
            scores,
            self.scale,
            rankings[0].query,
            ceiling=1.0,
            windows=max(ranking.windows for ranking in rankings),
            spans=spans_of(rankings, doc_ids),
        )


class FederatedFusion(Fusion):
    """A fusion that is not changed by irrelevant collections.

    The document at position i is chosen only from collections that have a document among the first i of some ranking.
    In a plain rank fusion, a collection whose documents are all ranked below k can change the top k.
    """

    def __init__(self, fusion: Fusion) -> None:
        self.name = fusion.name
        self._fusion = fusion

    def fuse(self, batch: Sequence[Sequence[Ranking]], k: int) -> list[Ranking]:
        """One ranking of at most ``k`` documents per query."""
        return [self._fuse(rankings, k) for rankings in batch]

    def _fuse(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        first: dict[str, int] = {}  # the best rank of each collection over all rankings
        for ranking in rankings:
            for doc_id, position in ranking.ranks.items():
                collection = split_id(doc_id)[0]
                first[collection] = min(position, first.get(collection, position))
        steps = sorted(set(first.values())) or [1]
        placed: dict[str, tuple[float, float]] = {}
        for step, end in zip(steps, [*(step - 1 for step in steps[1:]), k], strict=True):
            if len(placed) >= k:
                break
            taking_part = {collection for collection, position in first.items() if position <= step}
            lists = [
                ranking.at([i for i, doc_id in enumerate(ranking.doc_ids) if split_id(doc_id)[0] in taking_part])
                for ranking in rankings
            ]
            [fused] = self._fusion.fuse([lists], k)
            lowest = min((score for score, _ in placed.values()), default=math.inf)
            for doc_id, score, similarity in zip(fused.doc_ids, fused.scores, fused.similarities, strict=True):
                if len(placed) == min(end, k):
                    break
                placed.setdefault(doc_id, (min(score, lowest), similarity))
        scores, similarities = zip(*placed.values(), strict=True) if placed else ((), ())
        return replace(
            fused,
            doc_ids=tuple(placed),
            scores=scores,
            similarities=similarities,
            spans=spans_of(rankings, tuple(placed)),
        )


def split_id(key: str) -> tuple[str, str]:
    """Splits an id of :class:`InCollection` into collection and document id."""
    collection, _, doc_id = key.partition("/")
    return collection, doc_id
