"""Builds index folders and loads them.

    manifest.json  doc_ids.json  and  index.faiss (dense)  or  bm25/ (sparse);  shards/ only while a build runs

A folder with a manifest is complete and is never overwritten. Repeating the same build changes nothing; a different
build raises an error.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from acqo_rl.data.beir import corpus_hash
from acqo_rl.errors import ConfigError, DataError, IndexMismatchError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.retrieval import faiss_index
from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.retrieval.encoder import normalised
from acqo_rl.retrieval.encoders import load_encoder
from acqo_rl.retrieval.engines.location import is_engine
from acqo_rl.retrieval.engines.opening import open_collection, retriever_of
from acqo_rl.retrieval.faiss_index import FaissRetriever
from acqo_rl.retrieval.gpu import IndexDevice, to_device
from acqo_rl.retrieval.hybrid import HybridRetriever
from acqo_rl.retrieval.manifest import (
    FILE_NAME,
    Bm25Settings,
    DenseSettings,
    Manifest,
    package_versions,
    read_manifest,
    write_manifest,
)
from acqo_rl.retrieval.passage import passage_text
from acqo_rl.retrieval.places import is_url, parts_of
from acqo_rl.retrieval.remote import CircuitBreaker, RemoteRetriever, describe
from acqo_rl.retrieval.shards import FOLDER_NAME, Shards
from acqo_rl.retrieval.words import version_of
from acqo_rl.roles import Encoder, Retriever
from acqo_rl.types import Document

if TYPE_CHECKING:
    from numpy.typing import NDArray

_INDEX = "index.faiss"
_IDS = "doc_ids.json"
_BM25 = "bm25"
_PATIENT_ATTEMPTS = 30  # calls of a retriever server, about a minute: the pauses grow to a mean of 2.5 s
_ROWS = 65_536  # precomputed embeddings per block


def dense_settings(
    encoder: Encoder, *, factory: str = "Flat", build_parameters: str = "", search_parameters: str = ""
) -> DenseSettings:
    """Creates and checks the settings of a dense index.

    Args:
        encoder: embeds passages and queries.
        factory: FAISS factory string, see ``faiss_index.make_index``.
        build_parameters: FAISS parameters for the build, such as ``efConstruction=200``.
        search_parameters: FAISS parameters for searches, such as ``efSearch=128``. If empty, IVF indexes get a default
            ``nprobe``.

    Raises:
        ConfigError: FAISS does not know the factory string or a parameter.
    """
    index = faiss_index.make_index(encoder.dim, factory, build_parameters)
    search_parameters = search_parameters or faiss_index.default_search_parameters(factory, encoder.dim)
    faiss_index.set_parameters(index, search_parameters)
    return DenseSettings(
        encoder=encoder.settings,
        encoder_fingerprint=encoder.fingerprint,
        dimension=encoder.dim,
        factory=factory,
        build_parameters=build_parameters,
        search_parameters=search_parameters,
    )


def plan_shards(folder: str | Path, documents: Sequence[Document], encoder: Encoder, shard_size: int = 8192) -> Shards:
    """Plans the embedding shards of a dense index, so that several processes can encode them.

    Each process calls ``encode`` on the result; then one process calls ``build_dense_index``. If documents are split,
    ``documents`` are their passages.
    """
    digest = corpus_hash(documents)
    return Shards(Path(folder), digest, encoder.fingerprint, encoder.dim, len(documents), shard_size)


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
    threads: int | None = None,
) -> Manifest:
    """Encodes the documents shard by shard and builds an index; resumes an interrupted build.

    Args:
        folder: created if it is missing.
        documents: the corpus.
        encoder: its ``encode_passages`` computes the vectors.
        passages: encoded instead of the documents, see :func:`acqo_rl.retrieval.splitting.split_passages`. Each
            document has one or more passages with its id, in the order of the documents. The score of a document is
            that of its best passage.
        factory: FAISS factory string, see ``dense_settings``.
        build_parameters: FAISS parameters for the build, see ``dense_settings``.
        search_parameters: FAISS parameters for searches, see ``dense_settings``.
        shard_size: documents per shard; each shard is saved when it is encoded.
        threads: number of FAISS threads. An HNSW graph is reproducible only with one thread.

    Raises:
        ConfigError: FAISS does not know a setting, or there are too few vectors to train on.
        DataError: there are no documents, an id appears twice, or the passages do not match the documents.
        IndexMismatchError: the folder contains another index.
    """
    folder = Path(folder)
    passages = documents if passages is None else passages
    shards = plan_shards(folder, passages, encoder, shard_size)
    doc_ids = [document.id for document in documents]
    settings = dense_settings(
        encoder, factory=factory, build_parameters=build_parameters, search_parameters=search_parameters
    )
    digest = shards.corpus_hash if passages is documents else corpus_hash(documents)
    if digest != shards.corpus_hash:
        settings = replace(settings, passages=shards.corpus_hash)
    wanted = Manifest(settings, len(doc_ids), digest)
    if is_finished(folder, wanted):
        return read_manifest(folder)
    _check_ids(doc_ids)
    ids_of_passages = [passage.id for passage in passages]
    if _without_repetition(ids_of_passages) != doc_ids:
        raise DataError("The ids of the passages do not match the documents in their order; split the documents again.")
    shards.encode(passages, encoder)
    manifest = _write_dense(folder, wanted, settings, shards.read(), ids_of_passages, threads)
    shutil.rmtree(folder / FOLDER_NAME)
    return manifest


def build_embeddings_index(
    folder: str | Path,
    embeddings: NDArray[np.floating],
    doc_ids: Sequence[str],
    encoder: Encoder,
    *,
    corpus: Sequence[Document] | None = None,
    factory: str = "Flat",
    build_parameters: str = "",
    search_parameters: str = "",
    threads: int | None = None,
) -> Manifest:
    """Builds an index of precomputed embeddings, after L2 normalisation.

    Args:
        folder: created if it is missing.
        embeddings: float[documents, dim]; may be memory-mapped.
        doc_ids: one id per row.
        encoder: embeds the queries; must be the model that computed the embeddings.
        corpus: the documents, if available. Their hash is recorded, so that an index of another version of the corpus
            is detected.
        factory: FAISS factory string, see ``dense_settings``.
        build_parameters: FAISS parameters for the build, see ``dense_settings``.
        search_parameters: FAISS parameters for searches, see ``dense_settings``.
        threads: number of FAISS threads.

    Raises:
        ConfigError: FAISS does not know a setting, or there are too few vectors to train on.
        DataError: embeddings, ids, corpus and encoder do not match.
        IndexMismatchError: the folder contains another index.
    """
    if embeddings.ndim != 2 or embeddings.shape != (len(doc_ids), encoder.dim):
        raise DataError(
            f"The embeddings have the shape {embeddings.shape}; for {len(doc_ids)} ids and this encoder it must be"
            f" {(len(doc_ids), encoder.dim)}."
        )
    if corpus is not None:
        given = [unicodedata.normalize("NFC", doc_id) for doc_id in doc_ids]
        if [unicodedata.normalize("NFC", document.id) for document in corpus] != given:
            raise DataError("The ids of the embeddings do not match the corpus in its order; encode the corpus again.")
        doc_ids = [document.id for document in corpus]
    _check_ids(doc_ids)
    settings = dense_settings(
        encoder, factory=factory, build_parameters=build_parameters, search_parameters=search_parameters
    )
    digest = _embeddings_hash(embeddings, doc_ids) if corpus is None else corpus_hash(corpus)
    wanted = Manifest(settings, len(doc_ids), digest)
    if is_finished(Path(folder), wanted):
        return read_manifest(Path(folder))
    rows = range(0, len(doc_ids), _ROWS)
    blocks = [normalised(np.asarray(embeddings[start : start + _ROWS], dtype=np.float32)) for start in rows]
    return _write_dense(Path(folder), wanted, settings, blocks, doc_ids, threads)


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
    doc_ids = [document.id for document in documents]
    wanted = Manifest(Bm25Settings(language, k1, b, version_of(language)), len(documents), corpus_hash(documents))
    if is_finished(folder, wanted):
        return read_manifest(folder)
    _check_ids(doc_ids)
    texts = [passage_text(document) for document in documents]
    retriever = Bm25Retriever.build(texts, doc_ids, language=language, k1=k1, b=b)
    folder.mkdir(parents=True, exist_ok=True)
    retriever.save(folder / _BM25)
    return _finish(folder, wanted, doc_ids)


def is_finished(folder: Path, wanted: Manifest) -> bool:
    """Whether the folder already contains the complete index.

    Raises:
        IndexMismatchError: the folder contains another index.
    """
    if not (folder / FILE_NAME).exists():
        if wanted.kind != "hybrid" and (parts := sorted(folder.glob(f"*/{FILE_NAME}"))):
            raise IndexMismatchError(
                f"{folder} contains a part of a hybrid index ({parts[0].parent.name}); build into another folder."
            )
        return False
    if reasons := read_manifest(folder).differences(wanted):
        raise IndexMismatchError(
            f"{folder} contains another index: {'; '.join(reasons)}. Build into another folder, or delete this one."
        )
    return True


def load_retriever(
    folder: str | Path,
    *,
    encoder: Encoder | None = None,
    device: IndexDevice = "auto",
    float16: bool = False,
    mmap: bool = False,
    threads: int | None = None,
    search_parameters: str = "",
    expected_corpus_hash: str | None = None,
    remote_timeout: float | None = None,
) -> Retriever:
    """Loads an index, or several indexes as one hybrid.

    Args:
        folder: an index folder, the URL of a retriever server, a collection of a search engine, or several of these
            joined by ``+``. Several indexes are merged by RSF, with 100 documents of each per text. The settings below
            do not apply to the index of a server, except ``expected_corpus_hash`` and ``remote_timeout``.
        encoder: the index's encoder, if it is already loaded; by default it is loaded from the manifest's settings.
        device: device of a dense index, see ``acqo_rl.retrieval.gpu.to_device``.
        float16: use half precision on the GPU, see ``acqo_rl.retrieval.gpu.to_device``.
        mmap: map the index from disk instead of reading it; the device ``auto`` then means ``cpu``.
        threads: number of threads per search.
        search_parameters: FAISS parameters that replace those of the manifest.
        expected_corpus_hash: ``acqo_rl.data.beir.corpus_hash`` of the corpus to search.
        remote_timeout: time limit of a search on a server over all attempts, and of a call of an encoder on a server.
            By default both are retried for about a minute, so that a training run survives a restart of the server.

    Raises:
        ConfigError: a setting is unknown, the device cannot hold the index, or two joined indexes have the same kind.
        IndexMismatchError: the index is incomplete, damaged, or built from another corpus or with another encoder.
        SearchError: a server does not answer.
    """
    place, *others = parts_of(folder)
    if others:
        describe(str(folder))  # raises an error if the parts have different corpora
        load = partial(
            load_retriever,
            encoder=encoder,
            device=device,
            float16=float16,
            mmap=mmap,
            threads=threads,
            search_parameters=search_parameters,
            expected_corpus_hash=expected_corpus_hash,
            remote_timeout=remote_timeout,
        )
        return _joined(folder, [load(part) for part in (place, *others)])
    if is_engine(place):
        opened = open_collection(place, remote_timeout)
        _check_corpus(opened.location.shown, opened.note.corpus_hash if opened.note else None, expected_corpus_hash)
        return retriever_of(opened, encoder, remote_timeout)
    if is_url(place):
        return _connect(place, expected_corpus_hash, remote_timeout)
    folder = Path(place)
    manifest = read_manifest(folder)
    _check_corpus(folder, manifest.corpus_hash, expected_corpus_hash)
    doc_ids = _read_ids(folder, manifest)
    settings = manifest.settings
    if isinstance(settings, Bm25Settings):
        return Bm25Retriever.load(
            folder / _BM25, doc_ids, language=settings.language, mmap=mmap, fingerprint=manifest.fingerprint
        )
    assert isinstance(settings, DenseSettings), folder
    index = faiss_index.read_index(folder / _INDEX, mmap=mmap)
    faiss_index.set_parameters(index, search_parameters or settings.search_parameters)
    index = to_device(index, "cpu" if mmap and device == "auto" else device, float16=float16)
    encoder = _fitting_encoder(folder, settings, encoder, remote_timeout)
    return FaissRetriever(index, doc_ids, encoder, threads=threads, fingerprint=manifest.fingerprint)


def _joined(index: str | Path, parts: Sequence[Retriever]) -> HybridRetriever:
    kinds = [part.name for part in parts]
    if len(set(kinds)) < len(kinds):
        raise ConfigError(
            f"{index} joins indexes of the same kind ({', '.join(kinds)}); join one dense and one BM25 index."
        )
    return HybridRetriever(parts, RankScoreFusion())


def _connect(url: str, expected_corpus_hash: str | None, seconds: float | None) -> RemoteRetriever:
    """Creates a client whose rankings have the same ``retriever`` name as the index loaded in this process."""
    info = describe(url)
    _check_corpus(url, info.corpus_hash, expected_corpus_hash)
    known: dict[str, Any] = {"name": info.kind, "fingerprint": info.fingerprint, "cosine": info.kind == "dense"}
    if seconds is not None:
        return RemoteRetriever(url, seconds=seconds, **known)
    return RemoteRetriever(url, attempts=_PATIENT_ATTEMPTS, breaker=CircuitBreaker(failures=sys.maxsize), **known)


def _check_corpus(index: str | Path, seen: str | None, wanted: str | None) -> None:
    if seen is not None and wanted is not None and seen != wanted:
        raise IndexMismatchError(
            f"{index} was built from another corpus or another version of it (its corpus hash is {seen[:8]}, expected"
            f" {wanted[:8]}); build an index from this corpus."
        )


def _fitting_encoder(folder: Path, settings: DenseSettings, encoder: Encoder | None, seconds: float | None) -> Encoder:
    if encoder is None:
        if settings.encoder is None:
            raise IndexMismatchError(f"{folder} has no settings to load its encoder; give the argument encoder.")
        encoder = load_encoder(settings.encoder, seconds)
    if encoder.fingerprint != settings.encoder_fingerprint:
        raise IndexMismatchError(
            f"{folder} was built with another encoder: {settings.encoder or settings.encoder_fingerprint}, expected"
            f" {encoder.settings or encoder.fingerprint}. If model, revision, prompts, dtype and max_length"
            " are equal, the files of the model have changed. Build an index with this encoder."
        )
    return encoder


def _write_dense(
    folder: Path,
    wanted: Manifest,
    settings: DenseSettings,
    blocks: Sequence[NDArray[np.float32]],
    doc_ids: Sequence[str],
    threads: int | None,
) -> Manifest:
    faiss_index.use_threads(threads)
    index = faiss_index.make_index(settings.dimension, settings.factory, settings.build_parameters)
    faiss_index.fill(index, blocks, settings.factory)
    folder.mkdir(parents=True, exist_ok=True)
    faiss_index.write_index(index, folder / _INDEX)
    return _finish(folder, wanted, doc_ids)


def _finish(folder: Path, wanted: Manifest, doc_ids: Sequence[str]) -> Manifest:
    unfinished = folder / f"{_IDS}.tmp"
    unfinished.write_text(json.dumps(list(doc_ids)), encoding="utf-8")
    os.replace(unfinished, folder / _IDS)
    paths = [folder / _IDS, *(folder.glob(_INDEX)), *sorted(folder.glob(f"{_BM25}/*"))]
    files = {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}
    manifest = replace(wanted, files=files, packages=package_versions())
    write_manifest(folder, manifest)
    return manifest


def _read_ids(folder: Path, manifest: Manifest) -> list[str]:
    try:
        doc_ids: list[str] = json.loads((folder / _IDS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise IndexMismatchError(f"{folder / _IDS} cannot be read ({error}); build the index again.") from error
    count = len(_without_repetition(doc_ids))
    if count != manifest.document_count:
        raise IndexMismatchError(
            f"{folder / _IDS} contains {count} ids, expected {manifest.document_count}; build the index again."
        )
    return doc_ids


def _without_repetition(doc_ids: Sequence[str]) -> list[str]:
    """The ids with consecutive repetitions removed: one id per document, because its passages are adjacent."""
    return [doc_id for doc_id, _ in groupby(doc_ids)]


def _check_ids(doc_ids: Sequence[str]) -> None:
    if not doc_ids:
        raise DataError("The corpus is empty; an index needs at least one document.")
    doc_id, times = Counter(doc_ids).most_common(1)[0]
    if times > 1:
        raise DataError(f"The document id {doc_id!r} appears {times} times; ids must be unique.")


def _embeddings_hash(embeddings: NDArray[np.floating], doc_ids: Sequence[str]) -> str:
    digest = hashlib.sha256(json.dumps(list(doc_ids)).encode())
    for start in range(0, len(doc_ids), _ROWS):
        digest.update(np.ascontiguousarray(embeddings[start : start + _ROWS]).tobytes())
    return digest.hexdigest()
