"""The details that every integration returns with a document."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from acqo_rl.pipeline.context import searched_texts, window
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.result import SearchResult
from acqo_rl.types import Corpus, Document

KEY = "acqo_rl"
"""Key of the details in the metadata of a framework's document; all other keys come from the document."""


def hits(found: SearchResult, corpus: Corpus, *, whole: bool = False) -> list[tuple[Document, dict[str, Any]]]:
    """The documents of a result with JSON-serialisable details, best first.

    The text of a long document is the part that matches the query best, see :func:`acqo_rl.pipeline.context.window`.
    Documents that a search engine no longer has are left out. The details are:

    - ``doc_id``, ``title`` and ``rank`` (from 1) of the document;
    - ``start``, the number of characters before its text in the whole document, which has ``length`` characters;
    - ``score``, which orders the documents, ``scored_by``, what it is from (the fusion, the order or the reranker), and
      ``similarity``, its best score in one list;
    - ``route``, the route of the query, and ``sub_queries``, the texts that were searched;
    - ``found_by``, the sub-queries whose lists contain the document;
    - ``problem``, the problem of the reformulation, or ``None``;
    - ``notes``, how the searches differ from the raw query;
    - ``failures``, the failed calls.

    Args:
        found: result of an :class:`acqo_rl.searching.searcher.AdaptiveSearcher`.
        corpus: document id -> document.
        whole: whether the texts of long documents are returned whole.
    """
    fused = found.fused
    searched = {
        "route": found.reformulation.route,
        "sub_queries": [sub_query.text for sub_query in found.reformulation.sub_queries],
        "problem": found.reformulation.problem,
        "notes": found.notes,
        "failures": [*map(str, found.failures)],
    }
    documents = fetch(corpus, fused.doc_ids)
    lists = [(ranking.query, set(ranking.doc_ids)) for ranking in found.rankings]
    about = searched_texts(found.reformulation)
    windows = {
        d: (0, one.text) if whole else window(one.text, about, span=fused.spans.get(d)) for d, one in documents.items()
    }
    scored = [hit for hit in zip(fused.doc_ids, fused.scores, fused.similarities, strict=True) if hit[0] in documents]
    return [
        (
            replace(documents[doc_id], text=windows[doc_id][1]),
            {
                "doc_id": doc_id,
                "title": documents[doc_id].title,
                "rank": rank,
                "start": windows[doc_id][0],
                "length": len(documents[doc_id].text),
                "score": score,
                "scored_by": fused.retriever,
                "similarity": similarity,
                **searched,
                "found_by": list(dict.fromkeys(query for query, doc_ids in lists if doc_id in doc_ids)),
            },
        )
        for rank, (doc_id, score, similarity) in enumerate(scored, start=1)
    ]


def metadata_of(document: Document, details: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata for a framework's document: title and metadata of the document, and the details under ``KEY``.

    A ``title`` in the document's metadata has priority. If the metadata already contains ``KEY``, for example from an
    inner search, its value moves to ``KEY`` inside the details.
    """
    own = document.metadata
    title = {"title": document.title} if document.title else {}
    return {**title, **own, KEY: {**details, KEY: own[KEY]} if KEY in own else dict(details)}
