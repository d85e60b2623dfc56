"""Splits documents that exceed an encoder's maximum length into passages."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.text import passage_text
from acqo_rl.types import Document, Span

_BATCH = 1024  # texts per tokenizer call


@dataclass(frozen=True, slots=True)
class Part(Document):
    """A part of a document; its ``span`` is 0, 0 if it is a part of the title."""

    span: Span = (0, 0)


def long_documents(documents: Sequence[Document], encoder: SentenceTransformerEncoder) -> list[int]:
    """Positions of the documents that the encoder would truncate."""
    limit = encoder.max_tokens
    if limit is None:
        return []
    long: list[int] = []
    for start in range(0, len(documents), _BATCH):
        texts = [passage_text(document) for document in documents[start : start + _BATCH]]
        long += [start + i for i, tokens in enumerate(encoder.count_tokens(texts)) if tokens > limit]
    return long


def split_passages(
    documents: Sequence[Document], encoder: SentenceTransformerEncoder, long: Sequence[int]
) -> list[Document]:
    """Replaces each long document by several passages.

    A passage is a :class:`Part` with the id, title and metadata of its document. It ends at the end of a section
    or a sentence where possible. A title of more than half the maximum length is split together with the text.

    Args:
        documents: the corpus.
        encoder: counts tokens.
        long: positions of the documents to split, see :func:`long_documents`.

    Raises:
        ConfigError: the encoder's prompt leaves no room for a passage.
    """
    split = set(long)
    return [
        passage
        for i, document in enumerate(documents)
        for passage in (_passages(document, encoder) if i in split else [document])
    ]


def _passages(document: Document, encoder: SentenceTransformerEncoder) -> list[Document]:
    from semantic_text_splitter import TextSplitter

    def tokens(text: str) -> int:
        return encoder.count_tokens([passage_text(replace(document, text=text))])[0]

    limit = encoder.max_tokens
    length = len(document.text)
    assert limit is not None, document.id
    if tokens("") > limit / 2:
        document = replace(document, title="", text=passage_text(document))
    if tokens("") >= limit:
        raise ConfigError(
            f"The encoder's prompt takes all of its {limit} tokens; raise max_length, or do not split documents."
        )
    title = len(document.text) - length  # characters of the title that is split together with the text
    return [
        Part(
            document.id,
            document.title,
            chunk,
            document.metadata,
            (max(0, start - title), max(0, start + len(chunk) - title)),
        )
        for start, chunk in TextSplitter.from_callback(tokens, limit).chunk_indices(document.text)
    ] or [document]  # a text of white space gives no chunks
