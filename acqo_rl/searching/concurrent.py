"""Searches all sub-queries at all retrievers concurrently; each distinct text is searched once.

The parts of a composite retriever (hybrid, several collections) are called separately, and their rankings are merged.
In a service, each call has a time-out: a part that fails or times out loses only its own rankings, and the failure is
recorded. In training and evaluation there are no time-outs, and the first exception is raised.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from acqo_rl.roles import Composite, Retriever
from acqo_rl.searching.result import Failure
from acqo_rl.searching.sub_queries import Retrievers, searched_text, split_retrievers
from acqo_rl.searching.workers import Workers
from acqo_rl.text import one_line
from acqo_rl.types import Ranking, Reformulation, SubQuery, search_key

_Key = tuple[int, tuple[bool, str]]
"""Identity of the retriever and key of the text."""


class ConcurrentSearch:
    """Searches for a batch of queries; each distinct text is searched once at each retriever.

    Without workers, all texts are searched in one call of each retriever, and exceptions are raised. With workers,
    failures are recorded. With a time-out, each text is a separate call. Without one, a retriever gets all texts in one
    call; if that call fails, each text is retried separately. Either way a failure affects only its own text.
    """

    def __init__(
        self,
        retrievers: Sequence[Retriever],
        workers: Workers | None,
        depth: int,
        timeout: float | None = None,
        deadline: float | None = None,
    ) -> None:
        """Starts no search yet.

        Args:
            retrievers: with workers, their names and the names of their parts must be unique.
            workers: threads that run the calls; without them, exceptions are raised.
            depth: documents per ranking.
            timeout: seconds for one text at one retriever; ``None`` means no limit.
            deadline: value of ``time.monotonic()`` at which all calls time out.
        """
        self._retrievers = retrievers
        self._singles = flatten(retrievers)
        self._workers = workers
        self._depth = depth
        self._timeout = timeout
        self.deadline = deadline
        self._found: dict[_Key, Ranking] = {}
        self._failed: dict[_Key, Failure] = {}

    def search(self, texts: Iterable[str]) -> list[tuple[Ranking, ...]]:
        """Returns the rankings of each text, in the order of the retrievers; texts seen before are not searched again.

        Failed searches are missing.
        """
        texts = list(texts)
        self._search(list({search_key(text): text for text in texts if not self._is_searched(text)}.values()))
        return [tuple(self._lists(text)) for text in texts]

    def best_cosines(self, texts: Sequence[str]) -> list[float]:
        """The best cosine that each text finds at a dense retriever; minus infinity if there is none."""
        self.search(texts)
        dense = dense_parts(self._retrievers)
        return [best_score(self._found.get(_key(retriever, text)) for retriever in dense) for text in texts]

    def failures(self, texts: Iterable[str]) -> tuple[Failure, ...]:
        """The failed searches of the texts, in input order."""
        if not self._failed:
            return ()
        return tuple(self._failed[key] for text in texts for key in self._keys(text) if key in self._failed)

    def _lists(self, text: str) -> Iterator[Ranking]:
        """One ranking per retriever whose search succeeded."""
        for retriever in self._retrievers:
            if (ranking := self._list(retriever, text)) is not None:
                yield ranking

    def _list(self, retriever: Retriever, text: str) -> Ranking | None:
        if not isinstance(retriever, Composite):
            return self._found.get(_key(retriever, text))
        lists = [ranking for part in retriever.parts if (ranking := self._list(part, text)) is not None]
        return retriever.merge(lists, self._depth) if lists else None

    def _search(self, new: list[str]) -> None:
        if not new:
            return
        groups = [new] if self._timeout is None else [[text] for text in new]
        calls = [(retriever, group) for retriever in self._singles for group in groups]
        if self._workers is None:
            self._search_directly(calls)
            return
        failed = self._ask(self._workers, calls)
        again = [(retriever, [text]) for retriever, group, _ in failed if len(group) > 1 for text in group]
        for retriever, group, error in [*(one for one in failed if len(one[1]) == 1), *self._ask(self._workers, again)]:
            [text] = group
            self._failed[_key(retriever, text)] = Failure.of("retrieval", error, retriever.name, text)

    def _search_directly(self, calls: Sequence[tuple[Retriever, list[str]]]) -> None:
        if len(calls) == 1:
            found = [self._call(*calls[0])]
        else:
            with ThreadPoolExecutor(len(calls)) as pool:
                found = list(pool.map(lambda call: self._call(*call), calls))
        for (retriever, texts), rankings in zip(calls, found, strict=True):
            self._store(retriever, texts, rankings)

    def _store(self, retriever: Retriever, texts: Sequence[str], rankings: Sequence[Ranking]) -> None:
        self._found.update({_key(retriever, text): r for text, r in zip(texts, rankings, strict=True)})

    def _ask(
        self, workers: Workers, calls: Sequence[tuple[Retriever, list[str]]]
    ) -> list[tuple[Retriever, list[str], Exception]]:
        """Runs the calls concurrently, stores their rankings and returns the failed calls."""
        asked = [(retriever.name, partial(self._call, retriever, group)) for retriever, group in calls]
        failed = []
        for (retriever, group), outcome in zip(calls, workers.run(asked, self._remaining_seconds()), strict=True):
            if isinstance(outcome, Exception):
                failed.append((retriever, group, outcome))
            else:
                self._store(retriever, group, outcome)
        return failed

    def _keys(self, text: str) -> list[_Key]:
        return [_key(retriever, text) for retriever in self._singles]

    def _is_searched(self, text: str) -> bool:
        key = _key(self._singles[0], text)
        return key in self._found or key in self._failed

    def _call(self, retriever: Retriever, texts: list[str]) -> list[Ranking]:
        rankings = retriever.search(texts, self._depth)
        if len(rankings) != len(texts):
            raise ValueError(f"{len(rankings)} rankings for {len(texts)} texts; a retriever must return one per text")
        return rankings

    def _remaining_seconds(self) -> float | None:
        limits = [self._timeout, None if self.deadline is None else self.deadline - time.monotonic()]
        return min((limit for limit in limits if limit is not None), default=None)


class ConcurrentSubQuerySearch:
    """Searches the sub-queries of a batch, and the raw queries at :class:`RawQueryOnly` retrievers."""

    def __init__(self, of_sub_queries: ConcurrentSearch, of_raw_queries: ConcurrentSearch | None) -> None:
        self._of_sub_queries = of_sub_queries
        self._of_raw_queries = of_raw_queries

    @classmethod
    def direct(cls, retrievers: Retrievers, depth: int) -> ConcurrentSubQuerySearch:
        """Searches without time-outs; exceptions of the retrievers are raised."""
        asked, originals = split_retrievers(retrievers)
        of_raw_queries = ConcurrentSearch(originals, None, depth) if originals else None
        return cls(ConcurrentSearch(asked, None, depth), of_raw_queries)

    @property
    def deadline(self) -> float | None:
        """Value of ``time.monotonic()`` at which all calls time out."""
        return self._of_sub_queries.deadline

    def search(self, reformulations: Sequence[Reformulation]) -> list[tuple[Ranking, ...]]:
        """Returns the rankings of each reformulation, in input order: those of the sub-queries, then of the raw query.

        Blank sub-queries are not searched. A sub-query that does not reach its ``min_margin`` gets an empty ranking.
        """
        lists = _by_sub_query(reformulations, self._of_sub_queries)
        if self._of_raw_queries is None:
            return lists
        of_raw_queries = _by_sub_query([_original_of(r) for r in reformulations], self._of_raw_queries)
        return [(*some, *others) for some, others in zip(lists, of_raw_queries, strict=True)]

    def best_cosines(self, reformulations: Sequence[Reformulation]) -> list[float]:
        """The best cosine that the sub-queries of each reformulation find; minus infinity if there is none."""
        of_each = [[searched_text(s) for s in made.sub_queries] for made in reformulations]
        self._of_sub_queries.search(text for texts in of_each for text in texts)
        return [max(self._of_sub_queries.best_cosines(texts)) for texts in of_each]

    def failures(self, *searched: Reformulation) -> tuple[Failure, ...]:
        """The failed searches of one query, over all its reformulations."""
        texts = dict.fromkeys(searched_text(s) for reformulation in searched for s in reformulation.sub_queries)
        failures = self._of_sub_queries.failures(texts)
        raw = searched[0].query.text
        return (*failures, *self._of_raw_queries.failures([raw])) if self._of_raw_queries else failures


def flatten(retrievers: Sequence[Retriever]) -> list[Retriever]:
    """Replaces composite retrievers by their parts, recursively."""
    asked: list[Retriever] = []
    for retriever in retrievers:
        asked += flatten(retriever.parts) if isinstance(retriever, Composite) else [retriever]
    return asked


def dense_parts(retrievers: Sequence[Retriever]) -> list[Retriever]:
    """The retrievers, and the parts of composite ones, whose scores are cosines."""
    return [retriever for retriever in flatten(retrievers) if retriever.cosine]


def best_score(rankings: Iterable[Ranking | None]) -> float:
    """The highest score of the rankings; minus infinity if they are empty or missing."""
    return max((ranking.scores[0] for ranking in rankings if ranking and ranking.scores), default=-math.inf)


def _by_sub_query(reformulations: Sequence[Reformulation], searches: ConcurrentSearch) -> list[tuple[Ranking, ...]]:
    wanted = [[s for s in r.sub_queries if one_line(s.text)] for r in reformulations]
    texts = {search_key(text): text for sub_queries in wanted for text in map(searched_text, sub_queries)}
    found = dict(zip(texts, searches.search(texts.values()), strict=True))
    return [
        _by_margin([(s, _found_by(s, r)) for s in sub_queries for r in found[search_key(searched_text(s))]])
        for sub_queries in wanted
    ]


def _by_margin(found: Sequence[tuple[SubQuery, Ranking]]) -> tuple[Ranking, ...]:
    """The rankings; those of sub-queries that do not reach their ``min_margin`` are empty."""
    best: dict[str, float] = {}
    for sub_query, ranking in found:
        if sub_query.min_margin is None and ranking.scores:
            best[ranking.retriever] = max(ranking.scores[0], best.get(ranking.retriever, -math.inf))

    def counts(sub_query: SubQuery, ranking: Ranking) -> bool:
        if sub_query.min_margin is None or not ranking.scores:
            return True
        return ranking.scores[0] - best.get(ranking.retriever, -math.inf) > sub_query.min_margin

    return tuple(ranking if counts(sub_query, ranking) else ranking.first(0) for sub_query, ranking in found)


def _found_by(sub_query: SubQuery, ranking: Ranking) -> Ranking:
    same = (type(ranking.query), ranking.query, ranking.weight) == (str, sub_query.text, sub_query.weight)
    return ranking if same else replace(ranking, query=sub_query.text, weight=sub_query.weight)


def _original_of(reformulation: Reformulation) -> Reformulation:
    """The raw query as the only sub-query, with the weight that it has among the sub-queries."""
    weight = next((s.weight for s in reformulation.sub_queries if s.kind == "original"), 1.0)
    return replace(reformulation, sub_queries=(SubQuery(reformulation.query.text, "original", weight),))


def _key(retriever: Retriever, text: str) -> _Key:
    return id(retriever), search_key(text)
