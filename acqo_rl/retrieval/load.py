"""Loads and describes indexes: folders, servers, collections of search engines, and several of these as one hybrid."""

from collections.abc import Collection
from functools import cache, partial
from pathlib import Path

import numpy as np

from acqo_rl.addresses import Address
from acqo_rl.errors import IndexMismatchError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.retrieval import faiss_index
from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.retrieval.composite import HybridRetriever, joined_fingerprint
from acqo_rl.retrieval.encoders import fitting_encoder
from acqo_rl.retrieval.engines.location import is_engine
from acqo_rl.retrieval.engines.opening import open_collection, retriever_of
from acqo_rl.retrieval.faiss_devices import check_device, to_device
from acqo_rl.retrieval.faiss_retriever import FaissRetriever
from acqo_rl.retrieval.fields import Fields
from acqo_rl.retrieval.manifest import (
    BM25_NAME,
    FIELDS_NAME,
    INDEX_NAME,
    SPANS_NAME,
    Bm25Settings,
    DenseSettings,
    IndexInfo,
    check_contents,
    checked,
    read_ids,
    read_manifest,
)
from acqo_rl.retrieval.places import folder_of, is_url, parts_of
from acqo_rl.retrieval.remote import RemoteRetriever
from acqo_rl.roles import Encoder, Retriever
from acqo_rl.types import IndexDevice


def load_retriever(
    folder: str | Path,
    *,
    encoder: Encoder | None = None,
    device: IndexDevice = "auto",
    expected_corpus_hash: str | None = None,
    expected_ids: Collection[str] = (),
    remote_timeout: float | None = None,
) -> Retriever:
    """Loads an index, or several indexes as one hybrid.

    Args:
        folder: an index folder, the URL of a retriever server, a collection of a search engine, or several of these
            joined by ``+``. Several indexes are merged by RSF, with 100 documents of each per text. The settings below
            do not apply to the index of a server, except ``expected_corpus_hash`` and ``remote_timeout``.
        encoder: the index's encoder, if it is already loaded; by default it is loaded from the manifest's settings.
        device: device of a dense index, see ``acqo_rl.retrieval.faiss_devices.to_device``.
        expected_corpus_hash: ``acqo_rl.data.beir.corpus_hash`` of the corpus to search.
        expected_ids: all document ids of this corpus, in its order; compared with those of a folder.
        remote_timeout: time limit of a search on a server over all attempts, and of a call of an encoder on a server.
            By default both are retried for about a minute, so that a training run survives a restart of the server.

    Raises:
        ConfigError: a setting is unknown, the device cannot hold the index, or two joined indexes have the same kind.
        IndexMismatchError: the index is incomplete, damaged, or built from another corpus or with another encoder.
        SearchError: a server does not answer.
    """
    corpus = expected_corpus_hash, expected_ids
    parts = [_load(place, encoder, device, corpus, remote_timeout) for place in parts_of(folder)]
    if len(parts) == 1:
        return parts[0]
    describe(str(folder))  # raises an error if the parts have different corpora
    return HybridRetriever(parts, RankScoreFusion())


def _load(
    place: Address,
    encoder: Encoder | None,
    device: IndexDevice,
    corpus: tuple[str | None, Collection[str]],
    seconds: float | None,
) -> Retriever:
    """Loads a single index; arguments as of :func:`load_retriever`."""
    corpus_hash, ids = corpus
    if is_engine(place):
        return retriever_of(open_collection(place, seconds), encoder, seconds)
    if is_url(place):
        info = describe(place)
        _check_corpus(place, info.corpus_hash, corpus_hash)
        is_dense = info.kind == "dense"  # the name is that of the index when it is loaded in this process
        return RemoteRetriever(place, name=info.kind, seconds=seconds, fingerprint=info.fingerprint, cosine=is_dense)
    folder, tenant = folder_of(place)
    manifest = read_manifest(folder)
    if isinstance(manifest.settings, DenseSettings):
        check_device(device)
    check_contents(folder, manifest)
    _check_corpus(folder, manifest.corpus_hash, corpus_hash)
    settings = manifest.settings
    fingerprint = manifest.fingerprint
    fields = Fields(folder, manifest.document_count, manifest.checksums.get(FIELDS_NAME, ""), tenant)
    with checked(folder):
        doc_ids = read_ids(folder, manifest)
        if ids and list(ids) != list(dict.fromkeys(doc_ids)):
            raise ValueError("its document ids are not those of its corpus, in the same order")
        if isinstance(settings, Bm25Settings):
            bm25 = Bm25Retriever.load(folder / BM25_NAME, doc_ids, language=settings.language, fingerprint=fingerprint)
            bm25.fields = fields
            return bm25
        read = partial(faiss_index.read_index, folder / INDEX_NAME, len(doc_ids), settings.dimension)
        index = read()
        faiss_index.set_parameters(index, settings.search_parameters)
        encoder = fitting_encoder(folder, settings.encoder, settings.encoder_fingerprint, encoder, seconds)
        spans = np.load(folder / SPANS_NAME) if settings.passages else None
        placed = to_device(index, device)
        on_cpu = None if placed is index else cache(read)
        dense = FaissRetriever(placed, doc_ids, encoder, fingerprint, spans, on_cpu)
        dense.fields = fields
        return dense


def describe(index: str) -> IndexInfo:
    """Describes an index: a folder, a URL, a collection of a search engine, or several of them joined by ``+``.

    Raises:
        ConfigError: a location joined by ``+`` does not exist.
        IndexMismatchError: a folder contains no finished index, or the joined indexes have different corpora.
        SearchError: a server does not respond.
    """
    infos = [_describe(part) for part in parts_of(index)]
    first, *others = infos
    if not others:
        return first
    if len({info.corpus_hash for info in infos}) > 1:
        raise IndexMismatchError(
            f"The indexes of {index} have different corpora (of {' and '.join(str(i.document_count) for i in infos)}"
            " documents); build all of them from the same corpus."
        )
    fingerprint = joined_fingerprint([info.fingerprint for info in infos])
    return IndexInfo("hybrid", fingerprint, first.corpus_hash, first.document_count, "")


def _describe(index: Address) -> IndexInfo:
    if is_engine(index):
        return open_collection(index).info
    if not is_url(index):
        manifest = read_manifest(folder_of(index)[0])
        settings = manifest.settings
        encoder = settings.encoder_fingerprint if isinstance(settings, DenseSettings) else ""
        return IndexInfo(manifest.kind, manifest.fingerprint, manifest.corpus_hash, manifest.document_count, encoder)
    return RemoteRetriever(index).info()


def _check_corpus(index: str | Path, seen: str | None, wanted: str | None) -> None:
    if seen is not None and wanted is not None and seen != wanted:
        raise IndexMismatchError(
            f"{index} was built from another corpus or another version of it (its corpus hash is {seen[:8]}, expected"
            f" {wanted[:8]}); build an index from this corpus."
        )
