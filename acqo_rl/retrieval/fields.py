"""The metadata of an index folder, by field: a filter is tested once for each distinct value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge
from numpy.typing import NDArray
from pydantic import TypeAdapter

from acqo_rl.errors import ConfigError, IndexMismatchError
from acqo_rl.files import hash_of
from acqo_rl.retrieval.engines.filters import as_json, at, conditions_of, holds, meets
from acqo_rl.retrieval.manifest import FIELDS_NAME, checked
from acqo_rl.roles import RemoteCorpus, Retriever
from acqo_rl.types import UNRESTRICTED, Condition, Corpus, Document, Filter, Scope

Mask = NDArray[np.bool_]
"""Which documents of an index are selected, bool[documents]."""

_FORM = TypeAdapter(dict[str, tuple[list[Any], list[Annotated[int, Ge(-1)]]]])
_KEPT = 64
"""Selections that are kept."""


def lines_of(documents: Sequence[Document]) -> list[str]:
    """The file of the fields: for each one, its distinct values, and the place of each document's value in them or -1.

    Args:
        documents: in the order of the index.
    """
    values: dict[str, dict[str, int]] = {}
    places: dict[str, list[int]] = {}
    for number, document in enumerate(documents):
        for name, value in document.metadata.items():
            known = values.setdefault(name, {})
            if name not in places:
                places[name] = [-1] * len(documents)
            places[name][number] = known.setdefault(json.dumps(as_json(value)), len(known))
    columns = (f"{json.dumps(name)}: [[{', '.join(values[name])}], {places[name]}]" for name in sorted(values))
    return [f"{{{', '.join(columns)}}}"]


class Fields:
    """The metadata of the documents of an index folder; read when the first filter or tenant needs them."""

    def __init__(self, folder: Path, count: int, digest: str = "", tenant: str = "") -> None:
        """Reads nothing, except to look for the field of tenants.

        Args:
            folder: of the index.
            count: number of documents.
            digest: changes with the metadata.
            tenant: field that holds the tenant of a document; empty if there are none.

        Raises:
            IndexMismatchError: no document has a tenant, or the file is damaged.
        """
        self.tenant = tenant
        self.digest = digest
        self._folder = folder
        self._count = count
        self.selected = lru_cache(_KEPT)(self._selected)
        if tenant and not any(name in self._columns for name in (tenant, tenant.partition(".")[0])):
            raise IndexMismatchError(
                f"No document of {folder} has the metadata field {tenant!r}, which should hold its tenant; correct"
                f" ?tenant={tenant}, or build the index from documents with this field."
            )

    @cached_property
    def _columns(self) -> dict[str, tuple[list[Any], NDArray[np.int32]]]:
        path = self._folder / FIELDS_NAME
        if not path.is_file():
            raise ConfigError(
                f"{self._folder} was built before indexes kept metadata, so it knows no filters and tenants; build it"
                " again."
            )
        with checked(self._folder):
            columns = {}
            for name, (values, places) in _FORM.validate_json(path.read_bytes(), strict=True).items():
                columns[name] = values, np.array(places, np.int32)
                if len(places) != self._count or max(places) >= len(values):
                    raise ValueError(f"{FIELDS_NAME} does not have the values of {self._count} documents")
            return columns

    def _selected(self, scope: Scope) -> Mask:
        """The documents in a scope.

        Raises:
            ConfigError: there are tenants and the scope names none, or the reverse; or the index has no metadata.
            IndexMismatchError: the file is damaged.
        """
        met = np.ones(self._count, bool)
        for condition in conditions_of(str(self._folder), self.tenant, scope):
            met &= self._meeting(condition)
        return met

    def _meeting(self, condition: Condition) -> Mask:
        name = condition.field
        met = np.zeros(self._count, bool)
        for column in dict.fromkeys((name.partition(".")[0], name)):  # as in at(), a field with dots in its name counts
            if column in self._columns:
                values, places = self._columns[column]
                hits = np.array([*(holds(condition, at({column: value}, name)) for value in values), False])
                met = np.where(places < 0, met, hits[places])
        return met


@dataclass(frozen=True, eq=False)
class SelectedDocuments(Mapping[str, Document], RemoteCorpus):
    """The documents that meet conditions; their metadata are tested when they are read.

    Attributes:
        documents: all documents.
        where: the conditions.
    """

    documents: Corpus
    where: Filter

    def fetch(self, doc_ids: Sequence[str]) -> dict[str, Document]:
        """The given documents by id; those that may not be seen are left out."""
        known = (self.documents[doc_id] for doc_id in doc_ids if doc_id in self.documents)
        return {document.id: document for document in known if meets(self.where, document.metadata)}

    def __getitem__(self, doc_id: str) -> Document:
        return self.fetch([doc_id])[doc_id]

    def __iter__(self) -> Iterator[str]:
        return (doc_id for doc_id, document in self.documents.items() if meets(self.where, document.metadata))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class FolderRetriever(Retriever):
    """Searches an index folder, or the documents in it that a scope selects; exactly, by their metadata.

    Attributes:
        fields: the metadata; ``None`` if they are unknown.
        scope: the part of the documents to search.
    """

    fields: Fields | None = None
    scope: Scope = UNRESTRICTED

    def restrict(self, scope: Scope) -> Retriever:
        """The retriever of the documents in the scope, with the same index.

        Raises:
            ConfigError: the index has tenants and the scope names none, or the reverse; or it has no metadata.
        """
        if self.fields is None:
            return super().restrict(scope)
        self.fields.selected(scope)
        narrowed = copy(self)
        narrowed.scope = scope
        if scope != UNRESTRICTED:
            narrowed.fingerprint = hash_of(self.fingerprint, self.fields.digest, repr(scope))
        return narrowed

    def selected(self) -> Mask | None:
        """The documents to search, or ``None`` for all; exceptions as of :meth:`restrict`."""
        if self.fields is None or (self.scope == UNRESTRICTED and not self.fields.tenant):
            return None
        return self.fields.selected(self.scope)
