"""Searches queries that are longer than a dense encoder reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice

from acqo_rl.roles import Encoder
from acqo_rl.types import Passage, Ranking


def search_windows(
    encoder: Encoder, texts: Sequence[str], k: int, search: Callable[[Sequence[str]], list[Ranking]]
) -> list[Ranking]:
    """Searches a query that the encoder would truncate by its first and its last window; one call for all texts.

    Args:
        encoder: names the windows of a query.
        texts: queries, and passages, which are truncated as those of an index are.
        k: number of documents per text.
        search: returns one ranking per given text.

    Returns:
        One ranking per text. A document has its best score over the windows.
    """
    windows = [(text,) if isinstance(text, Passage) else encoder.windows(text) for text in texts]
    found = iter(search([window for its in windows for window in its]))
    return [_merged(text, list(islice(found, len(its))), k) for text, its in zip(texts, windows, strict=True)]


def best_scores(found: Iterable[tuple[str, float]]) -> dict[str, float]:
    """The best score of each document, in the order in which the documents first occur."""
    best: dict[str, float] = {}
    for doc_id, score in found:
        best[doc_id] = max(score, best.get(doc_id, score))
    return best


def _merged(text: str, rankings: Sequence[Ranking], k: int) -> Ranking:
    if len(rankings) == 1:
        return rankings[0]
    best = best_scores(pair for one in rankings for pair in zip(one.doc_ids, one.scores, strict=True))
    top = sorted(best.items(), key=lambda item: -item[1])[:k]
    doc_ids, scores = zip(*top, strict=True) if top else ((), ())
    return replace(rankings[0], doc_ids=doc_ids, scores=scores, query=text, windows=len(rankings))
