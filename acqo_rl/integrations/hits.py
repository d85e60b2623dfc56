"""What every integration tells of a document that was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acqo_rl.pipeline.searcher import Found
from acqo_rl.search import document_of
from acqo_rl.types import Document


def hits(found: Found, corpus: Mapping[str, Document]) -> list[tuple[Document, dict[str, Any]]]:
    """The documents of a result, best first, each with metadata that JSON can hold.

    ``doc_id``, ``title`` and ``rank`` (from 1); ``score`` of the fusion (how the lists agree) and ``similarity`` (the
    best score of a retriever); the ``route`` of the query and the ``sub_queries`` that were searched, those among them
    whose lists hold the document (``found_by``); ``problem``, why the query was searched as it stands where that was
    not wanted, and ``failures``, what did not come back: ``None`` and empty when all is well. The metadata that the
    document has in the corpus is there too; where a key is one of these, this one's value stays.

    Args:
        found: of an :class:`acqo_rl.pipeline.searcher.AdaptiveSearcher`.
        corpus: document id -> document.
    """
    fused = found.fused
    searched = {
        "route": found.reformulation.route,
        "sub_queries": [sub_query.text for sub_query in found.reformulation.sub_queries],
        "problem": found.reformulation.problem,
        "failures": failures(found),
    }
    found_by: dict[str, dict[str, None]] = {doc_id: {} for doc_id in fused.doc_ids}
    for ranking in found.rankings:
        for doc_id in found_by.keys() & ranking.doc_ids:
            found_by[doc_id][ranking.query] = None
    scored = zip(fused.doc_ids, fused.scores, fused.similarities, strict=True)
    documents = [document_of(corpus, doc_id) for doc_id in fused.doc_ids]
    return [
        (
            document,
            {
                **document.metadata,
                "doc_id": doc_id,
                "title": document.title,
                "rank": rank,
                "score": score,
                "similarity": similarity,
                **searched,
                "found_by": list(found_by[doc_id]),
            },
        )
        for rank, (document, (doc_id, score, similarity)) in enumerate(zip(documents, scored, strict=True), start=1)
    ]


def failures(found: Found) -> list[str]:
    """What did not come back, in words; empty when all is well."""
    return [f"{' '.join(filter(None, (f.step, f.retriever)))}: {f.reason}" for f in found.failures]
