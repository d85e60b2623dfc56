"""Several collections of different documents, searched as one: the lists of a text become one list.

Without this step a small, irrelevant collection wins: its documents are in no other list, so that its best one is first
for every sub-query and collects all votes of a rank-based fusion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.parallel import search_all
from acqo_rl.types import Fusion, Ranking, Retriever, fingerprint_of, has_cosines


class InCollection:
    """A retriever whose document ids begin with its collection's name: ``COLLECTION/DOCUMENT``."""

    def __init__(self, retriever: Retriever, collection: str, scale: str) -> None:
        """Puts a retriever into a collection.

        Args:
            retriever: over the collection's documents.
            collection: its name.
            scale: recorded as the ``retriever`` of every ranking; the same for retrievers whose scores compare, such as
                those of one encoder. BM25 scores of two collections do not compare, because each collection has its own
                word frequencies.
        """
        self.name = f"{collection}/{retriever.name}"
        self.scale = scale
        self.retriever = retriever
        self._collection = collection

    @property
    def fingerprint(self) -> str:
        """Changes with the retriever's documents, if the retriever reports it."""
        return fingerprint_of(self.retriever)

    @property
    def cosine(self) -> bool:
        """Whether the retriever's scores are cosines."""
        return has_cosines(self.retriever)

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """The retriever's rankings with the ids of the collection."""
        return [self._of_collection(ranking) for ranking in self.retriever.search(texts, k)]

    def _of_collection(self, ranking: Ranking) -> Ranking:
        doc_ids = tuple(f"{self._collection}/{doc_id}" for doc_id in ranking.doc_ids)
        ceiling = 1.0 if self.cosine else ranking.ceiling
        return replace(ranking, doc_ids=doc_ids, retriever=self.scale, ceiling=ceiling)


class FederatedRetriever:
    """Searches several collections at the same time and merges the lists of each text by score.

    The merged score is the score divided by the best score that any document could have for the text: 1 for a cosine,
    the sum of the query terms' idf for BM25. It is the share of the query that a document covers, and it depends on
    one collection only. So a collection whose documents all score lower than the k-th changes no top k.
    """

    def __init__(self, parts: Sequence[InCollection], name: str = "federated") -> None:
        """Checks the collections.

        Args:
            parts: one retriever per collection.
            name: recorded in every ranking where the parts have different scales; else their scale is.

        Raises:
            ConfigError: there are no parts, or two have the same name.
        """
        names = [part.name for part in parts]
        if not names or len(set(names)) < len(names):
            raise ConfigError(f"The collections {names} were given; give at least one, each with its own name.")
        scales = {part.scale for part in parts}
        self.name = name
        self.parts: Sequence[Retriever] = parts
        self.cosine = all(map(has_cosines, parts)) and len(scales) == 1
        self._scale = scales.pop() if len(scales) == 1 else name

    @property
    def fingerprint(self) -> str:
        """Changes with the documents of any collection that reports it."""
        return " ".join(map(fingerprint_of, self.parts))

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """The best ``k`` documents of each collection per text, in input order, as one list by score.

        Raises:
            ConfigError: the scores of a collection cannot be merged with those of others.
            Exception: whatever a collection's retriever raises.
        """
        return [self.merge(lists, k) for lists in search_all(self.parts, texts, k)]

    def merge(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        """One list of the first ``k`` documents of each collection, so that none pushes out those of another.

        Raises:
            ConfigError: a ranking does not say how high its scores can be.
        """
        best: dict[str, float] = {}
        for ranking in rankings:
            if ranking.doc_ids and ranking.ceiling is None:
                raise ConfigError(
                    f"The scores of {ranking.retriever!r} cannot be merged with those of other collections: they have"
                    " no known maximum, as cosines and BM25 scores do. Search that collection by itself."
                )
            for doc_id, score in zip(ranking.doc_ids[:k], ranking.scores[:k], strict=True):
                share = score / (ranking.ceiling or 1.0)
                best[doc_id] = max(share, best.get(doc_id, share))
        top = sorted(best.items(), key=lambda item: -item[1])
        doc_ids, scores = zip(*top, strict=True) if top else ((), ())
        return Ranking(doc_ids, scores, self._scale, rankings[0].query if rankings else "", ceiling=1.0)


class FederatedFusion:
    """A fusion over collections: at position i, one takes part if it has a document among the first i of some list.

    Ranks alone would let a document in the middle of every list outvote one near the top of a few. So a collection of
    documents less similar than the k-th of every list would still change the top k; here it changes nothing. The
    first documents are the same however many are asked for.
    """

    def __init__(self, fusion: Fusion) -> None:
        self.name = fusion.name
        self._fusion = fusion

    def fuse(self, batch: Sequence[Sequence[Ranking]], k: int) -> list[Ranking]:
        """One ranking of at most ``k`` documents per query."""
        return [self._fuse(rankings, k) for rankings in batch]

    def _fuse(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        first = _first_positions(rankings)
        steps = sorted(set(first.values())) or [1]
        placed: dict[str, tuple[float, float]] = {}
        for step, end in zip(steps, [*(step - 1 for step in steps[1:]), k], strict=True):
            if len(placed) >= k:
                break
            taking_part = {collection for collection, position in first.items() if position <= step}
            [fused] = self._fusion.fuse([[_of(ranking, taking_part) for ranking in rankings]], k)
            lowest = min((score for score, _ in placed.values()), default=math.inf)
            for doc_id, score, similarity in zip(fused.doc_ids, fused.scores, fused.similarities, strict=True):
                if len(placed) == min(end, k):
                    break
                placed.setdefault(doc_id, (min(score, lowest), similarity))
        scores, similarities = zip(*placed.values(), strict=True) if placed else ((), ())
        return replace(fused, doc_ids=tuple(placed), scores=scores, similarities=similarities)


def split_id(key: str) -> tuple[str, str]:
    """Collection and document id of an id that :class:`InCollection` made."""
    collection, _, doc_id = key.partition("/")
    return collection, doc_id


def _first_positions(rankings: Sequence[Ranking]) -> dict[str, int]:
    """The best position of each collection in any of the lists, from 1."""
    first: dict[str, int] = {}
    for ranking in rankings:
        for position, doc_id in enumerate(ranking.doc_ids, start=1):
            collection = split_id(doc_id)[0]
            first[collection] = min(position, first.get(collection, position))
    return first


def _of(ranking: Ranking, collections: set[str]) -> Ranking:
    kept = [i for i, doc_id in enumerate(ranking.doc_ids) if split_id(doc_id)[0] in collections]
    if len(kept) == len(ranking.doc_ids):
        return ranking
    doc_ids, scores = tuple(ranking.doc_ids[i] for i in kept), tuple(ranking.scores[i] for i in kept)
    return replace(ranking, doc_ids=doc_ids, scores=scores, similarities=())
