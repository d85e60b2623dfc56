"""Feedback for a policy: title and first words of the top results of a first search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from acqo_rl.errors import IndexMismatchError
from acqo_rl.roles import RemoteCorpus
from acqo_rl.text import one_line
from acqo_rl.types import Document, FeedbackSpec, Query, Ranking, Snippet

_TITLE_CHARACTERS, _WORD_CHARACTERS = 200, 16
"""Maximum characters of a title, and maximum mean characters per word including the space.

They prevent a document from filling the prompt.
"""


def with_feedback(
    queries: Sequence[Query], tops: Sequence[Ranking], corpus: Mapping[str, Document], feedback: FeedbackSpec
) -> list[Query]:
    """Adds the top documents of one ranking to each query as feedback."""
    fetch(corpus, [doc_id for top in tops for doc_id in top.doc_ids[: feedback.results]])
    return [replace(query, feedback=snippets(top, corpus, feedback)) for query, top in zip(queries, tops, strict=True)]


def snippets(ranking: Ranking, corpus: Mapping[str, Document], feedback: FeedbackSpec) -> tuple[Snippet, ...]:
    """Title and first words of the top documents; the words have at most 16 characters each on average."""
    return tuple(
        _snippet(document_of(corpus, doc_id), feedback.words) for doc_id in ranking.doc_ids[: feedback.results]
    )


def fetch(corpus: Mapping[str, Document], doc_ids: Sequence[str]) -> None:
    """Loads documents that are looked up next, with one call if they are in a search engine."""
    if isinstance(corpus, RemoteCorpus):
        corpus.fetch(doc_ids)


def document_of(corpus: Mapping[str, Document], doc_id: str) -> Document:
    """Looks up a document that a search returned.

    Raises:
        IndexMismatchError: the document is not in the corpus.
    """
    try:
        return corpus[doc_id]
    except KeyError:
        raise IndexMismatchError(
            f"The index returned document {doc_id!r}, which is not in the corpus ({len(corpus):,} documents). Index and"
            " corpus have different versions; build the index again from this corpus."
        ) from None


def _snippet(document: Document, words: int) -> Snippet:
    first_words = " ".join(one_line(document.text).split(" ")[:words])
    return Snippet(one_line(document.title)[:_TITLE_CHARACTERS], first_words[: words * _WORD_CHARACTERS])
