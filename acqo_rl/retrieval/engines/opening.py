"""Opens collections of search engines as retrievers, and refuses those that do not fit."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from acqo_rl.errors import ConfigError, IndexMismatchError, MissingPackageError
from acqo_rl.retrieval.encoders import load_encoder
from acqo_rl.retrieval.engines.calls import Calls, reported
from acqo_rl.retrieval.engines.documents import EngineDocuments
from acqo_rl.retrieval.engines.engine import COSINE, DOT, Schema
from acqo_rl.retrieval.engines.location import Location, read_location
from acqo_rl.retrieval.engines.retriever import EngineRetriever
from acqo_rl.retrieval.remote import IndexInfo
from acqo_rl.roles import Encoder

_SAMPLED = 100
"""Documents of a corpus that are looked up in a collection."""

_OPENING_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class OpenCollection:
    """A collection that can be searched.

    Attributes:
        calls: of its engine.
        schema: what the engine tells of it.
    """

    calls: Calls
    schema: Schema

    @property
    def info(self) -> IndexInfo:
        """Its description; its documents are known by location and number only."""
        location = self.calls.location
        corpus = _hash(location.shown, self.schema.count)
        is_dense = location.options.mode == "dense"
        kind, encoder = ("dense", _hash(location.encoder)) if is_dense else ("bm25", "")
        return IndexInfo(kind, _hash(kind, corpus, encoder), corpus, self.schema.count, encoder)


def open_collection(index: str, seconds: float | None = None) -> OpenCollection:
    """Connects to a collection and checks that it can be searched.

    Args:
        index: location of the collection.
        seconds: time limit of a call over all attempts, see :class:`Calls`.

    Raises:
        ConfigError: the location is malformed, or no encoder is known.
        IndexMismatchError: there is no such collection, or it does not fit the search.
        SearchError: the engine does not answer.
    """
    location = read_location(index)
    shown, options = location.shown, location.options
    schema = None
    if location.is_server or Path(location.place).exists():  # else the clients would create the folder
        calls = _connect(location, seconds)
        schema = _read_schema(calls, location)
    if schema is None:
        raise IndexMismatchError(f"There is no collection {shown}; create it with the client of the engine.")
    fields = calls.engine.fields
    named = options.model_dump(include={"title", "text", "metadata"}, exclude_unset=True)
    tenant = fields.path_of(options.tenant) if options.tenant else ""
    _check_fields(location, schema, id=fields.id, tenant=tenant, **named)
    if options.mode != "text":
        _check_vectors(location, schema, fields.vector)
    if options.mode != "dense" and not calls(calls.engine.has_words):
        raise IndexMismatchError(
            f"{shown} has no full text index that can be searched; search it with mode=dense, or create one"
            " (in Qdrant a text index with scoring=True)."
        )
    return OpenCollection(calls, schema)


def retriever_of(
    opened: OpenCollection, encoder: Encoder | None = None, seconds: float | None = None
) -> EngineRetriever:
    """The retriever of a collection.

    Args:
        opened: the collection.
        encoder: encoder of the collection, if it is loaded already.
        seconds: time limit of a call of an encoder on a server, see :func:`load_encoder`.

    Raises:
        ConfigError: no encoder is known.
        IndexMismatchError: the encoder does not fit.
    """
    info, location = opened.info, opened.calls.location
    if info.kind != "dense":
        return EngineRetriever(opened.calls, None, info.fingerprint)
    shown = location.shown
    if encoder is None and location.encoder:
        encoder = load_encoder(location.encoder, seconds)
    if encoder is None:
        raise ConfigError(f"{shown} does not say which encoder made its vectors; add the option encoder=MODEL.")
    dimension, metric = opened.schema.vectors[opened.calls.engine.fields.vector]
    if dimension not in (None, encoder.dim):
        raise IndexMismatchError(
            f"{shown} has vectors of {dimension} dimensions and the encoder makes {encoder.dim}; name the encoder of"
            " the collection with the option encoder=MODEL."
        )
    return EngineRetriever(opened.calls, encoder, info.fingerprint, cosine=metric == COSINE)


def documents_of(index: str, seconds: float | None = None) -> EngineDocuments:
    """The documents of a collection; arguments and exceptions as in :func:`open_collection`.

    Raises:
        IndexMismatchError: the documents have no field ``text``, and no other is named.
    """
    opened = open_collection(index, seconds)
    _check_fields(opened.calls.location, opened.schema, text=opened.calls.engine.fields.text)
    return EngineDocuments(opened.calls)


def check_overlap(index: str, doc_ids: Sequence[str]) -> None:
    """Checks that a collection holds documents of a corpus.

    Raises:
        IndexMismatchError: it holds none of a sample of the documents.
    """
    calls, asked = open_collection(index).calls, doc_ids[:: 1 + len(doc_ids) // _SAMPLED]
    if not calls(lambda: [*calls.engine.rows(asked, ())]):
        its_own = ", ".join(repr(doc_id) for doc_id, _ in calls(lambda: [*islice(calls.engine.rows(None, ()), 3)]))
        raise IndexMismatchError(
            f"{calls.location.shown} holds none of {len(asked)} documents of the corpus; its ids are such as"
            f" {its_own}, those of the corpus such as {', '.join(map(repr, asked[:3]))}. Give the data of the"
            " collection, or name the field with the corpus's ids by the option id=FIELD."
        )


def _connect(location: Location, seconds: float | None = None) -> Calls:
    """Connects to an engine.

    Raises:
        MissingPackageError: the packages of the engine's extra are not installed.
        SearchError: a folder cannot be opened.
    """
    try:
        module = importlib.import_module(f"acqo_rl.retrieval.engines.{location.scheme}")
        import tenacity  # noqa: F401  (part of every engine's extra)
    except ImportError as error:
        extra = location.scheme.removesuffix("ql")
        raise MissingPackageError(
            f"{location.shown} needs the package {error.name}; run: pip install 'acqo-rl[{extra}]'"
        ) from error
    engine = getattr(module, f"{location.scheme.capitalize()}Engine")
    with reported(location, engine):
        return Calls(engine(location), location, seconds)


def _read_schema(calls: Calls, location: Location) -> Schema | None:
    """What a collection is, or ``None`` if it does not exist; gives its engine the names of its fields.

    Raises:
        SearchError: the engine does not answer within a few seconds: one that does not run is reported before work
            begins.
    """
    soon = Calls(calls.engine, location, _OPENING_SECONDS)
    if schema := soon(calls.engine.schema):
        fields = location.options
        only = next(iter(schema.vectors)) if len(schema.vectors) == 1 else ""
        named = {"id": fields.id or schema.key, "vector": fields.vector or only}
        calls.engine.fields = fields.model_copy(update=named)
    return schema


def _check_fields(location: Location, schema: Schema, **names: str) -> None:
    """Checks that documents have the fields with the given names, by option; columns of JSON may hold any."""
    of_unknown_fields = {f for f in schema.fields if not any(other.startswith(f"{f}.") for other in schema.fields)}
    for option, name in names.items():
        is_there = name in schema.fields or ("." in name and name.partition(".")[0] in of_unknown_fields)
        if name and schema.count and not is_there:
            raise IndexMismatchError(
                f"{location.shown} has no field {name!r}; name an existing one by the option"
                f" {option}=FIELD. There are: {', '.join(schema.fields)}."
            )


def _check_vectors(location: Location, schema: Schema, name: str) -> None:
    if name not in schema.vectors:
        raise IndexMismatchError(
            f"{location.shown} has no vectors in the field {name!r} (vector fields: {', '.join(schema.vectors)}); name"
            " one with the option vector=FIELD, or search with mode=text."
        )
    if (metric := schema.vectors[name][1]) not in (COSINE, DOT):
        raise IndexMismatchError(
            f"{location.shown} has the metric {metric}, expected cosine or inner product; build it again."
        )


def _hash(*values: object) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
