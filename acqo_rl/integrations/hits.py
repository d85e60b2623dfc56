"""What every integration tells of a document that was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acqo_rl.searching.feedback import document_of, fetch
from acqo_rl.searching.result import SearchResult
from acqo_rl.types import Document

KEY = "acqo_rl"
"""Where the metadata of a framework's document holds what is told of it; all other keys are the document's own."""


def hits(found: SearchResult, corpus: Mapping[str, Document]) -> list[tuple[Document, dict[str, Any]]]:
    """The documents of a result, best first, each with what is told of it, which JSON can hold.

    ``doc_id``, ``title`` and ``rank`` (from 1); ``score`` of the fusion (how the lists agree) and ``similarity`` (the
    best score of a retriever); the ``route`` of the query and the ``sub_queries`` that were searched, those among them
    whose lists hold the document (``found_by``); ``problem``, why the query was searched as it stands where that was
    not wanted, and ``failures``, what did not come back: ``None`` and empty when all is well.

    Args:
        found: of an :class:`acqo_rl.searching.searcher.AdaptiveSearcher`.
        corpus: document id -> document.
    """
    fused = found.fused
    searched = {
        "route": found.reformulation.route,
        "sub_queries": [sub_query.text for sub_query in found.reformulation.sub_queries],
        "problem": found.reformulation.problem,
        "failures": failures(found),
    }
    fetch(corpus, fused.doc_ids)
    found_by: dict[str, dict[str, None]] = {doc_id: {} for doc_id in fused.doc_ids}
    for ranking in found.rankings:
        for doc_id in found_by.keys() & ranking.doc_ids:
            found_by[doc_id][ranking.query] = None
    scored = zip(fused.doc_ids, fused.scores, fused.similarities, strict=True)
    return [
        (
            document_of(corpus, doc_id),
            {
                "doc_id": doc_id,
                "title": document_of(corpus, doc_id).title,
                "rank": rank,
                "score": score,
                "similarity": similarity,
                **searched,
                "found_by": list(found_by[doc_id]),
            },
        )
        for rank, (doc_id, score, similarity) in enumerate(scored, start=1)
    ]


def metadata_of(document: Document, told: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a framework's document: the document's own, its title, and what is told of it under ``KEY``.

    A title that the metadata holds stays. So does a value under ``KEY``, such as that of an inner search: it moves to
    the same key of what is told.
    """
    own = document.metadata
    titled = {"title": document.title} if document.title else {}
    return {**titled, **own, KEY: {**told, KEY: own[KEY]} if KEY in own else dict(told)}


def failures(found: SearchResult) -> list[str]:
    """What did not come back, in words; empty when all is well."""
    return [f"{' '.join(filter(None, (f.step, f.retriever)))}: {f.reason}" for f in found.failures]
