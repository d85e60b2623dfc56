"""The retriever and the documents of a collection in a search engine."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass, replace
from functools import cache

from acqo_rl.errors import ConfigError
from acqo_rl.fusion import best_first, best_scores
from acqo_rl.retrieval.encoder import encode_texts, search_windows
from acqo_rl.retrieval.engines.engine import EngineCollection, Hit, reported
from acqo_rl.retrieval.filters import as_json, at, conditions_of, meets, widened
from acqo_rl.roles import Encoder, RemoteCorpus, Retriever
from acqo_rl.text import one_line
from acqo_rl.types import UNRESTRICTED, Document, Filter, Passage, Ranking, Scope, search_key, well_formed

_log = logging.getLogger(__name__)

_LARGEST_K = 10_000


@dataclass(frozen=True, eq=False)
class EngineRetriever(Retriever):
    """Searches a collection by vectors or by full text; one call of the engine for all texts.

    Documents with equal scores are ordered by their ids.

    Attributes:
        collection: an open one.
        encoder: embeds the texts; without one, full text is searched.
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
        return "dense" if self.encoder else "bm25"

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """Changes with the documents and with the part of them that is searched."""
        of_all = self.collection.info.fingerprint
        return of_all if self.scope == UNRESTRICTED else f"{of_all} {self.scope}"

    def restrict(self, scope: Scope) -> EngineRetriever:
        """The retriever of a part of the documents."""
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
            missing, asked = {key: missing[key] for key in several}, min(4 * asked, _LARGEST_K)
        best = (best_first(sorted(found[search_key(text)].items()), k) for text in texts)
        return [Ranking(*top, self.name, text) for top, text in zip(best, texts, strict=True)]

    def _hits(self, texts: list[str], k: int, where: Filter) -> list[list[Hit]]:
        engine = self.collection.engine
        narrowed = widened(where, engine.fields)
        clean = [Passage(well_formed(text)) if isinstance(text, Passage) else well_formed(text) for text in texts]
        if self.encoder is None:
            return self.collection(engine.search_texts, clean, k, narrowed)
        return self.collection(engine.search_vectors, encode_texts(self.encoder, clean), k, narrowed)

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
        found = self.collection(lambda: list(self._read(wanted))) if wanted else []
        return _joined(found)

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

    def __len__(self) -> int:
        schema = self.collection(self.collection.engine.schema)
        return schema.count if schema else 0

    def _read(self, doc_ids: Sequence[str] | None) -> Iterator[Document]:
        where, fields = conditions_of(self.collection.location, self.scope), self.collection.engine.fields
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
