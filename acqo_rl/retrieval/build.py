"""Builds index folders.

    manifest.json  doc_ids.json  and  index.faiss (dense)  or  bm25/ (sparse);  shards/ only while a build runs
    fields.json: the metadata of the documents, for filters
    passages.npy  (dense): hashes of the passages, for updates
    spans.npy  (dense, with split documents): where the passage of each vector is in its document
    dense/  and  bm25/  (hybrid)

A folder with a manifest is complete and is never overwritten. Repeating the same build changes nothing; a different
build raises an error.
"""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acqo_rl.data.beir import corpus_hash
from acqo_rl.errors import DataError, IndexMismatchError, check_positive
from acqo_rl.files import atomic, write_atomic, writing
from acqo_rl.retrieval import faiss_index
from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.retrieval.fields import lines_of
from acqo_rl.retrieval.manifest import (
    BM25_NAME,
    FIELDS_NAME,
    FILE_NAME,
    IDS_NAME,
    INDEX_NAME,
    PASSAGES_NAME,
    SPANS_NAME,
    Bm25Settings,
    DenseSettings,
    Manifest,
    read_manifest,
    write_manifest,
)
from acqo_rl.retrieval.splitting import Part
from acqo_rl.retrieval.update import digests_of
from acqo_rl.roles import Encoder, Vectors
from acqo_rl.text import passage_text
from acqo_rl.types import Document


