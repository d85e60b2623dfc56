"""What is known of an index before it is searched, wherever it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from acqo_rl.addresses import Address
from acqo_rl.errors import IndexMismatchError
from acqo_rl.retrieval.engines.location import is_engine
from acqo_rl.retrieval.hybrid import joined_fingerprint
from acqo_rl.retrieval.manifest import DenseSettings, read_manifest
from acqo_rl.retrieval.places import is_url, parts_of


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """Description of an index.

    Attributes:
        kind: ``dense``, ``bm25`` or ``hybrid``.
        fingerprint: see :attr:`acqo_rl.retrieval.manifest.Manifest.fingerprint`.
        corpus_hash: hash of the documents.
        document_count: number of documents.
        encoder: fingerprint of a dense index's encoder, else empty. Scores of indexes with the same encoder are
            comparable.
    """

    kind: str
    fingerprint: str
    corpus_hash: str
    document_count: int
    encoder: str


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
        from acqo_rl.retrieval.engines.opening import open_collection

        return open_collection(index).info
    if not is_url(index):
        manifest = read_manifest(Path(index))
        settings = manifest.settings
        encoder = settings.encoder_fingerprint if isinstance(settings, DenseSettings) else ""
        return IndexInfo(manifest.kind, manifest.fingerprint, manifest.corpus_hash, manifest.document_count, encoder)
    from acqo_rl.retrieval.remote import RemoteRetriever

    return RemoteRetriever(index).info()
