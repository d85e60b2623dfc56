"""The budgeted pipeline (S4): only the steps a question needs, under one hard limit of model calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.pipeline.analyzer import Analyzer
from acqo_rl.pipeline.budget import Budget
from acqo_rl.pipeline.decomposition import Decomposer
from acqo_rl.pipeline.initial import InitialSearch
from acqo_rl.pipeline.multi_hop import MultiHop
from acqo_rl.pipeline.roles import Asker, PassageSearch
from acqo_rl.pipeline.state import Chunk, Confidence, Engine, Hop, Iteration, RetrievalState, RetrievalStep, SubQuestion
from acqo_rl.pipeline.synthesis import AnswerStyle, ConfidenceCalibrator, Synthesizer
from acqo_rl.pipeline.temporal import TemporalReranker
from acqo_rl.searching.searcher import AdaptiveSearcher, read_query
from acqo_rl.searching.trace import Step, Trace
from acqo_rl.timed_cache import TimedCache, query_key
from acqo_rl.types import Challenge, Document, LanguageModel, Query, Reformulation, Retriever, fingerprint_of

ESSENTIAL = 2
"""Model calls that are reserved: the answer and its grounding."""


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """An answer and how it came about.

    Attributes:
        answer: empty where no model wrote one; ``skipped`` says why.
        confidence: how far to trust it.
        challenges: what made the question hard.
        chunks: the passages found, best first; dates may have boosted their order, never their similarity.
        strategies: the steps that the challenges called for; of multi-step retrieval, its mode.
        model_calls: made for this result; 0 where it was cached.
        trace: every step with its time.
        skipped: steps that were left out, and why.
        failures: calls that failed, which keep a result out of the cache, and replies of which nothing could be used.
        reformulation: what the first search searched; ``None`` where the question was searched as it stands, without a
            searcher or because the budget had no room.
        hops: searches of a chain.
        iterations: rounds of self-querying.
        sub_questions: parts of the question.
        path: steps along references.
        cached: it was found before.
    """

    answer: str
    confidence: Confidence
    challenges: tuple[Challenge, ...]
    chunks: tuple[Chunk, ...]
    strategies: tuple[str, ...]
    model_calls: int
    trace: tuple[Step, ...]
    skipped: tuple[str, ...]
    failures: tuple[str, ...]
    reformulation: Reformulation | None = None
    hops: tuple[Hop, ...] = ()
    iterations: tuple[Iteration, ...] = ()
    sub_questions: tuple[SubQuestion, ...] = ()
    path: tuple[RetrievalStep, ...] = ()
    cached: bool = False


Ask = Callable[[Query, Callable[[Step], None], Callable[[str], None]], PipelineResult]
"""Answers a question; calls the first function with each step as it ends, the second with each piece of the answer."""


class Pipeline:
    """Cache, analyzer, first search, then what the challenges call for, answer and confidence.

    The engines share one state and know nothing of each other; any of them can be another one. With the defaults, a
    simple or temporal question takes 2 model calls, one of two hops 4, one of three parts 6, and all of it 9. With a
    searcher, the calls of its reformulation are added, and a question that it splits is not split once more.
    """

    def __init__(
        self,
        retriever: Retriever | AdaptiveSearcher,
        corpus: Mapping[str, Document],
        model: LanguageModel | None = None,
        *,
        searcher: AdaptiveSearcher | None = None,
        reformulation_calls: int = 1,
        max_model_calls: int = 20,
        seconds: float | None = None,
        dates: Mapping[str, date] | None = None,
        today: Callable[[], date] = date.today,
        engines: Mapping[Challenge, Engine] | None = None,
        answer_style: AnswerStyle = "comprehensive",
        cache_size: int = 1024,
        cache_seconds: float = 3600.0,
    ) -> None:
        """Joins the parts.

        Args:
            retriever: its document ids are keys of ``corpus``. A searcher of raw queries joins several, and goes on
                without those that fail. Where scores are no cosines, as those of BM25, passages are ordered by their
                ranks, and the confidence does without them.
            corpus: document id -> document.
            model: writes and judges; without one everything else still works.
            searcher: makes the first search, over the same documents; without one, the question is searched as it
                stands. Models read the last turns all the same.
            reformulation_calls: model calls of one reformulation of the searcher, at most.
            max_model_calls: for one question, never exceeded.
            seconds: no call is begun after so many; retriever and model bring time-outs of their own.
            dates: document id -> date, for documents whose metadata does not state it.
            today: the clock of the temporal reranker.
            engines: in place of the default ones, for the challenges they are given for.
            answer_style: ``brief`` asks for the words alone that a benchmark compares.
            cache_size: results kept; 0 keeps none.
            cache_seconds: how long they are kept.

        Raises:
            ConfigError: the limit of calls has no room for the answer and its grounding.
        """
        if max_model_calls < ESSENTIAL:
            raise ConfigError(f"{max_model_calls} model calls a question; answer and grounding need {ESSENTIAL}.")
        search, asker = PassageSearch(retriever, corpus), Asker(model)
        self._retriever = retriever
        self.max_model_calls = max_model_calls
        self._seconds = seconds
        self._before: tuple[Engine, ...] = (
            Analyzer(asker),
            InitialSearch(search, searcher=searcher, calls=reformulation_calls),
        )
        self._engines: dict[Challenge, Engine] = {
            "temporal": TemporalReranker(dates, today),
            "multi_hop": MultiHop(search, asker),
            "decomposition": Decomposer(search, asker),
            **(engines or {}),
        }
        self._after: tuple[Engine, ...] = (
            Synthesizer(asker, style=answer_style),
            ConfidenceCalibrator(asker, cosine=search.cosine),
        )
        self._cache: TimedCache[PipelineResult] = TimedCache(cache_size, cache_seconds)

    def ask(
        self,
        query: Query | str,
        on_step: Callable[[Step], None] | None = None,
        on_text: Callable[[str], None] | None = None,
        *,
        context: str = "",
    ) -> PipelineResult:
        """Answers one question.

        Args:
            query: the question.
            on_step: is told of each step as it ends.
            on_text: is given the answer piece by piece, where the model can be watched.
            context: what is known of the user; the first search adds it to each reading of an ambiguous query.

        Raises:
            ConfigError: the question is empty.
            SearchError: the first search failed.
        """
        query = read_query(query)
        key: Hashable = (query_key(query), context, fingerprint_of(self._retriever))
        known = self._cache.get(key)
        if known:
            return replace(known, cached=True, model_calls=0, trace=(Step("cache", 0.0, "found before"),))
        deadline = None if self._seconds is None else time.monotonic() + self._seconds
        budget = Budget(self.max_model_calls, ESSENTIAL)
        state = RetrievalState(query, budget, deadline, context, trace=Trace(on_step), on_text=on_text)
        result = self._walk(state)
        if not state.broken:
            self._cache.put(key, result)
        return result

    def _walk(self, state: RetrievalState) -> PipelineResult:
        for engine in self._before:
            engine.run(state)
        if "search" in state.broken and not state.chunks:
            raise SearchError(f"The first search failed ({state.failures[-1]}): see that the retriever answers.")
        strategies = [c for c in self._engines if c in state.challenges]
        for challenge in strategies:
            self._engines[challenge].run(state)
        for engine in self._after:
            engine.run(state)
        return result_of(state, strategies)


def result_of(state: RetrievalState, strategies: Sequence[str]) -> PipelineResult:
    """What a state with a confidence comes to."""
    assert state.confidence is not None
    return PipelineResult(
        answer=state.answer,
        confidence=state.confidence,
        challenges=state.challenges,
        chunks=tuple(state.ranked()),
        strategies=tuple(strategies),
        model_calls=state.budget.used,
        trace=state.trace.steps,
        skipped=tuple(state.skipped),
        failures=tuple(state.failures),
        reformulation=state.reformulation,
        hops=tuple(state.hops),
        iterations=tuple(state.iterations),
        sub_questions=tuple(state.sub_questions),
        path=tuple(state.path),
    )
