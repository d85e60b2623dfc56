"""Reformulation by prompting a language model with one or several strategies."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace

from acqo_rl.language_models.structured import problem_of, read_reply
from acqo_rl.reformulation.pass_through import pass_through, past_small_talk
from acqo_rl.reformulation.prompt import partly_read
from acqo_rl.reformulation.strategies import Strategy
from acqo_rl.roles import LanguageModel, Reformulator
from acqo_rl.text import known_share, normalised, text_of
from acqo_rl.types import Completion, Conversation, FeedbackSpec, Query, Reformulation, Route, Schema, SubQuery

_LEAST_SHARE = 0.5


class Prompted(Reformulator):
    """Prompts a language model; falls back to the raw query if a completion cannot be used, and reports the problem.

    The sub-queries of all strategies are searched in addition to the raw query. A rewrite that shares no content word
    with query, conversation and feedback, such as a refusal, is not searched and reported as a problem. If it shares
    fewer than half of its words, the raw query is searched as well.
    """

    def __init__(
        self,
        model: LanguageModel,
        strategies: Sequence[Strategy],
        name: str = "",
        feedback: FeedbackSpec = Reformulator.feedback,
        retry_below: float | None = None,
    ) -> None:
        """Creates the reformulator.

        Args:
            model: the language model for all strategies.
            strategies: prompts and schemas; each one adds sub-queries.
            name: name of the reformulator; by default the names of the strategies, joined by ``+``.
            feedback: see :class:`acqo_rl.roles.Reformulator`.
            retry_below: see :class:`acqo_rl.roles.Reformulator`.
        """
        self.name = name or "+".join(strategy.name for strategy in strategies)
        self.feedback = feedback
        self.retry_below = retry_below
        self.max_calls = len(strategies)
        self._asked = [
            (model if strategy.temperature is None else model.at_temperature(strategy.temperature), strategy)
            for strategy in strategies
        ]

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order, with one batched model call per strategy.

        Small talk passes.
        """
        return past_small_talk(queries, self._reformulate, self.name)

    def _reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        with ThreadPoolExecutor(len(self._asked)) as pool:
            waiting = [
                pool.submit(copy_context().run, complete, model, [*map(one.conversation, queries)], one.schema)
                for model, one in self._asked
            ]
            written = [future.result() for future in waiting]
        return [self._read(query, completions) for query, *completions in zip(queries, *written, strict=True)]

    def _read(self, query: Query, completions: Sequence[Completion]) -> Reformulation:
        routes: list[Route] = []
        found: list[SubQuery] = []
        original_weights: list[float] = []
        problems = []
        for (_, strategy), completion in zip(self._asked, completions, strict=True):
            reply = None if completion.problem else read_reply(completion, strategy.schema)
            if reply is None:
                problems.append(f"{strategy.name}: {problem_of(completion)}")
                continue
            route, sub_queries = strategy.read(query, reply)
            shares = {s: 1.0 if strategy.adds_words else known_share(s.text, text_of(query)) for s in sub_queries}
            if strange := [one for one, share in shares.items() if not share]:
                problems.append(f"{strategy.name}: {strange[0].text[:80]!r} shares no word with the question")
                sub_queries = [one for one in sub_queries if one not in strange]
            if sub_queries:
                routes.append(route)
                found += sub_queries
                is_doubtful = min(shares[one] for one in sub_queries) < _LEAST_SHARE
                original_weights.append(1.0 if is_doubtful else strategy.original_weight)
            elif route != "pass" and not strange:
                problems.append(f"{strategy.name}: nothing to search in {completion.text[:80]!r}")
        route = "decompose" if "decompose" in routes else next(iter(routes), "pass")
        searched = _paths(query, max(original_weights, default=1.0), found)
        if {s.kind for s in searched} == {"original"}:
            searched = pass_through(query, self.name).sub_queries
        return Reformulation(
            query,
            route,
            searched,
            self.name,
            completion="\n\n".join(c.text for c in completions),
            tokens=sum(c.tokens for c in completions),
            problem="; ".join(problems) or None,
            calls=len(completions),
            failed_calls=sum(c.problem is not None for c in completions),
            notes=partly_read(query, self._asked[0][1].conversation(query)),
        )


def complete(model: LanguageModel, conversations: Sequence[Conversation], schema: Schema | None) -> list[Completion]:
    """Calls a language model.

    Raises:
        ValueError: it does not return one completion per conversation.
    """
    completions = model.generate(conversations, schema)
    if len(completions) != len(conversations):
        raise ValueError(
            f"{len(completions)} completions for {len(conversations)} prompts; a model must return one per prompt"
        )
    return completions


def _paths(query: Query, original_weight: float, found: Iterable[SubQuery]) -> tuple[SubQuery, ...]:
    """The raw query, then the sub-queries without repetitions; a repeated sub-query gets its greatest weight."""
    key = normalised(query.text)
    by_key = {key: SubQuery(query.text, "original", original_weight)} if original_weight > 0 else {}
    for sub_query in found:
        its_key = normalised(sub_query.text)
        if its_key == key:
            sub_query = replace(sub_query, text=query.text, kind="original")
        first = by_key.setdefault(its_key, sub_query)
        by_key[its_key] = replace(first, weight=max(first.weight, sub_query.weight))
    return tuple(by_key.values())
