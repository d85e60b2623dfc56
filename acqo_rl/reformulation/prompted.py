"""Reformulation by prompting a language model with one or several strategies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.reformulation.small_talk import past_small_talk
from acqo_rl.reformulation.strategies import ClassifyAndRewrite, Reading, Strategy
from acqo_rl.replies.thoughts import said_by
from acqo_rl.roles import LanguageModel, Reformulator, SamplingModel
from acqo_rl.text import normalised
from acqo_rl.thoughts import begins_in_thoughts
from acqo_rl.types import Completion, Query, Reformulation, Route, SubQuery


class Prompted(Reformulator):
    """Prompts a language model; falls back to the raw query if a completion cannot be used, and reports the problem.

    The prompts of several strategies form one batch. The sub-queries of all strategies are searched in addition to the
    raw query.
    """

    def __init__(
        self,
        model: LanguageModel,
        strategies: Sequence[Strategy] = (ClassifyAndRewrite(),),
        name: str = "",
        temperatures: Mapping[str, float] = {},
    ) -> None:
        """Creates the reformulator.

        Args:
            model: the language model for all strategies.
            strategies: prompts and parsers; each one adds sub-queries.
            name: name of the reformulator; by default the names of the strategies, joined by ``+``.
            temperatures: strategy name -> temperature that replaces the model's own.
        """
        self.model = model
        self.strategies = strategies
        self.name = name or "+".join(strategy.name for strategy in strategies)
        self._begins_in_thoughts = model.starts_thinking  # set later if a reply shows it
        others = [s for s in strategies if s.name not in temperatures]
        groups = [(_at(model, temperatures[s.name]), [s]) for s in strategies if s.name in temperatures]
        self._groups = [*groups, *([(model, others)] if others else [])]

    def reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        """Returns one reformulation per query, in input order, with one batched model call per temperature.

        Small talk passes.
        """
        return past_small_talk(queries, self._reformulate, self.name)

    def _reformulate(self, queries: Sequence[Query]) -> list[Reformulation]:
        if len(self._groups) == 1:
            written = _write(queries, *self._groups[0])
        else:
            with ThreadPoolExecutor(len(self._groups)) as pool:
                parts = pool.map(lambda group: _write(queries, *group), self._groups)
                written = {name: completions for part in parts for name, completions in part.items()}
        self._begins_in_thoughts |= any(begins_in_thoughts(c.text) for some in written.values() for c in some)
        return [self._read(q, [written[s.name][i] for s in self.strategies]) for i, q in enumerate(queries)]

    def _read(self, query: Query, completions: Sequence[Completion]) -> Reformulation:
        said = [said_by(c, begins_in_thoughts=self._begins_in_thoughts) for c in completions]
        readings = [_read(s, query, c) for s, c in zip(self.strategies, said, strict=True)]
        asked = list(zip(self.strategies, readings, strict=True))
        problems = [f"{strategy.name}: {reading.problem}" for strategy, reading in asked if reading.problem]
        used = [(strategy, reading) for strategy, reading in asked if reading.sub_queries]
        sub_queries = _paths(
            query, max((s.original_weight for s, _ in used), default=1.0), (s for _, r in used for s in r.sub_queries)
        )
        route = _route([reading.route for _, reading in used])
        if {s.kind for s in sub_queries} == {"original"}:
            route, sub_queries = "pass", pass_through(query, self.name).sub_queries
        return Reformulation(
            query,
            route,
            sub_queries,
            self.name,
            completion="\n\n".join(c.text for c in completions),
            tokens=sum(c.tokens for c in completions),
            problem="; ".join(problems) or None,
            calls=len(completions),
            failed_calls=sum(c.problem is not None for c in completions),
        )


def _at(model: LanguageModel, temperature: float) -> LanguageModel:
    return model.at_temperature(temperature) if isinstance(model, SamplingModel) else model


def _write(
    queries: Sequence[Query], model: LanguageModel, strategies: Sequence[Strategy]
) -> dict[str, list[Completion]]:
    """Strategy name -> one completion per query, from one call of the model."""
    completions = model.generate([s.conversation(query) for query in queries for s in strategies])
    if len(completions) != len(queries) * len(strategies):
        raise ValueError(
            f"{len(completions)} completions for {len(queries)} queries x {len(strategies)} strategies; a model must"
            " return one per prompt"
        )
    return {s.name: completions[i :: len(strategies)] for i, s in enumerate(strategies)}


def _read(strategy: Strategy, query: Query, completion: Completion) -> Reading:
    if completion.problem is not None:
        return Reading((), "pass", completion.problem)
    return strategy.read(query, completion)


def _route(routes: Sequence[Route]) -> Route:
    return "decompose" if "decompose" in routes else next(iter(routes), "pass")


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
    return tuple(sub_query for sub_query in by_key.values() if sub_query.weight > 0)
