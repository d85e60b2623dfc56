"""Keeps what a study has computed: reformulations by query, rankings by text, results of pipeline steps by query.

:class:`CachedReformulator`, :class:`CachedRetriever` and :class:`CachedReranker` compute only what is not yet kept. A
further reformulator, index or fusion therefore costs only what is new, and an interrupted study continues.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from acqo_rl import __version__
from acqo_rl.embedded import resolve
from acqo_rl.errors import DataError
from acqo_rl.language_models.openvino import split_prefix
from acqo_rl.reformulation.load import StrategySettings, prompts_model, strategy_key
from acqo_rl.roles import Reformulator, Reranker, Retriever
from acqo_rl.searching.sub_queries import DEPTH
from acqo_rl.types import FeedbackSpec, Qrels, Query, Ranking, Reformulation, Snippet, SubQuery, search_key

_AT_ONCE = 500
"""Number of keys in one SQL statement."""


class Cache:
    """Answers and the milliseconds they took, in one SQLite file. A batch is written completely or not at all."""

    def __init__(self, path: str | Path) -> None:
        """Opens or creates the file.

        Raises:
            DataError: the file is damaged or not a cache. Every method raises it if the damage shows later.
        """
        self._path = path
        self._lock = Lock()
        with self._usable():
            # A hybrid searches its parts in threads; the lock admits one at a time.
            self._database = sqlite3.connect(path, check_same_thread=False)
            with self._database:
                self._database.execute(
                    "CREATE TABLE IF NOT EXISTS answers"
                    " (asked TEXT, key TEXT, answer TEXT, ms REAL, PRIMARY KEY (asked, key)) WITHOUT ROWID"
                )

    def read(self, asked: str, keys: Sequence[str]) -> dict[str, tuple[Any, float]]:
        """Returns key -> (answer, milliseconds) for the keys that are kept.

        Args:
            asked: everything except the key that the answer depends on.
            keys: see :func:`key_of`.
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

    def write(self, asked: str, answers: Iterable[tuple[str, Any, float]]) -> None:
        """Keeps (key, answer, milliseconds); answers must be JSON-serialisable."""
        rows = [(asked, key, json.dumps(answer), ms) for key, answer, ms in answers]
        with self._usable(), self._lock, self._database:
            self._database.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)", rows)

    def close(self) -> None:
        """Closes the file."""
        self._database.close()

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, ValueError, TypeError) as error:  # from the file, or from an answer that is not JSON
            raise DataError(
                f"{self._path} cannot be used ({error}): delete it, and its contents are computed again."
            ) from error


class CachedRetriever(Retriever):
    """Searches each text once, always ``DEPTH`` documents deep, and keeps the time it took."""

    def __init__(self, name: str, retriever: Retriever, fingerprint: str, cache: Cache, *, embeds: bool) -> None:
        """Wraps a retriever.

        Args:
            name: recorded in every ranking.
            retriever: searches the texts that the cache does not hold.
            fingerprint: of the index.
            cache: keeps the rankings.
            embeds: whether a search embeds its text.
        """
        self.name = name
        self.embeds = embeds
        self.cosine = retriever.cosine
        self.uncached = retriever
        self.fingerprint = fingerprint
        self._asked = f"search {DEPTH} {fingerprint}"
        self._cache = cache
        self._found: dict[str, tuple[Ranking, float]] = {}

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """Returns at most ``k`` documents per text, and at most ``DEPTH``, in input order."""
        keys = [_text_key(text) for text in texts]
        self._fetch({key: text for key, text in zip(keys, texts, strict=True) if key not in self._found})
        return [self._found[key][0].first(k) for key in keys]

    def ms(self, text: str) -> float:
        """Milliseconds of the search of a text: those of its batch, divided by the texts of the batch."""
        return self._found[_text_key(text)][1]

    def _fetch(self, texts: Mapping[str, str]) -> None:
        """Finds key -> text in the cache, otherwise in the index."""
        known = self._cache.read(self._asked, list(texts))
        missing = {key: text for key, text in texts.items() if key not in known}
        if missing:
            begin = time.perf_counter()
            rankings = self.uncached.search(list(missing.values()), DEPTH)
            ms = 1000 * (time.perf_counter() - begin) / len(missing)
            answers = {key: (r.doc_ids, r.scores) for key, r in zip(missing, rankings, strict=True)}
            self._cache.write(self._asked, [(key, answer, ms) for key, answer in answers.items()])
            known.update({key: (answer, ms) for key, answer in answers.items()})
        for key, text in texts.items():
            (doc_ids, scores), ms = known[key]
            self._found[key] = Ranking(tuple(doc_ids), tuple(scores), self.name, text), ms


