"""Feedback for a policy: title and first words of the top results of a first search."""

from collections.abc import Sequence
from dataclasses import replace

from acqo_rl.errors import IndexMismatchError
from acqo_rl.roles import RemoteCorpus
from acqo_rl.text import one_line
from acqo_rl.types import Corpus, Document, FeedbackSpec, Query, Ranking, Snippet

_TITLE_CHARACTERS, _WORD_CHARACTERS = 200, 16
"""Maximum characters of a title, and maximum mean characters per word including the space.

They prevent a document from filling the prompt.
"""


def with_feedback(
    queries: Sequence[Query], tops: Sequence[Ranking], corpus: Corpus, feedback: FeedbackSpec
) -> list[Query]:
    """Adds title and first words of the top documents of one ranking to each query; 16 characters a word on average."""
    tops = [top.first(feedback.results) for top in tops]
    documents = fetch(corpus, [doc_id for top in tops for doc_id in top.doc_ids])
    return [
        replace(
            query,
            feedback=tuple(_snippet(documents[d], feedback.words) for d in top.doc_ids if d in documents),
        )
        for query, top in zip(queries, tops, strict=True)
    ]


def fetch(corpus: Corpus, doc_ids: Sequence[str]) -> dict[str, Document]:
    """Looks up documents that a search returned, in the given order; a search engine is called once.

    A ranking may be older than the documents of a search engine. Those that were deleted since, or moved out of the
    part that may be seen, are left out.

    Raises:
        IndexMismatchError: a document is not in a corpus that is not in a search engine.
    """
    if isinstance(corpus, RemoteCorpus):
        found = corpus.fetch(doc_ids)
        return {doc_id: found[doc_id] for doc_id in doc_ids if doc_id in found}
    try:
        return {doc_id: corpus[doc_id] for doc_id in doc_ids}
    except KeyError as error:
        raise IndexMismatchError(
            f"The index returned document {error.args[0]!r}, which is not in the corpus ({len(corpus):,} documents)."
            " Index and corpus have different versions; build the index again from this corpus."
        ) from None


def _snippet(document: Document, words: int) -> Snippet:
    first_words = " ".join(one_line(document.text).split(" ")[:words])
    return Snippet(one_line(document.title)[:_TITLE_CHARACTERS], first_words[: words * _WORD_CHARACTERS])
