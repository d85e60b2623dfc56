"""Loads indexes: folders, servers, collections of search engines, and several of these as one hybrid."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from acqo_rl.addresses import Address
from acqo_rl.errors import ConfigError, IndexMismatchError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.retrieval import faiss_index
from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.retrieval.encoders import fitting_encoder
from acqo_rl.retrieval.engines.location import is_engine
from acqo_rl.retrieval.engines.opening import open_collection, retriever_of
from acqo_rl.retrieval.faiss_index import FaissRetriever
from acqo_rl.retrieval.gpu import IndexDevice, to_device
from acqo_rl.retrieval.hybrid import HybridRetriever
from acqo_rl.retrieval.manifest import (
    BM25_NAME,
    IDS_NAME,
    INDEX_NAME,
    Bm25Settings,
    DenseSettings,
    Manifest,
    check_contents,
    read_manifest,
)
from acqo_rl.retrieval.places import is_url, parts_of
from acqo_rl.retrieval.remote import RemoteRetriever, describe
from acqo_rl.roles import Encoder, Retriever


def load_retriever(
    folder: str | Path,
    *,
    encoder: Encoder | None = None,
    device: IndexDevice = "auto",
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
        mmap: map the index from disk instead of reading it, and do not compare its checksums; the device ``auto`` then
            means ``cpu``.
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
    if not mmap:
        check_contents(folder, manifest)
    _check_corpus(folder, manifest.corpus_hash, expected_corpus_hash)
    doc_ids = _read_ids(folder, manifest)
    settings = manifest.settings
    if isinstance(settings, Bm25Settings):
        return Bm25Retriever.load(
            folder / BM25_NAME, doc_ids, language=settings.language, mmap=mmap, fingerprint=manifest.fingerprint
        )
    assert isinstance(settings, DenseSettings), folder
    index = faiss_index.read_index(folder / INDEX_NAME, mmap=mmap)
    faiss_index.set_parameters(index, search_parameters or settings.search_parameters)
    index = to_device(index, "cpu" if mmap and device == "auto" else device)
    encoder = fitting_encoder(folder, settings.encoder, settings.encoder_fingerprint, encoder, remote_timeout)
    return FaissRetriever(index, doc_ids, encoder, threads=threads, fingerprint=manifest.fingerprint)


def _joined(index: str | Path, parts: Sequence[Retriever]) -> HybridRetriever:
    kinds = [part.name for part in parts]
    if len(set(kinds)) < len(kinds):
        raise ConfigError(
            f"{index} joins indexes of the same kind ({', '.join(kinds)}); join one dense and one BM25 index."
        )
    return HybridRetriever(parts, RankScoreFusion())


def _connect(url: Address, expected_corpus_hash: str | None, seconds: float | None) -> RemoteRetriever:
    """Creates a client whose rankings have the same ``retriever`` name as the index loaded in this process."""
    info = describe(url)
    _check_corpus(url, info.corpus_hash, expected_corpus_hash)
    is_dense = info.kind == "dense"
    return RemoteRetriever(url, name=info.kind, seconds=seconds, fingerprint=info.fingerprint, cosine=is_dense)


def _check_corpus(index: str | Path, seen: str | None, wanted: str | None) -> None:
    if seen is not None and wanted is not None and seen != wanted:
        raise IndexMismatchError(
            f"{index} was built from another corpus or another version of it (its corpus hash is {seen[:8]}, expected"
            f" {wanted[:8]}); build an index from this corpus."
        )


def _read_ids(folder: Path, manifest: Manifest) -> list[str]:
    try:
        doc_ids: list[str] = json.loads((folder / IDS_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise IndexMismatchError(f"{folder / IDS_NAME} cannot be read ({error}); build the index again.") from error
    count = sum(1 for _ in groupby(doc_ids))  # the passages of a document are adjacent
    if count != manifest.document_count:
        raise IndexMismatchError(
            f"{folder / IDS_NAME} contains {count} ids, expected {manifest.document_count}; build the index again."
        )
    return doc_ids
