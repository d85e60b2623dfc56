"""Opens collections of search engines, as retrievers and as documents, and refuses those that do not fit."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice

from acqo_rl.errors import ConfigError, IndexMismatchError, missing_package
from acqo_rl.fusion import best_first, best_scores
from acqo_rl.language_models.http_clients import make_retrying
from acqo_rl.retrieval.encoder import encode_texts, search_windows
from acqo_rl.retrieval.encoders import load_encoder
from acqo_rl.retrieval.engines.engine import COSINE, DOT, Engine, EngineCollection, Hit, reported
from acqo_rl.retrieval.engines.filters import as_json, at, conditions_of, meets, widened
from acqo_rl.retrieval.engines.location import ENGINES, read_location
from acqo_rl.roles import Encoder, RemoteCorpus, Retriever
from acqo_rl.text import one_line
from acqo_rl.types import UNRESTRICTED, Document, Filter, Passage, Ranking, Scope, search_key, well_formed

_log = logging.getLogger(__name__)

_LARGEST_K = 10_000

_SAMPLED = 100
"""Documents of a corpus that are looked up in a collection."""

_OPENING_SECONDS = 5.0


@dataclass(frozen=True, eq=False)
class EngineRetriever(Retriever):
    """Searches a collection by vectors or by full text; one call of the engine for all texts.

    Attributes:
        collection: an open one.
        encoder: embeds the texts, if the engine wants vectors.
        cosine: whether the scores are cosines.
        scope: the part of the documents to search.
    """

    collection: EngineCollection
    encoder: Encoder | None
    cosine: bool = False
    scope: Scope = UNRESTRICTED

    @property
    def name(self) -> str:  # type: ignore[override]
        """As of index folders."""
        return self.collection.info.kind

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """Changes with the documents and with the part of them that is searched."""
        of_all = self.collection.info.fingerprint
        return of_all if self.scope == UNRESTRICTED else f"{of_all} {self.scope}"

    def restrict(self, scope: Scope) -> EngineRetriever:
        """The retriever of a part of the documents.

        Raises:
            ConfigError: the engine cannot search a part of its documents.
        """
        if scope != UNRESTRICTED and not self.collection.schema.filters:
            raise ConfigError(
                f"{self.collection.location.shown} searches all of its documents; omit filter and tenant, or add filter"
                " to the template, if it is one."
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
            raise ConfigError(f"k is {k}; for {self.collection.location.shown} it must be from 1 to {_LARGEST_K:,}.")
        if self.encoder is None:
            return self._search(texts, k)
        return search_windows(self.encoder, texts, k, lambda parts: self._search(parts, k))

    def _search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        where = conditions_of(self.collection.location, self.scope)
        missing = {search_key(text): text for text in texts if self.encoder or one_line(text)}
        found: dict[object, dict[str, float]] = {search_key(text): {} for text in texts}
        asked = k
        while missing:
            hits = dict(zip(missing, self._hits(list(missing.values()), asked, where), strict=True))
            found |= {key: self._best(some, where) for key, some in hits.items()}
            several = {key for key, some in hits.items() if len(some) == asked < _LARGEST_K and len(found[key]) < k}
            missing = {key: missing[key] for key in several}
            asked = min(4 * asked, _LARGEST_K)
        best = (best_first(found[search_key(text)].items(), k) for text in texts)
        return [Ranking(*top, self.name, text) for top, text in zip(best, texts, strict=True)]

    def _hits(self, texts: list[str], k: int, where: Filter) -> list[list[Hit]]:
        engine = self.collection.engine
        narrowed = widened(where, engine.fields)
        clean = [Passage(well_formed(text)) if isinstance(text, Passage) else well_formed(text) for text in texts]
        vectors = encode_texts(self.encoder, clean) if self.encoder else None
        return self.collection(engine.search, clean, vectors, k, narrowed)

    def _best(self, hits: Sequence[Hit], where: Filter) -> dict[str, float]:
        """The best score of each document."""
        if any(doc_id is None for doc_id, _, _ in hits):
            _report_missing_ids(self.collection.location.shown)
        fields = self.collection.engine.fields
        return best_scores(
            (doc_id, score) for doc_id, score, row in hits if doc_id is not None and meets(where, row, fields)
        )


@cache
def _report_missing_ids(shown: str) -> None:
    """Warns once for each collection."""
    _log.warning("%s has entries without an id; searches leave them out", shown)


@dataclass(frozen=True, eq=False)
class EngineDocuments(Mapping[str, Document], RemoteCorpus):
    """Document id -> document, of the part of a collection that may be seen; read when asked for, and never kept.

    The text of a document with several passages is that of all its passages, in the order of the engine. Read all
    documents by ``values``, which keeps them in memory; ``items`` calls the engine for each of them.

    Attributes:
        collection: an open one.
        scope: the part of the documents that may be seen.
    """

    collection: EngineCollection
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
        return _joined(self.collection(lambda: list(self._read(wanted)))) if wanted else {}

    def values(self) -> ValuesView[Document]:
        """All documents, from one scan."""
        return _joined(self.passages()).values()

    def passages(self) -> Iterator[Document]:
        """All passages, in any order."""
        with reported(self.collection.location, self.collection.engine):
            yield from self._read(None)

    def __getitem__(self, doc_id: str) -> Document:
        return self.fetch([doc_id])[doc_id]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(passage.id for passage in self.passages()))

    @property
    def lists(self) -> bool:  # type: ignore[override]
        """Whether all documents can be read."""
        return self.collection.schema.lists

    def __bool__(self) -> bool:
        return True  # the number of documents may be unknown

    def __len__(self) -> int:
        schema = self.collection(self.collection.engine.schema)
        return schema.count if schema else 0

    def _read(self, doc_ids: Sequence[str] | None) -> Iterator[Document]:
        where = conditions_of(self.collection.location, self.scope)
        fields = self.collection.engine.fields
        own = {fields.id, fields.title, fields.text, fields.vector}
        for doc_id, row in self.collection.engine.rows(doc_ids, widened(where, fields)):
            if doc_id is None or not meets(where, row, fields):
                continue
            title, text = (str(at(row, name) or "") for name in (fields.title, fields.text))
            metadata: object = {name: value for name, value in row.items() if name not in own}
            if fields.metadata:
                metadata = at(row, fields.metadata) or {}
                metadata = metadata if isinstance(metadata, Mapping) else {fields.metadata: metadata}
            yield Document(doc_id, title, text, as_json(metadata)) if metadata else Document(doc_id, title, text)


def _joined(passages: Iterable[Document]) -> dict[str, Document]:
    """One document by each id, with the distinct texts of its passages."""
    found: dict[str, Document] = {}
    texts: dict[str, dict[str, None]] = {}
    for passage in passages:
        found.setdefault(passage.id, passage)
        texts.setdefault(passage.id, {})[passage.text] = None
    return {doc_id: replace(document, text="\n".join(texts[doc_id])) for doc_id, document in found.items()}


def open_collection(index: str, seconds: float | None = None) -> EngineCollection:
    """Connects to a collection and checks that it can be searched.

    Args:
        index: location of the collection.
        seconds: time limit of a call over all attempts, see :class:`EngineCollection`.

    Raises:
        ConfigError: the location or the template is malformed.
        IndexMismatchError: there is no such collection, or it does not fit the search.
        MissingPackageError: the packages of the engine's extra are not installed.
        SearchError: the engine does not answer within a few seconds: one that does not run is reported before work
            begins.
    """
    location = read_location(index)
    shown = location.shown
    options = location.options
    name, extra = ENGINES[location.scheme]
    module = location.scheme.replace("+", "_")
    try:
        client = getattr(importlib.import_module(f"acqo_rl.retrieval.engines.{module}"), name)
        import tenacity  # noqa: F401  (part of every engine's extra)
    except ImportError as error:
        raise missing_package(shown, error, extra) from error
    with reported(location, client):
        engine: Engine = client(location)
        schema = make_retrying(engine.is_temporary, _OPENING_SECONDS)(engine.schema)
    if schema is None:
        raise IndexMismatchError(f"There is no collection {shown}; create it with the client of the engine.")
    if options.tenant and not (schema.filters and schema.looks_up):
        raise ConfigError(
            f"{shown} cannot have tenants, whose documents are searched and looked up with the name of the tenant; omit"
            " the option tenant, or add filter and documents to the template, if it is one."
        )
    only = next(iter(schema.vectors)) if len(schema.vectors) == 1 else ""
    names = {"id": schema.key, "vector": only, "metadata": schema.metadata}
    fields = options.model_copy(update={name: getattr(options, name) or value for name, value in names.items()})
    options = options.model_copy(update={"mode": schema.mode or options.mode})
    location = replace(location, options=options)
    engine.fields = fields
    collection = EngineCollection(engine, location, schema, seconds)
    named = options.model_dump(include={"title", "text", "metadata"}, exclude_unset=True)
    tenant = fields.path_of(options.tenant) if options.tenant else ""
    _check_fields(collection, id=fields.id, tenant=tenant, **named)
    if options.mode != "text" and schema.vectors.get(fields.vector, (None, ""))[1] not in (COSINE, DOT):
        raise IndexMismatchError(
            f"{shown} has no vectors {fields.vector!r} with the metric cosine or dot; it has {dict(schema.vectors)}."
            " Name others with the option vector=FIELD, or search with mode=text."
        )
    if options.mode != "dense" and not collection(collection.engine.has_words):
        raise IndexMismatchError(
            f"{shown} has no text {fields.text!r} to search; name another by the option text=FIELD, or use mode=dense."
        )
    return collection


def retriever_of(
    collection: EngineCollection, encoder: Encoder | None = None, seconds: float | None = None
) -> EngineRetriever:
    """The retriever of a collection.

    Args:
        collection: an open one.
        encoder: encoder of the collection, if it is loaded already.
        seconds: time limit of a call of an encoder on a server, see :func:`load_encoder`.

    Raises:
        ConfigError: no encoder is known.
        IndexMismatchError: the encoder does not fit.
    """
    location = collection.location
    shown = collection.location.shown
    schema = collection.schema
    dimension, metric = schema.vectors.get(collection.engine.fields.vector, (None, ""))
    if collection.info.kind != "dense" or schema.embeds:
        return EngineRetriever(collection, None, cosine=schema.embeds and metric == COSINE)
    if encoder is None and location.encoder:
        encoder = load_encoder(location.encoder, seconds)
    if encoder is None:
        raise ConfigError(f"{shown} does not say which encoder made its vectors; add the option encoder=MODEL.")
    if dimension not in (None, encoder.dim):
        raise IndexMismatchError(
            f"{shown} has vectors of {dimension} dimensions and the encoder makes {encoder.dim}; name the encoder of"
            " the collection with the option encoder=MODEL."
        )
    return EngineRetriever(collection, encoder, cosine=metric == COSINE)


def documents_of(index: str, seconds: float | None = None) -> EngineDocuments:
    """The documents of a collection; arguments and exceptions as in :func:`open_collection`.

    Raises:
        IndexMismatchError: the documents have no field ``text``, and no other is named.
    """
    collection = open_collection(index, seconds)
    _check_fields(collection, text=collection.engine.fields.text)
    return EngineDocuments(collection)


def check_overlap(index: str, doc_ids: Sequence[str]) -> None:
    """Checks that a collection holds documents of a corpus.

    Raises:
        IndexMismatchError: it holds none of a sample of the documents.
    """
    collection = open_collection(index)
    rows = collection.engine.rows
    asked = doc_ids[:: 1 + len(doc_ids) // _SAMPLED]
    if not collection.schema.looks_up or collection(lambda: [*rows(asked, ())]):
        return
    listed = collection(lambda: [*islice(rows(None, ()), 3)]) if collection.schema.lists else []
    its_own = f"its ids are such as {', '.join(repr(doc_id) for doc_id, _ in listed)}, " if listed else ""
    raise IndexMismatchError(
        f"{collection.location.shown} holds none of {len(asked)} documents of the corpus; {its_own}those of the corpus"
        f" are such as {', '.join(map(repr, asked[:3]))}. Give the data of the collection, or name the field with the"
        " corpus's ids by the option id=FIELD or in the template."
    )


def _check_fields(collection: EngineCollection, **names: str) -> None:
    """Checks that documents have the fields with the given names, by option; columns of JSON may hold any."""
    schema = collection.schema
    of_unknown_fields = {f for f in schema.fields if not any(other.startswith(f"{f}.") for other in schema.fields)}
    for option, name in names.items():
        is_there = name in schema.fields or ("." in name and name.partition(".")[0] in of_unknown_fields)
        if name and schema.count and not is_there:
            raise IndexMismatchError(
                f"{collection.location.shown} has no field {name!r}; name an existing one by the option"
                f" {option}=FIELD. There are: {', '.join(schema.fields)}."
            )
