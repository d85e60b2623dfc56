"""Opens collections of search engines as retrievers, and refuses those that do not fit."""

import importlib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from acqo_rl.errors import ConfigError, IndexMismatchError, MissingPackageError
from acqo_rl.language_models.http_clients import make_retrying
from acqo_rl.retrieval.encoders import load_encoder
from acqo_rl.retrieval.engines.engine import COSINE, DOT, Engine, EngineCollection, reported
from acqo_rl.retrieval.engines.location import ENGINES, read_location
from acqo_rl.retrieval.engines.retriever import EngineDocuments, EngineRetriever
from acqo_rl.roles import Encoder

_SAMPLED = 100
"""Documents of a corpus that are looked up in a collection."""

_OPENING_SECONDS = 5.0


def open_collection(index: str, seconds: float | None = None) -> EngineCollection:
    """Connects to a collection and checks that it can be searched.

    Args:
        index: location of the collection.
        seconds: time limit of a call over all attempts, see :class:`EngineCollection`.

    Raises:
        ConfigError: the location is malformed, or no encoder is known.
        IndexMismatchError: there is no such collection, or it does not fit the search.
        MissingPackageError: the packages of the engine's extra are not installed.
        SearchError: a folder cannot be opened, or the engine does not answer within a few seconds: one that does not
            run is reported before work begins.
    """
    location = read_location(index)
    shown, options = location.shown, location.options
    name, extra = ENGINES[location.scheme]
    try:
        client = getattr(importlib.import_module(f"acqo_rl.retrieval.engines.{location.scheme}"), name)
        import tenacity  # noqa: F401  (part of every engine's extra)
    except ImportError as error:
        raise MissingPackageError(
            f"{shown} needs the package {error.name}; run: pip install 'acqo-rl[{extra}]'"
        ) from error
    schema = None
    if location.is_server or Path(location.place).exists():  # else the clients would create the folder
        with reported(location, client):
            engine: Engine = client(location)
            schema = make_retrying(engine.is_temporary, _OPENING_SECONDS)(engine.schema)
    if schema is None:
        raise IndexMismatchError(f"There is no collection {shown}; create it with the client of the engine.")
    only = next(iter(schema.vectors)) if len(schema.vectors) == 1 else ""
    fields = options.model_copy(update={"id": options.id or schema.key, "vector": options.vector or only})
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
            f"{shown} has no full text index that can be searched; search it with mode=dense, or create one"
            " (in Qdrant a text index with scoring=True)."
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
    location, shown = collection.location, collection.location.shown
    if collection.info.kind != "dense":
        return EngineRetriever(collection, None)
    if encoder is None and location.encoder:
        encoder = load_encoder(location.encoder, seconds)
    if encoder is None:
        raise ConfigError(f"{shown} does not say which encoder made its vectors; add the option encoder=MODEL.")
    dimension, metric = collection.schema.vectors[collection.engine.fields.vector]
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
    collection, asked = open_collection(index), doc_ids[:: 1 + len(doc_ids) // _SAMPLED]
    rows = collection.engine.rows
    if not collection(lambda: [*rows(asked, ())]):
        its_own = ", ".join(repr(doc_id) for doc_id, _ in collection(lambda: [*islice(rows(None, ()), 3)]))
        raise IndexMismatchError(
            f"{collection.location.shown} holds none of {len(asked)} documents of the corpus; its ids are such as"
            f" {its_own}, those of the corpus such as {', '.join(map(repr, asked[:3]))}. Give the data of the"
            " collection, or name the field with the corpus's ids by the option id=FIELD."
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
