"""The indexes of a study, with the rankings of earlier runs."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from acqo_rl.evaluation.cache import WARM_UP, CachedRetriever
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.retrieval.composite import HybridRetriever
from acqo_rl.retrieval.load import describe
from acqo_rl.retrieval.settings import IndexSettings
from acqo_rl.roles import Retriever
from acqo_rl.searching.concurrent import flatten
from acqo_rl.searching.names import ORIGINAL, name_indexes
from acqo_rl.searching.sub_queries import RawQueryOnly, Retrievers, split_retrievers
from acqo_rl.types import Corpus


def has_dense(retrievers: Retrievers) -> bool:
    """Whether the scores of an index for sub-queries are cosines."""
    return any(index.cosine for index in flatten(split_retrievers(retrievers)[0]))


def fingerprints(retrievers: Retrievers) -> list[str]:
    """The fingerprint of each index."""
    return [index.fingerprint for some in split_retrievers(retrievers) for index in flatten(some)]


def cached(name: str, index: str, retriever: Retriever, file: Path) -> CachedRetriever:
    """The retriever of an index, with the rankings of earlier runs."""
    info = describe(index)
    return CachedRetriever(name, retriever, info.fingerprint, file, embeds=info.kind != "bm25")


def open_retrievers(
    indexes: Sequence[str], settings: IndexSettings, corpus: Corpus, file: Path
) -> dict[str, Retrievers]:
    """Retrievers by name; every index is opened once. Several for sub-queries form a hybrid, which merges by RSF.

    Args:
        indexes: the indexes, as ``--index`` of ``acqo evaluate`` takes them.
        settings: how they are opened.
        corpus: which the indexes must hold.
        file: keeps the rankings.
    """
    given = name_indexes(indexes)
    names = {parts[0]: name for name, parts in reversed(given.items()) if len(parts) == 1}

    @lru_cache
    def open_one(place: str) -> CachedRetriever:
        retriever = settings.open_index_of(place, corpus)
        retriever.search([WARM_UP], 1)
        return cached(names.get(place, place), place, retriever, file)

    def open_part(part: str) -> CachedRetriever:
        one = part.removesuffix(ORIGINAL)
        return open_one(given[one][0] if one in given else one)

    def together(name: str, parts: Sequence[str]) -> Retrievers:
        every = [open_part(part) for part in parts if not part.endswith(ORIGINAL)]
        merged = every[0] if len(every) == 1 else HybridRetriever(every, RankScoreFusion(), name=name)
        return [merged, *(RawQueryOnly(open_part(part)) for part in parts if part.endswith(ORIGINAL))]

    return {name: together(name, parts) for name, parts in given.items()}
