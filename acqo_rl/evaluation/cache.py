"""What a comparison has paid for already: reformulations by query, rankings by text.

The two classes stand in for the reformulator and the retriever on the one path and ask them only for what is not
there yet, so that another strategy, retriever or fusion costs only what is new, and an interrupted run goes on.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from threading import Lock
from typing import Any

from acqo_rl.errors import DataError
from acqo_rl.evaluation.store import reformulation_of
from acqo_rl.searching.lists import DEPTH
from acqo_rl.types import (
    FeedbackSpec,
    Query,
    Ranking,
    Reformulation,
    Reformulator,
    Retriever,
    feedback_of,
    has_cosines,
    search_key,
)

_AT_ONCE = 500
"""Keys in one SQL statement."""


class Cache:
    """Answers with the milliseconds that they took, in one SQLite file; written batch by batch, each whole or not."""

    def __init__(self, path: str | Path) -> None:
        """Opens the file, or makes it.

        Raises:
            DataError: the file is damaged, or is something else; so in every method, where that shows later.
        """
        self._path = path
        self._lock = Lock()
        with self._usable():
            # A hybrid searches its parts in threads of their own; the lock lets in one at a time.
            self._database = sqlite3.connect(path, check_same_thread=False)
            with self._database:
                self._database.execute(
                    "CREATE TABLE IF NOT EXISTS answers"
                    " (asked TEXT, key TEXT, answer TEXT, ms REAL, PRIMARY KEY (asked, key)) WITHOUT ROWID"
                )

    def read(self, asked: str, keys: Sequence[str]) -> dict[str, tuple[Any, float]]:
        """Answer and milliseconds for each key that is there.

        Args:
            asked: who was asked; all that the answer depends on but the key.
            keys: see ``key_of``.
        """
        found = {}
        with self._usable(), self._lock:
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                rows = self._database.execute(
                    f"SELECT key, answer, ms FROM answers WHERE asked = ? AND key IN ({','.join('?' * len(some))})",
                    (asked, *some),
                )
                found.update({key: (json.loads(answer), ms) for key, answer, ms in rows})
        return found

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    def write(self, asked: str, answers: Iterable[tuple[str, Any, float]]) -> None:
        """Keeps (key, answer that JSON can hold, milliseconds)."""
        rows = [(asked, key, json.dumps(answer), ms) for key, answer, ms in answers]
        with self._usable(), self._lock, self._database:
            self._database.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", rows)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError, TypeError) as error:  # of the file, and of an answer that is no JSON
            raise DataError(
                f"{self._path} cannot be used ({error}): delete it; what it held is computed again."
            ) from error


def key_of(*values: Any) -> str:
    """A short key of values that JSON can hold."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:32]


class CachedRetriever:
    """Asks a retriever once for each text, always ``DEPTH`` deep, and remembers how long that took."""

    def __init__(self, name: str, retriever: Retriever, made_with: str, cache: Cache, *, embeds: bool) -> None:
        """Wraps a retriever.

        Args:
            name: recorded in every ranking.
            retriever: asked for what the cache does not hold.
            made_with: fingerprint of its index.
            cache: where answers are kept.
            embeds: whether a search embeds its text.
        """
        self.name = name
        self.embeds = embeds
        self.cosine = has_cosines(retriever)
        self._retriever = retriever
        self._asked = f"search {DEPTH} {made_with}"
        self._cache = cache
        self._found: dict[str, tuple[Ranking, float]] = {}

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """At most ``k`` documents a text, no more than ``DEPTH``, position for position."""
        keys = [_text_key(text) for text in texts]
        self._fetch({key: text for key, text in zip(keys, texts, strict=True) if key not in self._found})
        return [self._found[key][0].first(k) for key in keys]

    def ms(self, text: str) -> float:
        """Milliseconds of the search with a text: those of its batch, divided by the batch's texts."""
        return self._found[_text_key(text)][1]

    def _fetch(self, texts: Mapping[str, str]) -> None:
        """Finds key -> text, in the cache or else in the index."""
        known = self._cache.read(self._asked, list(texts))
        missing = {key: text for key, text in texts.items() if key not in known}
        if missing:
            begin = time.perf_counter()
            rankings = self._retriever.search(list(missing.values()), DEPTH)
            ms = 1000 * (time.perf_counter() - begin) / len(missing)
            answers = {key: (r.doc_ids, r.scores) for key, r in zip(missing, rankings, strict=True)}
            self._cache.write(self._asked, [(key, answer, ms) for key, answer in answers.items()])
            known.update({key: (answer, ms) for key, answer in answers.items()})
        for key, text in texts.items():
            (doc_ids, scores), ms = known[key]
            self._found[key] = Ranking(tuple(doc_ids), tuple(scores), self.name, text), ms


class CachedReformulator:
    """Asks a reformulator once for each query, and remembers how long that took; it is loaded when it is needed."""

    def __init__(self, name: str, load: Callable[[], Reformulator], made_with: str, cache: Cache) -> None:
        """Wraps a reformulator.

        Args:
            name: of the reformulator.
            load: gives the reformulator.
            made_with: all that its answers depend on but the query.
            cache: where answers are kept.
        """
        self.name = name
        self._load = load
        self._asked = f"reformulate {made_with}"
        self._cache = cache
        self._loaded: Reformulator | None = None
        self._made: dict[Query, tuple[Reformulation, float]] = {}

    @property
    def feedback(self) -> FeedbackSpec:
        """What the reformulator reads of a first search."""
        key = key_of("feedback")
        known = self._cache.read(self._asked, [key])
        if key not in known:
            feedback = feedback_of(self._open())
            self._cache.write(self._asked, [(key, (feedback.results, feedback.words), 0.0)])
            return feedback
        return FeedbackSpec(*known[key][0])

    def missing(self, queries: Sequence[Query]) -> list[Query]:
        """The queries that the reformulator has to be asked for."""
        keys = {query: _query_key(query) for query in queries if query not in self._made}
        known = self._cache.read(self._asked, list(keys.values()))
        return [query for query, key in keys.items() if key not in known]

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """One reformulation a query, position for position.

        One of which a model call failed is asked again by the next process; an answer that cannot be used is an answer.
        """
        missing = self.missing(queries)
        if missing:
            reformulator = self._open()
            begin = time.perf_counter()
            made = reformulator.reformulate(missing)
            ms = 1000 * (time.perf_counter() - begin) / len(missing)
            answered = {query: one for query, one in zip(missing, made, strict=True) if not one.failed_calls}
            self._cache.write(self._asked, [(_query_key(query), asdict(one), ms) for query, one in answered.items()])
            self._made.update({query: (one, ms) for query, one in zip(missing, made, strict=True)})
        wanted = {query: _query_key(query) for query in queries if query not in self._made}
        known = self._cache.read(self._asked, list(wanted.values()))
        for query, key in wanted.items():
            answer, ms = known[key]
            self._made[query] = replace(reformulation_of(answer), query=query), ms
        return [self._made[query][0] for query in queries]

    def ms(self, query: Query) -> float:
        """Milliseconds of the reformulation of a query: those of its batch, divided by the batch's queries."""
        return self._made[query][1]

    def _open(self) -> Reformulator:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded


def _query_key(query: Query) -> str:
    return key_of(query.text, [*map(str, query.history)], [asdict(snippet) for snippet in query.feedback])


def _text_key(text: str) -> str:
    return key_of(*search_key(text))
