"""Builds a collection in a search engine, and brings it up to date with a corpus."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from acqo_rl.data.beir import corpus_hash
from acqo_rl.errors import IndexMismatchError
from acqo_rl.retrieval.build import check_documents
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


def build_engine_index(
    index: str,
    documents: Sequence[Document],
    encoder: Encoder,
    *,
    embeddings: NDArray[np.float32] | None = None,
    update: bool = False,
    announce: Callable[[], None] = lambda: None,
) -> Note:
    """Writes a corpus into a collection, batch by batch; the same call continues an interrupted build or update.

    Args:
        index: location of the collection; created if it is missing.
        documents: the corpus.
        encoder: embeds the passages.
        embeddings: used instead of encoding, float32[documents, dim].
        update: if the collection holds another corpus, add and delete documents so that it holds this one. Only new
            and changed documents are encoded. Until the update is finished, the collection cannot be opened.
        announce: called before anything is written; not called if the collection already holds the corpus.

    Raises:
        DataError: there are no documents, an id appears twice, or the embeddings have another shape.
        IndexMismatchError: the collection was not built by this package, has another encoder, or holds another corpus.
        SearchError: the engine does not answer, or cannot store a document.
    """
    from tqdm import tqdm

    check_documents(documents, encoder, embeddings)
    location = read_location(index)
    wanted = Note(
        corpus_hash=corpus_hash(documents),
        document_count=len(documents),
        dimension=encoder.dim,
        encoder=encoder.settings,
        encoder_fingerprint=encoder.fingerprint,
    )
    done = wanted.model_copy(update={"finished": True})
    calls = connect(location)
    engine = calls.engine
    if schema := read_schema(calls, location):
        found = _writable(location.shown, schema.note, wanted, update=update)
        if found == done and not update:  # the hash of a corpus does not cover metadata
            return done
    announce()
    if not schema:
        calls(engine.create, encoder.dim)
    calls(engine.write_note, wanted.model_dump_json())
    there = {document.id: _digest(document) for document in EngineDocuments(calls).passages()}
    new = [row for row, document in enumerate(documents) if there.get(document.id) != _digest(document)]
    gone = sorted(there.keys() - {document.id for document in documents})
    for start in tqdm(range(0, len(new), _BATCH), "writing", unit=" batches", disable=len(new) <= _BATCH):
        batch = new[start : start + _BATCH]
        given = [documents[row] for row in batch]
        vectors = encoder.encode_passages([*map(passage_text, given)]) if embeddings is None else embeddings[batch]
        rows = [{**as_row(d), "vector": vector.tolist()} for d, vector in zip(given, vectors, strict=True)]
        calls(engine.write, rows)
    for start in range(0, len(gone), _BATCH):
        calls(engine.delete, gone[start : start + _BATCH])
    calls(engine.finish)
    calls(engine.write_note, done.model_dump_json())
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


def _digest(document: Document) -> bytes:
    """Of everything that an engine stores of a document; the order of the metadata does not matter."""
    return hashlib.sha256(json.dumps(as_row(document), sort_keys=True).encode()).digest()
