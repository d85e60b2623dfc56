"""Builds a collection in a search engine, and brings it up to date with a corpus."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from acqo_rl.data.beir import corpus_hash
from acqo_rl.errors import DataError, IndexMismatchError
from acqo_rl.retrieval.engines.calls import Calls, reported
from acqo_rl.retrieval.engines.engine import Schema
from acqo_rl.retrieval.engines.location import read_location
from acqo_rl.retrieval.engines.note import Note, read_note
from acqo_rl.retrieval.engines.opening import connect
from acqo_rl.retrieval.passage import passage_text
from acqo_rl.types import Document, Encoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH = 256
"""Documents that are encoded and written together; an interrupted build loses at most these."""


def build_engine_index(
    index: str,
    documents: Sequence[Document],
    encoder: Encoder,
    *,
    embeddings: NDArray[np.float32] | None = None,
    update: bool = False,
) -> Note:
    """Writes a corpus into a collection, batch by batch; resumes an interrupted build.

    Args:
        index: location of the collection; created if it is missing.
        documents: the corpus.
        encoder: embeds the passages.
        embeddings: used instead of encoding, float32[documents, dim].
        update: if the collection holds another corpus, add and delete documents so that it holds this one. Only new
            and changed documents are encoded.

    Raises:
        DataError: there are no documents, an id appears twice, or the embeddings have another shape.
        IndexMismatchError: the collection was not built by this package, has another encoder, or holds another corpus.
        SearchError: the engine does not answer. The same call goes on where this one ended.
    """
    location = read_location(index)
    _check(documents, encoder, embeddings)
    settings = getattr(encoder, "settings", None)
    wanted = Note(corpus_hash(documents), len(documents), encoder.dim, settings, encoder.fingerprint)
    calls = connect(location)
    schema = calls(calls.engine.schema)
    if schema is None:
        calls(calls.engine.create, encoder.dim)
    elif _is_finished(location.shown, schema, wanted, update=update):
        return wanted.done()
    calls(calls.engine.write_note, wanted.as_dict())
    _bring_up_to_date(calls, documents, encoder, embeddings)
    calls(calls.engine.finish)
    calls(calls.engine.write_note, wanted.done().as_dict())
    return wanted.done()


def _is_finished(shown: str, schema: Schema, wanted: Note, *, update: bool) -> bool:
    """Whether the collection holds the corpus already.

    Raises:
        IndexMismatchError: it may not be written to.
    """
    if schema.note is None:
        raise IndexMismatchError(
            f"{shown} exists and was not built by acqo index, so it is not written to; build into another collection."
        )
    found = read_note(shown, schema.note)
    if found.encoder_fingerprint != wanted.encoder_fingerprint or found.dimension != wanted.dimension:
        raise IndexMismatchError(
            f"{shown} was built with another encoder ({found.encoder or found.encoder_fingerprint}); build into another"
            " collection."
        )
    if found.corpus_hash != wanted.corpus_hash and not update:
        raise IndexMismatchError(
            f"{shown} holds another corpus ({found.document_count:,} documents, given {wanted.document_count:,}). Add"
            " --update True to add and delete documents so that it holds this one, or build into another collection."
        )
    return found == wanted.done() and not update  # the hash of a corpus does not cover metadata


def _bring_up_to_date(
    calls: Calls, documents: Sequence[Document], encoder: Encoder, embeddings: NDArray[np.float32] | None
) -> None:
    from tqdm import tqdm

    with reported(calls.shown, calls.engine.errors):
        there = {document.id: _digest(document) for document in calls.engine.scan()}
    rows = [row for row, document in enumerate(documents) if there.get(document.id) != _digest(document)]
    gone = sorted(there.keys() - {document.id for document in documents})
    for start in range(0, len(gone), _BATCH):
        calls(calls.engine.delete, gone[start : start + _BATCH])
    starts = range(0, len(rows), _BATCH)
    for start in tqdm(starts, desc="writing", unit=" batches", disable=len(starts) < 2):
        batch = rows[start : start + _BATCH]
        passages = [documents[row] for row in batch]
        texts = [passage_text(passage) for passage in passages]
        vectors = encoder.encode_passages(texts) if embeddings is None else embeddings[batch]
        calls(calls.engine.write, passages, vectors)


def _digest(document: Document) -> bytes:
    """Of everything that an engine stores of a document; the order of the metadata does not matter."""
    row = {**asdict(document), "metadata": dict(document.metadata)}
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).digest()


def _check(documents: Sequence[Document], encoder: Encoder, embeddings: NDArray[np.float32] | None) -> None:
    if not documents:
        raise DataError("The corpus is empty; an index needs at least one document.")
    doc_id, times = Counter(document.id for document in documents).most_common(1)[0]
    if times > 1:
        raise DataError(f"The document id {doc_id!r} appears {times} times; ids must be unique.")
    if embeddings is not None and embeddings.shape != (len(documents), encoder.dim):
        raise DataError(
            f"The embeddings have the shape {embeddings.shape}; for {len(documents)} documents and this encoder it must"
            f" be {(len(documents), encoder.dim)}."
        )
