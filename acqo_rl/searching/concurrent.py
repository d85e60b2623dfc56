"""Searches the sub-queries of a batch at all retrievers concurrently; each distinct text is searched once.

The parts of a composite retriever (hybrid, several collections) are called separately, and their rankings are merged.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from acqo_rl.retrieval.composite import Composite
from acqo_rl.roles import Retriever
from acqo_rl.searching.result import Failure
from acqo_rl.searching.sub_queries import Retrievers, searched_text, split_retrievers
from acqo_rl.searching.workers import Workers
from acqo_rl.text import one_line
from acqo_rl.types import Query, Ranking, Reformulation, SubQuery, search_key

_Call = tuple[Retriever, list[str]]
_Key = tuple[int, tuple[bool, str]]
"""Identity of the retriever and key of the text."""


class ConcurrentSearch:
    """Searches the sub-queries of a batch, and the raw queries at :class:`RawQueryOnly` retrievers.

    Without workers, as in training and evaluation, the first exception is raised. With workers, as in a service, a
    retriever or a part that fails or times out loses only its own rankings, and the failure is recorded. With a
    time-out, each text is a separate call. Otherwise a retriever gets all texts in one call. If that call fails and
    there are workers, each text is retried separately.
    """

    def __init__(
        self,
        retrievers: Retrievers,
        depth: int,
        workers: Workers | None = None,
        timeout: float | None = None,
    ) -> None:
        """Starts no search yet.

        Args:
            retrievers: with workers, their names and the names of their parts must be unique.
            depth: documents per ranking.
            workers: threads that run the calls; without them, exceptions are raised.
            timeout: seconds for one text at one retriever; ``None`` means no limit.
        """
        self._retrievers, self._originals = split_retrievers(retrievers)
        self._singles = flatten(self._retrievers), flatten(self._originals)
        self._depth = depth
        self._raises = workers is None
        self._workers = workers or Workers()
        self._timeout = timeout
        self._found: dict[_Key, Ranking] = {}
        self._failed: dict[_Key, Failure] = {}

    def rankings(self, reformulations: Sequence[Reformulation]) -> list[tuple[Ranking, ...]]:
        """Returns the rankings of each reformulation, in input order: those of the sub-queries, then of the raw query.

        Texts seen before are not searched again. Failed searches are missing. Blank sub-queries are not searched. A
        sub-query that does not reach its ``min_margin`` gets an empty ranking. What a query leaves out is no result.
        """
        self._search(reformulations)
        return [
            (
                *_by_margin(self._rankings(made.query, made.sub_queries, self._retrievers)),
                *(ranking for _, ranking in self._rankings(made.query, [_original_of(made)], self._originals)),
            )
            for made in reformulations
        ]

    def best_cosines(self, reformulations: Sequence[Reformulation]) -> list[float]:
        """The best cosine of each reformulation's sub-queries at a dense retriever; minus infinity if there is none."""
        self._search(reformulations)
        dense = [one for one in self._singles[0] if one.cosine]
        lists = [
            [r for _, r in self._rankings(made.query, made.sub_queries, dense) if r.scores] for made in reformulations
        ]
        return [max((ranking.scores[0] for ranking in some), default=-math.inf) for some in lists]

    def failures(self, *searched: Reformulation) -> tuple[Failure, ...]:
        """The failed searches of one query, over all its reformulations."""
        keys = dict.fromkeys(_key(*call) for made in searched for call in self._calls_of(made))
        return tuple(self._failed[key] for key in keys if key in self._failed)

    def _calls_of(self, made: Reformulation) -> Iterator[tuple[Retriever, str]]:
        """Each single retriever with each text that it searches."""
        for sub_queries, singles in zip((made.sub_queries, [_original_of(made)]), self._singles, strict=True):
            for sub_query in sub_queries if singles else ():
                if one_line(sub_query.text):
                    yield from ((one, searched_text(sub_query)) for one in singles)

    def _search(self, reformulations: Sequence[Reformulation]) -> None:
        wanted = {_key(*call): call for made in reformulations for call in self._calls_of(made)}
        new = [call for key, call in wanted.items() if key not in self._found and key not in self._failed]
        groups: dict[int, _Call] = {}
        for one, text in new:
            groups.setdefault(id(one), (one, []))[1].append(text)
        failed = self._run(list(groups.values()) if self._timeout is None else [(one, [text]) for one, text in new])
        again = [(one, [text]) for one, texts, _ in failed if len(texts) > 1 for text in texts]
        for one, [text], error in [*(some for some in failed if len(some[1]) == 1), *self._run(again)]:
            self._failed[_key(one, text)] = Failure.of("retrieval", error, one.name, text)

    def _run(self, calls: Sequence[_Call]) -> list[tuple[Retriever, list[str], Exception]]:
        """Runs the calls concurrently, stores their rankings and returns the failed calls."""
        asked = [(one.name, partial(self._call, one, texts)) for one, texts in calls]
        failed = []
        for (one, texts), outcome in zip(calls, self._workers.run(asked, self._timeout), strict=True):
            if not isinstance(outcome, Exception):
                self._found.update((_key(one, text), found) for text, found in zip(texts, outcome, strict=True))
            elif self._raises:
                raise outcome
            else:
                failed.append((one, texts, outcome))
        return failed

    def _call(self, retriever: Retriever, texts: list[str]) -> list[Ranking]:
        rankings = retriever.search(texts, self._depth)
        if len(rankings) != len(texts):
            raise ValueError(f"{len(rankings)} rankings for {len(texts)} texts; a retriever must return one per text")
        return rankings

    def _rankings(
        self, query: Query, sub_queries: Iterable[SubQuery], retrievers: Sequence[Retriever]
    ) -> list[tuple[SubQuery, Ranking]]:
        """The rankings of each sub-query of a query, in the order of the retrievers."""
        return [
            (sub_query, _found_by(sub_query, ranking, query.left_out))
            for sub_query in sub_queries
            for one in retrievers
            if (ranking := self._ranking(one, searched_text(sub_query))) is not None
        ]

    def _ranking(self, retriever: Retriever, text: str) -> Ranking | None:
        key = _key(retriever, text)
        if key not in self._found and isinstance(retriever, Composite):
            lists = [ranking for part in retriever.parts if (ranking := self._ranking(part, text)) is not None]
            if lists:
                self._found[key] = retriever.merge(lists, self._depth)
        return self._found.get(key)