class Shards:
    """The embeddings of passages in files, so that builds can be resumed and shared by several processes.

    Shard ``i`` contains passages ``i * size`` to ``(i + 1) * size - 1``. The name of their folder is a hash of
    passages, encoder and size, so shards of another build are never reused.

    Attributes:
        corpus_hash: hash of the passages.
        folder: of the shards of all builds, in the folder of the index.
        total: number of shards.
    """

    def __init__(self, index: str | Path, passages: Sequence[Document], encoder: Encoder, size: int = 8192) -> None:
        """Plans the shards of an index folder; nothing is read or written.

        Raises:
            ConfigError: the size is less than 1.
        """
        check_positive("shard_size", size)
        self.corpus_hash = corpus_hash(passages)
        self.folder = Path(index, "shards")
        self.total = -(-len(passages) // size)
        self._passages = passages
        self._encoder = encoder
        self._size = size
        plan = f"{self.corpus_hash} {encoder.fingerprint} {encoder.dim} {len(passages)} {size}"
        self._own = self.folder / hashlib.sha256(plan.encode()).hexdigest()[:16]

    def missing(self) -> list[int]:
        """Numbers of the shards that are missing or incomplete."""
        return [number for number in range(self.total) if not self._is_complete(number)]

    def encode(self, rank: int = 0, processes: int = 1) -> None:
        """Encodes and writes the missing shards whose number is ``rank`` modulo ``processes``."""
        from tqdm import tqdm

        own = [number for number in self.missing() if number % processes == rank]
        for number in tqdm(own, desc="shards", unit=" shards", disable=len(own) < 2 or rank > 0):
            embeddings = self._encoder.encode_passages([*map(passage_text, self._in_shard(number))])
            _save(self._path(number), embeddings)

    def read(self) -> list[Vectors]:
        """Returns all shards, memory-mapped, in document order; none may be missing."""
        return [np.load(self._path(number), mmap_mode="r") for number in range(self.total)]

    def _in_shard(self, number: int) -> Sequence[Document]:
        return self._passages[number * self._size : (number + 1) * self._size]

    def _path(self, number: int) -> Path:
        return self._own / f"{number:06}.npy"

    def _is_complete(self, number: int) -> bool:
        """Whether a file is there, is not truncated and has the wanted shape."""
        try:
            shard: Vectors = np.load(self._path(number), mmap_mode="r")
        except (OSError, ValueError, EOFError):
            return False
        return shard.shape == (len(self._in_shard(number)), self._encoder.dim) and shard.dtype == np.float32


def build_dense_index(
    folder: str | Path,
    documents: Sequence[Document],
    encoder: Encoder,
    *,
    passages: Sequence[Document] | None = None,
    factory: str = "Flat",
    build_parameters: str = "",
    search_parameters: str = "",
    shard_size: int = 8192,
) -> Manifest:
    """Encodes the documents shard by shard and builds an index; resumes an interrupted build.

    Args:
        folder: created if it is missing.
        documents: the corpus.
        encoder: its ``encode_passages`` computes the vectors.
        passages: encoded instead of the documents, see :func:`acqo_rl.retrieval.splitting.split_passages`. Each
            document has one or more passages with its id, in the order of the documents. The score of a document is
            that of its best passage.
        factory: FAISS factory string, see ``faiss_index.make_index``.
        build_parameters: FAISS parameters for the build, such as ``efConstruction=200``. An HNSW graph is
            reproducible only with one thread (``OMP_NUM_THREADS=1``).
        search_parameters: FAISS parameters for searches, such as ``efSearch=128``. If empty, IVF indexes get a default
            ``nprobe``.
        shard_size: documents per shard; each shard is saved when it is encoded.

    Raises:
        ConfigError: FAISS does not know a setting, or there are too few vectors to train on.
        DataError: there are no documents, an id appears twice, or passages do not match the documents.
        IndexMismatchError: the folder contains another index.
    """
    folder = Path(folder)
    passages = documents if passages is None else passages
    shards = Shards(folder, passages, encoder, shard_size)
    digest = shards.corpus_hash if passages is documents else corpus_hash(documents)
    index = faiss_index.make_index(encoder.dim, factory, build_parameters)
    search_parameters = search_parameters or faiss_index.default_search_parameters(index)
    faiss_index.set_parameters(index, search_parameters)
    settings = DenseSettings(
        encoder=encoder.settings,
        encoder_fingerprint=encoder.fingerprint,
        dimension=encoder.dim,
        factory=factory,
        build_parameters=build_parameters,
        search_parameters=search_parameters,
        passages="" if digest == shards.corpus_hash else shards.corpus_hash,
    )
    wanted = Manifest(settings, len(documents), digest)
    if _is_finished(folder, wanted, documents):
        return read_manifest(folder)
    _check_documents(documents)
    doc_ids = [passage.id for passage in passages]
    if [doc_id for doc_id, _ in groupby(doc_ids)] != [document.id for document in documents]:
        raise DataError("The ids of the passages do not match the documents in their order; split the documents again.")
    shards.encode()
    faiss_index.fill(index, shards.read(), factory)
    folder.mkdir(parents=True, exist_ok=True)
    faiss_index.write_index(index, folder / INDEX_NAME)
    _save(folder / PASSAGES_NAME, digests_of([*map(passage_text, passages)]))
    if settings.passages:
        spans = [one.span if isinstance(one, Part) else (0, 0) for one in passages]
        _save(folder / SPANS_NAME, np.array(spans, np.int32))
    manifest = _finish(folder, wanted, doc_ids, documents)
    shutil.rmtree(shards.folder, ignore_errors=True)
    return manifest


def build_bm25_index(
    folder: str | Path, documents: Sequence[Document], *, language: str = "english", k1: float = 1.5, b: float = 0.75
) -> Manifest:
    """Builds a BM25 index of the documents.

    Args:
        folder: created if it is missing.
        documents: the corpus.
        language: language of stemmer and stop words.
        k1: term frequency saturation, at least 0.
        b: strength of the document length normalisation, 0 to 1.

    Raises:
        ConfigError: the language is unknown, or a parameter is out of range.
        DataError: there are no documents, they contain no words, or an id appears twice.
        IndexMismatchError: the folder contains another index.
    """
    folder = Path(folder)
    wanted = Manifest(Bm25Settings(language, k1, b), len(documents), corpus_hash(documents))
    if _is_finished(folder, wanted, documents):
        return read_manifest(folder)
    _check_documents(documents)
    doc_ids = [document.id for document in documents]
    texts = [passage_text(document) for document in documents]
    retriever = Bm25Retriever.build(texts, doc_ids, language=language, k1=k1, b=b)
    folder.mkdir(parents=True, exist_ok=True)
    with writing(folder / BM25_NAME):
        retriever.save(folder / BM25_NAME)
    return _finish(folder, wanted, doc_ids, documents)


def _is_finished(folder: Path, wanted: Manifest, documents: Sequence[Document]) -> bool:
    """Whether the folder already contains the complete index.

    Raises:
        IndexMismatchError: the folder contains another index.
    """
    if not (folder / FILE_NAME).exists():
        around = (folder.parent / FILE_NAME, *folder.glob(f"*/{FILE_NAME}"))  # a hybrid index has its parts in folders
        if other := next(filter(Path.exists, around), None):
            raise IndexMismatchError(f"{other.parent} contains another index; build into another folder than {folder}.")
        return False
    reasons = read_manifest(folder).differences(wanted)
    fields = folder / FIELDS_NAME
    if fields.exists() and fields.read_text(encoding="utf-8") != "\n".join([*lines_of(documents), ""]):
        reasons.append("the metadata of its documents")
    if reasons:
        raise IndexMismatchError(
            f"{folder} contains another index: {'; '.join(reasons)}. Build into another folder, or delete this one."
        )
    return True


def _save(path: Path, array: NDArray[Any]) -> None:
    """Writes a NumPy array atomically."""
    with atomic(path) as unfinished, unfinished.open("wb") as file:
        np.save(file, array)


def _finish(folder: Path, wanted: Manifest, doc_ids: Sequence[str], documents: Sequence[Document]) -> Manifest:
    write_atomic(folder / FIELDS_NAME, lines_of(documents))
    write_atomic(folder / IDS_NAME, [json.dumps(list(doc_ids))])
    return write_manifest(folder, wanted)


def _check_documents(documents: Sequence[Document]) -> None:
    """Checks that there are documents, and that each has its own id.

    Raises:
        DataError: it is otherwise.
    """
    if not documents:
        raise DataError("The corpus is empty; an index needs at least one document.")
    doc_id, times = Counter(document.id for document in documents).most_common(1)[0]
    if times > 1:
        raise DataError(f"The document id {doc_id!r} appears {times} times; ids must be unique.")
