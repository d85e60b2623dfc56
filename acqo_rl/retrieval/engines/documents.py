"""The documents of a collection in a search engine, fetched when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from acqo_rl.retrieval.engines.calls import Calls, reported
from acqo_rl.roles import RemoteCorpus
from acqo_rl.timed_cache import TimedCache
from acqo_rl.types import Document

_KEPT, _SECONDS = 10_000, 60.0
"""Number of documents that are kept, and for how long."""


class EngineDocuments(Mapping[str, Document], RemoteCorpus):
    """Document id -> document. Iterating reads the whole collection.

    The text of a document with several passages is that of all its passages, in the order of the engine.
    """

    def __init__(self, calls: Calls, *, in_passages: bool) -> None:
        """Creates the documents of a collection.

        Args:
            calls: of the engine.
            in_passages: whether a document may have several entries. Iterating then keeps all of them in memory.
        """
        self._calls = calls
        self._in_passages = in_passages
        self._known: TimedCache[Document] = TimedCache(_KEPT, _SECONDS)

    def fetch(self, doc_ids: Sequence[str]) -> None:
        """Loads documents with one call, so that looking them up needs none."""
        if missing := [doc_id for doc_id in dict.fromkeys(doc_ids) if self._known.get(doc_id) is None]:
            for document in _joined(self._calls(self._calls.engine.documents, missing)):
                self._known.put(document.id, document)

    def __getitem__(self, doc_id: str) -> Document:
        self.fetch([doc_id])
        if (document := self._known.get(doc_id)) is None:
            raise KeyError(doc_id)
        return document

    def __iter__(self) -> Iterator[str]:
        with reported(self._calls.shown, self._calls.engine):
            entries = self._calls.engine.scan()
            for document in _joined(entries) if self._in_passages else entries:
                self._known.put(document.id, document)  # its value is looked up next
                yield document.id

    def __len__(self) -> int:
        schema = self._calls(self._calls.engine.schema)
        return schema.count if schema else 0


def _joined(passages: Iterable[Document]) -> Iterable[Document]:
    """One document per id, with the distinct texts of its passages."""
    found: dict[str, Document] = {}
    texts: dict[str, dict[str, None]] = {}
    for passage in passages:
        found.setdefault(passage.id, passage)
        texts.setdefault(passage.id, {})[passage.text] = None
    return [replace(document, text="\n".join(texts[document.id])) for document in found.values()]