def flatten(retrievers: Sequence[Retriever]) -> list[Retriever]:
    """Replaces composite retrievers by their parts, recursively."""
    return [single for one in retrievers for single in (flatten(one.parts) if isinstance(one, Composite) else [one])]


def _by_margin(found: Sequence[tuple[SubQuery, Ranking]]) -> Iterator[Ranking]:
    """The rankings; those of sub-queries that do not reach their ``min_margin`` are empty."""
    best: dict[str, float] = {}
    for sub_query, ranking in found:
        if sub_query.min_margin is None and ranking.scores:
            best[ranking.retriever] = max(ranking.scores[0], best.get(ranking.retriever, -math.inf))
    for sub_query, ranking in found:
        least = -math.inf if sub_query.min_margin is None else sub_query.min_margin
        lead = ranking.scores[0] - best.get(ranking.retriever, -math.inf) if ranking.scores else math.inf
        yield ranking if lead > least else ranking.first(0)


def _found_by(sub_query: SubQuery, ranking: Ranking, left_out: Collection[str]) -> Ranking:
    if left_out:
        ranking = ranking.at([i for i, doc_id in enumerate(ranking.doc_ids) if doc_id not in left_out])
    same = (type(ranking.query), ranking.query, ranking.weight) == (str, sub_query.text, sub_query.weight)
    return ranking if same else replace(ranking, query=sub_query.text, weight=sub_query.weight)


def _original_of(made: Reformulation) -> SubQuery:
    """The raw query, with the weight that it has among the sub-queries."""
    weight = next((s.weight for s in made.sub_queries if s.kind == "original"), 1.0)
    return SubQuery(made.query.text, "original", weight)


def _key(retriever: Retriever, text: str) -> _Key:
    return id(retriever), search_key(text)
