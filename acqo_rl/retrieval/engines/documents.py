"""The documents of a collection in a search engine. They are read when they are asked for, and never kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, replace

from acqo_rl.retrieval.engines.collection import EngineCollection, reported
from acqo_rl.retrieval.engines.conditions import as_json, at, conditions_of, meets, widened
from acqo_rl.retrieval.engines.engine import Row
from acqo_rl.retrieval.engines.location import LocationOptions
from acqo_rl.roles import RemoteCorpus
from acqo_rl.types import UNRESTRICTED, Document, Scope


@dataclass(frozen=True, eq=False)
class EngineDocuments(Mapping[str, Document], RemoteCorpus):
    """Document id -> document, of the part of a collection that may be seen.

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
        found = self.collection(lambda: list(self._read(wanted))) if wanted else []
        return {document.id: document for document in _joined(found)}

    def values(self) -> ValuesView[Document]:
        """All documents, from one scan."""
        return {document.id: document for document in _joined(self.passages())}.values()

    def passages(self) -> Iterator[Document]:
        """All passages, in any order."""
        with reported(self.collection.location, self.collection.engine):
            yield from self._read(None)

    def __getitem__(self, doc_id: str) -> Document:
        return self.fetch([doc_id])[doc_id]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(passage.id for passage in self.passages()))

    def __len__(self) -> int:
        schema = self.collection(self.collection.engine.schema)
        return schema.count if schema else 0

    def _read(self, doc_ids: Sequence[str] | None) -> Iterator[Document]:
        where, fields = conditions_of(self.collection.location, self.scope), self.collection.engine.fields
        for doc_id, row in self.collection.engine.rows(doc_ids, widened(where, fields)):
            if doc_id is not None and meets(where, row, fields):
                yield as_document(doc_id, row, fields)


def _joined(passages: Iterable[Document]) -> Iterable[Document]:
    """One document per id, with the distinct texts of its passages."""
    found: dict[str, Document] = {}
    texts: dict[str, dict[str, None]] = {}
    for passage in passages:
        found.setdefault(passage.id, passage)
        texts.setdefault(passage.id, {})[passage.text] = None
    return [replace(document, text="\n".join(texts[document.id])) for document in found.values()]


def as_document(doc_id: str, row: Row, fields: LocationOptions) -> Document:
    """The document of an entry; fields that are not of the document itself are its metadata."""
    title, text = (str(at(row, name) or "") for name in (fields.title, fields.text))
    if fields.metadata:
        given = at(row, fields.metadata) or {}
        metadata = given if isinstance(given, Mapping) else {fields.metadata: given}
    else:
        own = {fields.id, fields.title, fields.text, fields.vector}
        metadata = {name: value for name, value in row.items() if name not in own}
    return Document(doc_id, title, text, as_json(metadata)) if metadata else Document(doc_id, title, text)
