"""Documents that are longer than an encoder reads, as several passages each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.passage import passage_text
from acqo_rl.types import Document

_BATCH = 1024  # texts counted at once


class TokenCounter(Protocol):
    """An encoder that reads the first ``max_tokens`` of a text; ``None``: all of it."""

    @property
    def max_tokens(self) -> int | None:
        """Tokens that are read, those that the encoder adds included."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of passages, whether they are read or not."""
        ...


def long_documents(documents: Sequence[Document], encoder: TokenCounter) -> list[int]:
    """Positions of the documents whose ends the encoder does not read."""
    limit = encoder.max_tokens
    if limit is None:
        return []
    long: list[int] = []
    for start in range(0, len(documents), _BATCH):
        texts = [passage_text(document) for document in documents[start : start + _BATCH]]
        long += [start + i for i, tokens in enumerate(encoder.count_tokens(texts)) if tokens > limit]
    return long


def split_passages(documents: Sequence[Document], encoder: TokenCounter, long: Sequence[int]) -> list[Document]:
    """The documents, with several passages in place of each long one.

    A passage is a document with the id, title and metadata of the document that it is a part of. It ends at the end of
    a section or sentence where possible. A title of more than half an encoder's length is split with the text.

    Args:
        documents: of the corpus.
        encoder: counts tokens.
        long: positions of the documents that are split, see :func:`long_documents`.

    Raises:
        ConfigError: the encoder reads so few tokens that a passage has no room.
    """
    split = set(long)
    return [
        passage
        for i, document in enumerate(documents)
        for passage in (_passages(document, encoder) if i in split else [document])
    ]


def _passages(document: Document, encoder: TokenCounter) -> list[Document]:
    from semantic_text_splitter import TextSplitter

    def tokens(text: str) -> int:
        return encoder.count_tokens([passage_text(replace(document, text=text))])[0]

    limit = encoder.max_tokens
    assert limit is not None, document.id
    if tokens("") > limit / 2:
        document = replace(document, title="", text=passage_text(document))
    if tokens("") >= limit:
        raise ConfigError(
            f"The encoder reads {limit} tokens, all of which its prompt takes; raise max_length, or do not split."
        )
    chunks = TextSplitter.from_callback(tokens, limit).chunks(document.text)
    return [replace(document, text=chunk) for chunk in chunks] or [document]  # none of white space alone
