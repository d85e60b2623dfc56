"""Collections: documents with their indexes. A request may search several collections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from acqo_rl.addresses import Address, whole_of
from acqo_rl.errors import ConfigError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.retrieval.composite import FederatedRetriever, HybridRetriever, InCollection, split_id
from acqo_rl.retrieval.engines.filters import conditions_of
from acqo_rl.retrieval.engines.opening import EngineDocuments
from acqo_rl.retrieval.fields import SelectedDocuments
from acqo_rl.roles import Encoder, RemoteCorpus, Retriever
from acqo_rl.searching.feedback import fetch
from acqo_rl.searching.sub_queries import RawQueryOnly
from acqo_rl.serving.batching import BatchedRetriever, Batcher
from acqo_rl.types import UNRESTRICTED, Corpus, Document, Ranking, Scope


@dataclass(frozen=True)
class Collection:
    """Documents and their retrievers.

    Attributes:
        name: consists of letters, digits, ``_``, ``-`` and ``.``.
        documents: document id -> document.
        retrievers: retrievers of the indexes, in the given order.
        originals: retrievers of the indexes that search only the raw query, as separate lists.
        tenant: metadata field that holds the tenant of a document, which each search must name; empty without tenants.
        scope: the part of the documents that is searched.
        states: folders of the indexes that were opened.
        present: looks up the folders of their present states; ``None`` if it has none.
    """

    name: str
    documents: Corpus
    retrievers: tuple[InCollection, ...]
    originals: tuple[InCollection, ...] = ()
    tenant: str = ""
    scope: Scope = UNRESTRICTED
    states: tuple[Path, ...] = ()
    present: Callable[[], tuple[Path, ...]] | None = None

    @property
    def has_tenants(self) -> bool:
        """Whether each search must name a tenant."""
        return bool(self.tenant)

    def restrict(self, scope: Scope) -> Collection:
        """Restricts the collection to a part of the documents.

        Raises:
            ConfigError: the collection has tenants but the scope names none, or the reverse, or the collection does not
                support filters.
        """
        if self.has_tenants and scope.tenant is None:
            raise ConfigError(f"The collection {self.name} has tenants; name one in the field tenant.")
        if not self.has_tenants and scope.tenant is not None:
            raise ConfigError(
                f"The collection {self.name} has no tenants; omit the field tenant, or name only collections with"
                " tenants in the field knowledge_pool_ids."
            )
        if scope == UNRESTRICTED:
            return self
        if isinstance(self.documents, EngineDocuments):
            documents: Corpus = self.documents.restrict(scope)
        else:
            documents = SelectedDocuments(self.documents, conditions_of(self.name, self.tenant, scope))
        return replace(
            self,
            documents=documents,
            retrievers=tuple(retriever.restrict(scope) for retriever in self.retrievers),
            originals=tuple(retriever.restrict(scope) for retriever in self.originals),
            scope=scope,
        )

    @property
    def all_retrievers(self) -> tuple[InCollection, ...]:
        """The retrievers of all indexes."""
        return (*self.retrievers, *self.originals)


def open_collection(
    setting: str,
    remote_timeout: float | None = None,
    batcher: Callable[..., Batcher[str, Ranking]] | None = None,
    open_index: Callable[..., Retriever] | None = None,
    encoders: dict[str, Encoder] | None = None,
) -> Collection:
    """Opens the collection described by a setting.

    Args:
        setting: ``NAME=DATA,INDEX``: a BEIR folder and one or more indexes. An index is a folder, the URL of a
            retriever server or a collection of a search engine. Without ``DATA``, a search engine provides the
            documents: ``NAME=INDEX``. A hybrid index (``DENSE+BM25``, or a folder with both) is replaced by its parts.
            In ``NAME=DATA,DENSE,BM25@original`` the second index searches only the raw query.
        remote_timeout: time limit of a search on a server, so that a stalled search does not block a thread.
        batcher: combines concurrent searches of a local index into one call; without it, they are separate calls.
        open_index: replaces :func:`acqo_rl.retrieval.load.load_retriever`; called with the same arguments.
        encoders: fingerprint -> encoder of the dense indexes that are open already, which equal ones share.

    Raises:
        ConfigError: the setting does not have this form, or two indexes have the same kind.
        IndexMismatchError: an index was built from other documents.
    """
    from acqo_rl.data.beir import corpus_hash, read_corpus
    from acqo_rl.retrieval.encoders import embed_once
    from acqo_rl.retrieval.engines.location import is_engine
    from acqo_rl.retrieval.engines.opening import documents_of
    from acqo_rl.retrieval.faiss_retriever import FaissRetriever
    from acqo_rl.retrieval.load import describe, load_retriever
    from acqo_rl.retrieval.places import folder_of, is_url, tenant_of
    from acqo_rl.searching.names import ORIGINAL, check_name, name_indexes

    known = {} if encoders is None else encoders
    name, _, places = whole_of(setting).partition("=")
    data, *indexes = map(Address, places.split(","))
    if is_engine(data):
        data, indexes = Address(""), [data, *indexes]
    if not indexes or not all(indexes) or not (data or is_engine(indexes[0])):
        raise ConfigError(f"The collection {name!r} cannot be opened; use the form NAME=DATA,INDEX.")
    check_name(name, {})
    joined = Address(f"{name}={'+'.join(index.whole() for index in indexes)}")
    parts = name_indexes([joined])[name]

    def present() -> tuple[Path, ...]:
        return tuple(folder_of(part.removesuffix(ORIGINAL))[0] for part in name_indexes([joined])[name])

    states = present()
    singles = [part.removesuffix(ORIGINAL) for part in parts]
    tenants = {tenant_of(index) for index in singles}
    if len(tenants) > 1:
        raise ConfigError(f"The indexes of {name} differ in their tenant field; use the same field in all of them.")
    if data and any(tenants) and any(map(is_engine, singles)):
        raise ConfigError(
            f"{name} has tenants, whose documents are read from the search engine; use {name}={indexes[0]}."
        )
    documents: Corpus = read_corpus(data) if data else documents_of(indexes[0], remote_timeout)
    digest = corpus_hash(documents.values()) if data else None

    def in_collection(index: str) -> InCollection:
        info = describe(index)
        shared = known.get(info.encoder)
        retriever = (open_index or load_retriever)(
            index,
            expected_corpus_hash=digest,
            expected_ids=documents if data else (),
            remote_timeout=remote_timeout,
            encoder=shared,
        )
        if isinstance(retriever, FaissRetriever):
            if shared:
                embed_once(shared)
            known[info.encoder] = retriever.encoder
        if batcher and not is_url(index):
            retriever = BatchedRetriever(retriever, batcher)
        return InCollection(
            retriever, name, f"dense {info.encoder[:8]}" if info.kind == "dense" else f"{name}/{info.kind}"
        )

    retrievers = tuple(in_collection(part) for part in parts if not part.endswith(ORIGINAL))
    originals = tuple(in_collection(part.removesuffix(ORIGINAL)) for part in parts if part.endswith(ORIGINAL))
    if len({retriever.name for retriever in (*retrievers, *originals)}) < len(parts):
        raise ConfigError(
            f"{name} has two indexes of the same kind ({', '.join(indexes)}); give one dense and one BM25 index."
        )
    return Collection(name, documents, retrievers, originals, tenants.pop(), states=states, present=present)


def searched_as_one(collections: Sequence[Collection], label: str = "indexes") -> Retriever:
    """Combines collections into one retriever, which returns one list per text.

    The lists of two indexes of a collection are merged by RSF, as in a hybrid index. With several collections, the
    first index of each collection (dense before BM25) contributes to the first list, and the second index to the second
    list. There is a second list only if every collection has two indexes: otherwise the documents of one collection
    would have two votes in the fusion, and those of another one.
    """
    paths: list[Retriever] = list(collections[0].retrievers)
    if len(collections) > 1:
        places = zip(*map(_dense_first, collections), strict=False)
        paths = [FederatedRetriever(parts, f"{label} {i}") for i, parts in enumerate(places, start=1)]
    return paths[0] if len(paths) == 1 else HybridRetriever(paths, RankScoreFusion())


def searched_apart(collections: Sequence[Collection]) -> list[RawQueryOnly]:
    """The retriever that searches only the raw query if every collection has such an index, else an empty list."""
    apart = [replace(c, retrievers=c.originals) for c in collections if c.originals]
    return [RawQueryOnly(searched_as_one(apart, "raw query, indexes"))] if len(apart) == len(collections) else []


def left_out(collections: Sequence[Collection]) -> list[str]:
    """Names of the indexes that a search of these collections leaves out, because another one has no such index."""
    lists = min(len(c.retrievers) for c in collections)
    apart = all(c.originals for c in collections)
    unused = ([*_dense_first(c)[lists:], *(() if apart else c.originals)] for c in collections)
    return [retriever.name for some in unused for retriever in some]


def _dense_first(collection: Collection) -> list[InCollection]:
    return sorted(collection.retrievers, key=lambda retriever: not retriever.cosine)


class DocumentsOf(Corpus, RemoteCorpus):
    """The documents of several collections; their ids have the form ``collection/document_id``."""

    def __init__(self, collections: Sequence[Collection]) -> None:
        self._by_name = {collection.name: collection.documents for collection in collections}

    def fetch(self, keys: Sequence[str]) -> dict[str, Document]:
        """The documents by id, from one call per collection."""
        ids: dict[str, list[str]] = {}
        for collection, doc_id in map(split_id, keys):
            ids.setdefault(collection, []).append(doc_id)
        found = {name: fetch(self._by_name[name], doc_ids) for name, doc_ids in ids.items()}
        return {
            f"{name}/{doc_id}": replace(document, id=f"{name}/{doc_id}")
            for name, documents in found.items()
            for doc_id, document in documents.items()
        }

    def __getitem__(self, key: str) -> Document:
        collection, doc_id = split_id(key)
        return replace(self._by_name[collection][doc_id], id=key)

    def __iter__(self) -> Iterator[str]:
        return (f"{name}/{doc_id}" for name, documents in self._by_name.items() for doc_id in documents)

    def __len__(self) -> int:
        return sum(map(len, self._by_name.values()))