class CachedReformulator(Reformulator):
    """Reformulates each query once and keeps the time it took. The reformulator is loaded when it is first needed."""

    def __init__(self, name: str, load: Callable[[], Reformulator], cache_key: str, cache: Cache) -> None:
        """Wraps a reformulator.

        Args:
            name: of the reformulator.
            load: loads the reformulator.
            cache_key: everything except the query that affects the reformulations; see :func:`reformulator_key`.
            cache: keeps the reformulations.
        """
        self.name = name
        self._open = lru_cache(load)
        self._asked = f"reformulate {cache_key}"
        self._cache = cache
        self._made: dict[Query, tuple[Reformulation, float]] = {}

    @cached_property
    def feedback(self) -> FeedbackSpec:  # type: ignore[override]
        """The feedback that the reformulator reads."""
        key = key_of("feedback")
        known = self._cache.read(self._asked, [key])
        if key not in known:
            feedback = self._open().feedback
            self._cache.write(self._asked, [(key, (feedback.results, feedback.words), 0.0)])
            return feedback
        return FeedbackSpec(*known[key][0])

    def missing(self, queries: Sequence[Query]) -> list[Query]:
        """The queries that are not yet reformulated."""
        keys = {query: query_key(query) for query in queries if query not in self._made}
        known = self._cache.read(self._asked, list(keys.values()))
        return [query for query, key in keys.items() if key not in known]

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order.

        A reformulation with a failed model call is not kept, so the next process tries again. A completion that could
        not be parsed is kept.
        """
        missing = self.missing(queries)
        if missing:
            reformulator = self._open()
            begin = time.perf_counter()
            made = reformulator.reformulate(missing)
            ms = 1000 * (time.perf_counter() - begin) / len(missing)
            answered = {query: one for query, one in zip(missing, made, strict=True) if not one.failed_calls}
            self._cache.write(self._asked, [(query_key(query), asdict(one), ms) for query, one in answered.items()])
            self._made.update({query: (one, ms) for query, one in zip(missing, made, strict=True)})
        wanted = {query: query_key(query) for query in queries if query not in self._made}
        known = self._cache.read(self._asked, list(wanted.values()))
        for query, key in wanted.items():
            answer, ms = known[key]
            self._made[query] = replace(reformulation_of(answer), query=query), ms
        return [self._made[query][0] for query in queries]

    def ms(self, query: Query) -> float:
        """Milliseconds of the reformulation of a query: those of its batch, divided by the queries of the batch."""
        return self._made[query][1]


class CachedReranker(Reranker):
    """Scores each pair once and keeps the time it took. The reranker is loaded when it is first needed."""

    def __init__(self, name: str, load: Callable[[], Reranker], cache_key: str, cache: Cache) -> None:
        """Wraps a reranker.

        Args:
            name: of the reranker.
            load: loads the reranker.
            cache_key: everything except the pair that affects a score.
            cache: keeps the scores.
        """
        self.name = name
        self._open = lru_cache(load)
        self._asked = f"rerank {cache_key}"
        self._cache = cache
        self._scored: dict[tuple[str, str], tuple[float, float]] = {}

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """One score per pair of query and passage, in input order."""
        new = {key_of(*pair): pair for pair in pairs if pair not in self._scored}
        known = self._cache.read(self._asked, list(new))
        if missing := {key: pair for key, pair in new.items() if key not in known}:
            reranker = self._open()
            begin = time.perf_counter()
            scores = reranker.score(list(missing.values()))
            ms = 1000 * (time.perf_counter() - begin) / len(missing)
            self._cache.write(self._asked, [(key, score, ms) for key, score in zip(missing, scores, strict=True)])
            known |= {key: (score, ms) for key, score in zip(missing, scores, strict=True)}
        self._scored.update({pair: known[key] for key, pair in new.items()})
        return [self._scored[pair][0] for pair in pairs]

    def ms(self, pair: tuple[str, str]) -> float:
        """Milliseconds of the scoring of a pair: those of its batch, divided by the pairs of the batch."""
        return self._scored[pair][1]


def reformulation_of(row: dict[str, Any]) -> Reformulation:
    """The inverse of ``asdict`` and JSON for a reformulation."""
    asked = row["query"]
    feedback = tuple(Snippet(**snippet) for snippet in asked["feedback"])
    # Files of earlier versions call the minimum margin "lead".
    renamed = ({{"lead": "min_margin"}.get(name, name): value for name, value in s.items()} for s in row["sub_queries"])
    sub_queries = tuple(SubQuery(**sub_query) for sub_query in renamed)
    return Reformulation(**{**row, "query": Query(**{**asked, "feedback": feedback}), "sub_queries": sub_queries})


def key_of(*values: Any) -> str:
    """A short key of JSON-serialisable values."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:32]


def query_key(query: Query) -> str:
    """Key of a query's text, conversation and feedback; its id does not count."""
    return key_of(query.text, [*map(str, query.history)], [asdict(snippet) for snippet in query.feedback])


def reformulator_key(name: str, model: str, settings: StrategySettings) -> str:
    """Everything except the query that affects the reformulations.

    Args:
        name: as in :func:`acqo_rl.reformulation.load.load_reformulator`.
        model: of the reformulator; empty if it has none.
        settings: only the settings that the reformulator reads enter the key.
    """
    made = strategy_key(name, model, settings) if prompts_model(name) else ""
    return f"{name} {model} {fingerprint(model)} {__version__} {made}".rstrip()


def fingerprint(model: str) -> str:
    """Hash of the names, sizes and modification times of the files of a model folder; empty if it is not a folder.

    ``README.md`` and ``export.json`` do not count, because a new model card does not change the model.
    """
    model = split_prefix(model)[1]
    folder = Path(resolve(model) if model.startswith("trained:") else model)
    if not model or not folder.is_dir():
        return ""
    files = sorted(
        path for path in folder.iterdir() if path.is_file() and path.name not in ("README.md", "export.json")
    )
    stamps = [(path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files]
    return hashlib.sha256(json.dumps(stamps).encode()).hexdigest()[:16]


def hash_queries(queries: Sequence[Query], qrels: Qrels, metadata: Mapping[str, Mapping[str, Any]]) -> str:
    """Hash of the texts, conversations, kinds and judgements of queries."""
    asked = [
        (q.id, q.text, [*map(str, q.history)], metadata.get(q.id, {}).get("kind"), sorted(qrels[q.id].items()))
        for q in queries
    ]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]


def _text_key(text: str) -> str:
    return key_of(*search_key(text))
