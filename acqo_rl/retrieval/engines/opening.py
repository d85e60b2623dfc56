"""Opens collections of search engines, as retrievers and as documents, and refuses those that do not fit."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, replace
from itertools import islice

from acqo_rl.errors import ConfigError, IndexMismatchError, missing_package
from acqo_rl.fusion import best_first, best_scores
from acqo_rl.retrieval.encoder import encode_texts, search_windows
from acqo_rl.retrieval.encoders import load_encoder
from acqo_rl.retrieval.engines.engine import Engine
from acqo_rl.retrieval.engines.location import ENGINES, read_location
from acqo_rl.roles import Encoder, RemoteCorpus, Retriever
from acqo_rl.text import one_line
from acqo_rl.types import UNRESTRICTED, Document, Passage, Ranking, Scope, search_key, well_formed

_LARGEST_K = 10_000

_SAMPLED = 100
"""Documents of a corpus that are looked up in a collection."""


@dataclass(frozen=True, eq=False)
class EngineRetriever(Retriever):
    """Searches a collection by vectors or by full text; one call of the engine for all texts.

    Attributes:
        engine: the collection.
        encoder: embeds the texts, if the engine wants vectors.
        scope: the part of the documents to search.
    """

    engine: Engine
    encoder: Encoder | None
    scope: Scope = UNRESTRICTED

    @property
    def name(self) -> str:  # type: ignore[override]
        """As of index folders."""
        return self.engine.kind

    @property
    def cosine(self) -> bool:  # type: ignore[override]
        """Whether the scores are cosines."""
        return self.engine.cosine

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """Changes with the documents and with the part of them that is searched."""
        of_all = self.engine.info.fingerprint
        return of_all if self.scope == UNRESTRICTED else f"{of_all} {self.scope}"

    def restrict(self, scope: Scope) -> EngineRetriever:
        """The retriever of a part of the documents.

        Raises:
            ConfigError: the engine cannot search a part of its documents.
        """
        if scope != UNRESTRICTED and not self.engine.filters:
            raise ConfigError(
                f"{self.engine.location.shown} searches all of its documents; omit filter and tenant, or add filter to"
                " the template, if it is one."
            )
        return replace(self, scope=scope)

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """Returns at most ``k`` documents per text, in input order.

        More entries are asked for until there are ``k`` documents: a document may have several passages, and an engine
        may return entries that do not meet a filter exactly. Entries without an id are left out.

        Raises:
            ConfigError: ``k`` is out of range, or the collection has tenants and none is given, or the reverse.
            SearchError: the engine does not answer or rejects the call.
        """
        if not 1 <= k <= _LARGEST_K:
            raise ConfigError(f"k is {k}; for {self.engine.location.shown} it must be from 1 to {_LARGEST_K:,}.")
        if self.encoder is None:
            return self._search(texts, k)
        return search_windows(self.encoder, texts, k, lambda parts: self._search(parts, k))

    def _search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        where = self.engine.where(self.scope)
        missing = {search_key(text): text for text in texts if self.encoder or one_line(text)}
        found: dict[object, dict[str, float]] = {search_key(text): {} for text in texts}
        asked = k
        while missing:
            clean = [Passage(well_formed(t)) if isinstance(t, Passage) else well_formed(t) for t in missing.values()]
            vectors = encode_texts(self.encoder, clean) if self.encoder else None
            hits = dict(zip(missing, self.engine.search(clean, vectors, asked, where), strict=True))
            for key, entries in hits.items():
                found[key] = best_scores((doc_id, score) for doc_id, score in entries if doc_id is not None)
            several = {key for key, some in hits.items() if len(some) == asked < _LARGEST_K and len(found[key]) < k}
            missing = {key: missing[key] for key in several}
            asked = min(4 * asked, _LARGEST_K)
        best = (best_first(found[search_key(text)].items(), k) for text in texts)
        return [Ranking(*top, self.name, text) for top, text in zip(best, texts, strict=True)]


@dataclass(frozen=True, eq=False)
class EngineDocuments(Mapping[str, Document], RemoteCorpus):
    """Document id -> document, of the part of a collection that may be seen; read when asked for, and never kept.

    The text of a document with several passages is that of all its passages, in the order of the engine. Read all
    documents by ``values``, which keeps them in memory; ``items`` calls the engine for each of them.

    Attributes:
        engine: the collection.
        scope: the part of the documents that may be seen.
    """

    engine: Engine
    scope: Scope = UNRESTRICTED

    def restrict(self, scope: Scope) -> EngineDocuments:
        """A part of the documents."""
        return replace(self, scope=scope)

    def fetch(self, doc_ids: Sequence[str]) -> dict[str, Document]:
        """The given documents by id, from one call; those that do not exist or may not be seen are left out.

        Raises:
            ConfigError: the collection has tenants and none is named.
            SearchError: the engine does not answer.
        """
        wanted = list(dict.fromkeys(doc_ids))
        return _joined(self._read(wanted)) if wanted else {}

    def values(self) -> ValuesView[Document]:
        """All documents, from one scan."""
        return _joined(self.passages()).values()

    def passages(self) -> Iterator[Document]:
        """All passages, in any order."""
        return self._read(None)

    def __getitem__(self, doc_id: str) -> Document:
        return self.fetch([doc_id])[doc_id]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(passage.id for passage in self.passages()))

    @property
    def lists(self) -> bool:  # type: ignore[override]
        """Whether all documents can be read."""
        return self.engine.lists

    def __bool__(self) -> bool:
        return True  # the number of documents may be unknown

    def __len__(self) -> int:
        return self.engine.count

    def _read(self, doc_ids: Sequence[str] | None) -> Iterator[Document]:
        return self.engine.documents(doc_ids, self.engine.where(self.scope))


def _joined(passages: Iterable[Document]) -> dict[str, Document]:
    """One document by each id, with the distinct texts of its passages."""
    found: dict[str, Document] = {}
    texts: dict[str, dict[str, None]] = {}
    for passage in passages:
        found.setdefault(passage.id, passage)
        texts.setdefault(passage.id, {})[passage.text] = None
    return {doc_id: replace(document, text="\n".join(texts[doc_id])) for doc_id, document in found.items()}


def open_collection(index: str, seconds: float | None = None) -> Engine:
    """Connects to a collection and checks that it can be searched.

    Args:
        index: location of the collection.
        seconds: time limit of a call over all attempts, see :class:`Engine`.

    Raises:
        ConfigError: the location or the template is malformed.
        IndexMismatchError: there is no such collection, or it does not fit the search.
        MissingPackageError: the packages of the engine's extra are not installed.
        SearchError: the engine does not answer: one that does not run is reported before work begins.
    """
    location = read_location(index)
    name, extra = ENGINES[location.scheme]
    module = location.scheme.replace("+", "_")
    try:
        client = getattr(importlib.import_module(f"acqo_rl.retrieval.engines.{module}"), name)
        import tenacity  # noqa: F401  (part of every engine's extra)
    except ImportError as error:
        raise missing_package(location.shown, error, extra) from error
    engine: Engine = client(location, seconds)
    if location.options.tenant and not (engine.filters and engine.looks_up):
        raise ConfigError(
            f"{location.shown} cannot have tenants, whose documents are searched and looked up with the name of the"
            " tenant; omit the option tenant, or add filter and documents to the template, if it is one."
        )
    return engine


def retriever_of(engine: Engine, encoder: Encoder | None = None, seconds: float | None = None) -> EngineRetriever:
    """The retriever of a collection.

    Args:
        engine: the collection.
        encoder: encoder of the collection, if it is loaded already.
        seconds: time limit of a call of an encoder on a server, see :func:`load_encoder`.

    Raises:
        ConfigError: no encoder is known.
        IndexMismatchError: the encoder does not fit.
    """
    location = engine.location
    if engine.kind != "dense" or engine.embeds:
        return EngineRetriever(engine, None)
    if encoder is None and location.encoder:
        encoder = load_encoder(location.encoder, seconds)
    if encoder is None:
        raise ConfigError(
            f"{location.shown} does not say which encoder made its vectors; add the option encoder=MODEL."
        )
    if engine.dim not in (None, encoder.dim):
        raise IndexMismatchError(
            f"{location.shown} has vectors of {engine.dim} dimensions and the encoder makes {encoder.dim}; name the"
            " encoder of the collection with the option encoder=MODEL."
        )
    return EngineRetriever(engine, encoder)


def documents_of(index: str, seconds: float | None = None) -> EngineDocuments:
    """The documents of a collection; arguments and exceptions as in :func:`open_collection`."""
    return EngineDocuments(open_collection(index, seconds))


def check_overlap(index: str, doc_ids: Sequence[str]) -> None:
    """Checks that a collection holds documents of a corpus.

    Raises:
        IndexMismatchError: it holds none of a sample of the documents.
    """
    engine = open_collection(index)
    asked = doc_ids[:: 1 + len(doc_ids) // _SAMPLED]
    if not engine.looks_up or any(engine.documents(asked, ())):
        return
    listed = islice(engine.documents(None, ()), 3) if engine.lists else ()
    own = ", ".join(repr(document.id) for document in listed)
    raise IndexMismatchError(
        f"{engine.location.shown} holds none of {len(asked)} documents of the corpus;"
        f" {f'its ids are such as {own}, ' if own else ''}those of the corpus are such as"
        f" {', '.join(map(repr, asked[:3]))}. Give the data of the collection, or name the field with the corpus's ids"
        " by the option id=FIELD or in the template."
    )
