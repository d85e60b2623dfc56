"""Searches several retrievers concurrently."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from acqo_rl.roles import Retriever
from acqo_rl.types import Ranking


def search_all(retrievers: Sequence[Retriever], texts: Sequence[str], k: int) -> list[tuple[Ranking, ...]]:
    """Returns the rankings of each text, one per retriever, in input order.

    Raises:
        ValueError: a retriever did not return one ranking per text.
        Exception: an exception of a retriever.
    """
    if len(retrievers) == 1:
        found = [retrievers[0].search(texts, k)]
    else:
        with ThreadPoolExecutor(max(len(retrievers), 1)) as pool:
            found = list(pool.map(lambda retriever: retriever.search(texts, k), retrievers))
    return [tuple(rankings) for _, *rankings in zip(texts, *found, strict=True)]
