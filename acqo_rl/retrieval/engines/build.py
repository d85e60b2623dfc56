"""Builds a collection in a search engine, and brings it up to date with a corpus."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from acqo_rl.data.beir import corpus_hash
from acqo_rl.errors import DataError, IndexMismatchError
from acqo_rl.retrieval.engines.calls import Calls
from acqo_rl.retrieval.engines.documents import EngineDocuments
from acqo_rl.retrieval.engines.location import read_location
from acqo_rl.retrieval.engines.opening import Note, connect, read_note, read_schema
from acqo_rl.retrieval.engines.rows import as_row
from acqo_rl.retrieval.passage import passage_text
from acqo_rl.roles import Encoder
from acqo_rl.types import Document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH = 256
"""Documents that are encoded and written together; an interrupted build loses at most these."""

_MOST_BYTES_OF_AN_ID = 2600
"""An index of PostgreSQL holds keys of 2,704 bytes, with their headers."""

_LEAST, _MOST = -(2**63), 2**64 - 1
"""Bounds of the whole numbers that all engines hold."""


def build_engine_index(
    index: str,
    documents: Sequence[Document],
    encoder: Encoder,
    *,
    embeddings: NDArray[np.float32] | None = None,
    update: bool = False,
    announce: Callable[[], None] = lambda: None,
) -> Note:
    """Writes a corpus into a collection, batch by batch; resumes an interrupted build.

    An interrupted update of a finished collection leaves one that can be searched: it holds some of the new documents
    and, because they are deleted last, all old ones. The same call goes on where the update ended.

    Args:
        index: location of the collection; created if it is missing.
        documents: the corpus.
        encoder: embeds the passages.
        embeddings: used instead of encoding, float32[documents, dim].
        update: if the collection holds another corpus, add and delete documents so that it holds this one. Only new
            and changed documents are encoded.
        announce: called before anything is written; not called if the collection already holds the corpus.

    Raises:
        DataError: there are no documents, an id appears twice, the embeddings have another shape, or the engine cannot
            hold a document. Nothing is changed.
        IndexMismatchError: the collection was not built by this package, has another encoder, or holds another corpus.
        SearchError: the engine does not answer. The same call goes on where this one ended.
    """
    location = read_location(index)
    wanted = Note(corpus_hash(documents), len(documents), encoder.dim, encoder.settings, encoder.fingerprint)
    calls = connect(location)
    _check(documents, encoder, embeddings, calls.engine.most_bytes)
    schema = read_schema(calls, location)
    found = _writable(location.shown, schema.note, wanted, update=update) if schema else None
    done = replace(wanted, finished=True)
    if found == done and not update:  # the hash of a corpus does not cover metadata
        return done
    announce()
    if not schema:
        calls(calls.engine.create, encoder.dim)
        calls(calls.engine.write_note, wanted.as_json())
    meanwhile = wanted
    if found and found.finished:  # neither the old nor the new corpus, but to be searched
        mixed = hashlib.sha256(f"{found.corpus_hash} {wanted.corpus_hash}".encode()).hexdigest()
        meanwhile = replace(found, corpus_hash=mixed)
    _bring_up_to_date(calls, documents, encoder, embeddings, meanwhile)
    calls(calls.engine.finish)
    calls(calls.engine.write_note, done.as_json())
    return done


def _writable(shown: str, note: str | None, wanted: Note, *, update: bool) -> Note:
    """The note of a collection that may be written to.

    Raises:
        IndexMismatchError: it may not be written to.
    """
    if note is None:
        raise IndexMismatchError(
            f"{shown} exists and was not built by acqo index, so it is not written to; build into another collection."
        )
    found = read_note(shown, note)
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
    return found


def _bring_up_to_date(
    calls: Calls,
    documents: Sequence[Document],
    encoder: Encoder,
    embeddings: NDArray[np.float32] | None,
    meanwhile: Note,
) -> None:
    from tqdm import tqdm

    there = {document.id: _digest(document) for document in EngineDocuments(calls).passages()}
    new = [row for row, document in enumerate(documents) if there.get(document.id) != _digest(document)]
    gone = sorted(there.keys() - {document.id for document in documents})
    is_noted = False
    for start in tqdm(range(0, len(new), _BATCH), "writing", unit=" batches", disable=len(new) <= _BATCH):
        batch = new[start : start + _BATCH]
        vectors = embeddings[batch] if embeddings is not None else _encoded([documents[row] for row in batch], encoder)
        if not is_noted:  # an encoder that does not work fails before anything is changed
            calls(calls.engine.write_note, meanwhile.as_json())
            is_noted = True
        rows = [{**as_row(documents[row]), "vector": v.tolist()} for row, v in zip(batch, vectors, strict=True)]
        calls(calls.engine.write, rows)
    if gone and not is_noted:
        calls(calls.engine.write_note, meanwhile.as_json())
    for start in range(0, len(gone), _BATCH):
        calls(calls.engine.delete, gone[start : start + _BATCH])


def _encoded(passages: Sequence[Document], encoder: Encoder) -> NDArray[np.float32]:
    return encoder.encode_passages([passage_text(passage) for passage in passages])


def _digest(document: Document) -> bytes:
    """Of everything that an engine stores of a document; the order of the metadata does not matter."""
    return hashlib.sha256(json.dumps(as_row(document), sort_keys=True).encode()).digest()


def _check(
    documents: Sequence[Document], encoder: Encoder, embeddings: NDArray[np.float32] | None, most_bytes: int
) -> None:
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
    for document in documents:
        if reason := _reason(document, most_bytes):
            raise DataError(f"The document {document.id[:80]!r} has {reason}, which the engine cannot hold.")


def _reason(document: Document, most_bytes: int) -> str:
    """Why an engine cannot hold a document; empty if it can."""
    row = as_row(document)
    passage, metadata = row["passage"], row["metadata"]
    size = len(passage.encode()) + len(json.dumps(metadata, ensure_ascii=False).encode())
    if size > most_bytes:
        return f"{size:,} bytes of title, text and metadata (the limit is {most_bytes:,}; split it)"
    if (size := len(document.id.encode())) > _MOST_BYTES_OF_AN_ID:
        return f"an id of {size:,} bytes (the limit is {_MOST_BYTES_OF_AN_ID:,})"
    for value in _values([document.id, passage, metadata]):
        if isinstance(value, str) and "\0" in value:
            return "the character NUL"
        if isinstance(value, int) and not _LEAST <= value <= _MOST:
            return f"the number {value} of more than 64 bits (write it as a text)"
    return ""


def _values(value: Any) -> Iterator[Any]:
    """All texts and numbers in a JSON value, with the names in objects."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for inner in value:
            yield from _values(inner)
    else:
        yield value
