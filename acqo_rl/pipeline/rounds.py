"""Search, look, search, look: a policy that reads first results reads again what its own searches found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from acqo_rl.errors import ConfigError
from acqo_rl.search import search, searchable, with_snippets
from acqo_rl.text import distinct
from acqo_rl.types import Document, Fusion, Query, Reformulation, Reformulator, Retriever


def in_rounds(
    queries: Sequence[Query],
    reformulate: Callable[[Sequence[Query]], list[Reformulation]],
    look: Callable[[Sequence[Reformulation]], list[Query]],
    rounds: int,
) -> list[Reformulation]:
    """One reformulation a query with the searches of all rounds; a later round that passes adds none.

    Args:
        queries: as the first round reads them.
        reformulate: asked every round.
        look: searches what there is so far, and gives the queries with the top of what was found.
        rounds: times that ``reformulate`` is asked.
    """
    answers = reformulate(queries)
    for _ in range(rounds - 1):
        later = reformulate(look(answers))
        answers = [_joined(first, second) for first, second in zip(answers, later, strict=True)]
    return answers


class Rounds:
    """A reformulator that asks another one several times, each time with the top of what was found so far.

    On the one path the searches of all rounds are searched together once more, so that evaluation sees them as those
    of any other reformulator.
    """

    def __init__(
        self,
        reformulator: Reformulator,
        retriever: Retriever,
        fusion: Fusion,
        corpus: Mapping[str, Document],
        results: int,
        words: int,
        rounds: int = 2,
    ) -> None:
        """Joins the parts.

        Args:
            reformulator: asked every round; the first one reads the feedback that the queries bring.
            retriever: searched between the rounds.
            fusion: merges what was found so far.
            corpus: document id -> document.
            results: documents that it looks at.
            words: words of each.
            rounds: times that it is asked.

        Raises:
            ConfigError: there is nothing to look at, or no round.
        """
        if rounds < 1 or results < 1:
            raise ConfigError(f"{rounds} rounds that look at {results} results: both must be at least 1.")
        self.name = reformulator.name
        self._reformulator = reformulator
        self._retriever = retriever
        self._fusion = fusion
        self._corpus = corpus
        self._feedback = (results, words)
        self._rounds = rounds

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """One reformulation a query with the searches of all rounds, position for position."""

        def ask(looked: Sequence[Query]) -> list[Reformulation]:
            return searchable(self._reformulator.reformulate(looked), [self._retriever])

        def look(answers: Sequence[Reformulation]) -> list[Query]:
            found = search(answers, self._retriever, self._fusion, self._feedback[0])
            return with_snippets(queries, [result.fused for result in found], self._corpus, *self._feedback)

        return in_rounds(queries, ask, look, self._rounds)


def _joined(first: Reformulation, second: Reformulation) -> Reformulation:
    more = second.sub_queries if second.route != "pass" else ()
    last_with_lead = sorted([*first.sub_queries, *more], key=lambda sub_query: sub_query.lead is not None)
    return replace(
        first,
        route=second.route if first.route == "pass" else first.route,
        sub_queries=distinct(last_with_lead) or first.sub_queries,
        completion=f"{first.completion}\n{second.completion}",
        tokens=first.tokens + second.tokens,
        calls=first.calls + second.calls,
        failed_calls=first.failed_calls + second.failed_calls,
        problem=first.problem or second.problem,
    )
