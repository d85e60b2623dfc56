"""Vector stores and retrievers of LangChain, by what they can do: this module does not import LangChain."""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from numbers import Integral, Real
from operator import attrgetter
from typing import Any, Literal

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.engines.engine import Engine, Hit, Seen, calling, seen_in
from acqo_rl.retrieval.engines.filters import as_json
from acqo_rl.retrieval.engines.location import Location, LocationOptions
from acqo_rl.roles import Vectors
from acqo_rl.time_limit import concurrently
from acqo_rl.types import Document, Filter

_CONCURRENCY = 8
"""Maximum number of calls of a store at once."""

_SEARCHES = ("similarity_search", "_get_relevant_documents")
"""Methods of a store and of a retriever."""


class LangChainEngine(Engine):
    """A vector store or a retriever.

    The documents of a store have its relevance scores, or else its scores, which are negated if they rise as distances
    do. Without scores, as in a retriever, a document has 1 divided by its rank. Documents without an id are identified
    by text and metadata. Those of a retriever with equal ids, such as chunks of a page, are identified by their texts
    as well.
    """

    kind: Literal["dense", "bm25"] = "dense"
    embeds = True
    filters = False
    lists = False

    def __init__(self, location: Location, _: float | None = None, found: Any = None) -> None:
        self.location = location
        self._found = _opened(location.place, location.collection) if found is None else found
        self._seen = seen_in(location.shown) if found is None else Seen()
        self._is_store = hasattr(self._found, "similarity_search")
        store = self._found if self._is_store else getattr(self._found, "vectorstore", None)
        by_ids = getattr(store, "get_by_ids", None)
        self._by_ids = None if getattr(by_ids, "__qualname__", "") == "VectorStore.get_by_ids" else by_ids
        self.looks_up = self._by_ids is not None

    def search(self, texts: Sequence[str], vectors: Vectors | None, k: int, where: Filter) -> list[list[Hit]]:
        """The documents for each text, best first. A retriever decides how many there are."""
        asked = [str(text) for text in texts]
        with calling(self.location.shown, Exception):
            if self._is_store:
                found = [*concurrently(lambda text: self._scored(text, k), asked, _CONCURRENCY)]
            else:
                found = [_ranked(documents[:k]) for documents in self._found.batch(asked)]
            return [[self._hit(document, score) for document, score in hits] for hits in found]

    def documents(self, doc_ids: Sequence[str] | None, where: Filter) -> Iterator[Document]:
        """The documents with the given ids; of a store that looks none up, those that were found last.

        Raises:
            ConfigError: all documents are wanted.
        """
        if doc_ids is None:
            raise ConfigError("A store of LangChain cannot list its documents; give a folder with them: --data.")
        if self._by_ids is None:
            yield from self._seen.find(doc_ids)
            return
        with calling(self.location.shown, Exception):
            for document in self._by_ids(list(doc_ids)):
                yield _document(document.id, document)

    def _scored(self, text: str, k: int) -> list[tuple[Any, float]]:
        with suppress(NotImplementedError):
            return list(self._found.similarity_search_with_relevance_scores(text, k=k))
        try:
            scored = list(self._found.similarity_search_with_score(text, k=k))
        except NotImplementedError:
            return _ranked(self._found.similarity_search(text, k=k))
        rise = scored and scored[-1][1] > scored[0][1]
        return [(document, -score if rise else score) for document, score in scored]

    def _hit(self, document: Any, score: float) -> Hit:
        key = document.id or _content_id(document.page_content, document.metadata)
        if self._by_ids is None:
            same = self._seen.find([key])
            if same and same[0].text != document.page_content:
                key = f"{key} {_content_id(document.page_content, {})}"
            self._seen.add([_document(key, document)])
        return key, float(score)


def collection_of(found: Any) -> LangChainEngine:
    """The collection of a store or a retriever of this process."""
    return LangChainEngine(Location("langchain", "", type(found).__name__, LocationOptions()), found=found)


def _ranked(documents: Sequence[Any]) -> list[tuple[Any, float]]:
    return [(document, 1 / rank) for rank, document in enumerate(documents, start=1)]


def _document(key: str, document: Any) -> Document:
    title = str(document.metadata.get("title") or "")
    return Document(key, title, document.page_content, as_json(document.metadata))


@cache
def _opened(folder: str, name: str) -> Any:
    """The object with a name such as ``package.module:store``, whose module may be in a folder.

    Raises:
        ConfigError: there is none, or it is neither a store nor a retriever nor a function that makes one.
    """
    module, _, attribute = name.partition(":")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        found = attrgetter(attribute)(importlib.import_module(module))
        if not any(hasattr(found, name) for name in _SEARCHES) and callable(found):
            found = found()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ConfigError(
            f"langchain:{name} cannot be opened ({error}); give MODULE:NAME, where NAME is a vector store, a retriever"
            f" or a function without arguments that makes one. The module is looked for in {folder} first."
        ) from error
    if not any(hasattr(found, name) for name in _SEARCHES):
        raise ConfigError(f"langchain:{name} is {type(found).__name__}; it must be a vector store or a retriever.")
    return found


def _content_id(text: str, metadata: Mapping[str, Any]) -> str:
    """A hash of text and metadata, because pages may have equal texts; fractions are scores, and differ by query."""
    own = {
        str(key): value for key, value in metadata.items() if not isinstance(value, Real) or isinstance(value, Integral)
    }
    written = json.dumps([text, own], sort_keys=True, default=str)
    return hashlib.sha256(written.encode()).hexdigest()[:32]
