"""The steps of the pipeline as systems of a study: a plain search, each step alone, and the whole pipeline.

Every step starts from the same first search of ten passages, so its gain is its own. The whole pipeline starts from
the search of the policy, if there is one, as the service does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from typing import Any

from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.cache import Cache, query_key
from acqo_rl.pipeline.budget import Budget
from acqo_rl.pipeline.decomposition import Decomposer
from acqo_rl.pipeline.initial import InitialSearch
from acqo_rl.pipeline.multi_hop import MultiHop, SelfQuery
from acqo_rl.pipeline.pipeline import ESSENTIAL, Pipeline
from acqo_rl.pipeline.references import ReferenceFollower
from acqo_rl.pipeline.roles import BudgetedModel, PassageSearch
from acqo_rl.pipeline.state import Confidence, Engine, RetrievalState
from acqo_rl.pipeline.synthesis import AnswerStyle, ConfidenceCalibrator, Synthesizer
from acqo_rl.roles import Fusion, LanguageModel, Reformulator, Retriever
from acqo_rl.searching.result import SearchResult
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Completion, Conversation, Document, Query, Ranking, Reformulation, SubQuery

WHOLE = "pipeline"
STEPS = ("plain", "multi_hop", "self_query", "references", "decomposition", "recursive", "plain_answer", WHOLE)
WITHOUT_MODEL = frozenset(("plain", "references"))
_PASSAGES = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step did for one query.

    Attributes:
        doc_ids: the passages found, best first.
        searched: all texts that were searched, in order.
        calls: number of model calls taken from the budget.
        tokens: number of tokens that language models generated.
        replies: the generated texts, in order.
        ms: milliseconds from question to result, including the time spent waiting for concurrent queries.
        skipped: parts of the step that were left out, with the reason.
        failures: replies that could not be used and calls that failed.
        errors: model calls that returned no text. An outcome with errors is not kept.
        answer: ``None`` if the step only searches.
        confidence: of the answer, between 0 and 1.
        label: of the confidence.
        strategies: the steps that the pipeline's analyzer chose.
    """

    doc_ids: tuple[str, ...]
    searched: tuple[str, ...]
    calls: int
    tokens: int
    replies: tuple[str, ...]
    ms: float
    skipped: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    answer: str | None = None
    confidence: float | None = None
    label: str = ""
    strategies: tuple[str, ...] = ()


@dataclass(frozen=True)
class Components:
    """The components that the steps share.

    Attributes:
        retriever: its document ids are keys of ``corpus``.
        corpus: document id -> document.
        model: called by all steps except those of ``WITHOUT_MODEL``.
        fusion: merges the rankings of the policy.
        policy: a trained policy, with which the whole pipeline starts.
        max_model_calls: maximum number of model calls per query.
        answer_style: of the steps that answer.
    """

    retriever: Retriever
    corpus: Mapping[str, Document]
    model: LanguageModel | None
    fusion: Fusion
    policy: Reformulator | None = None
    max_model_calls: int = 20
    answer_style: AnswerStyle = "comprehensive"


class CachedStep:
    """Runs a step once per query, several queries at the same time, and keeps each outcome as soon as it is there."""

    def __init__(
        self, name: str, load: Callable[[], Components], cache_key: str, cache: Cache, concurrency: int
    ) -> None:
        """Wraps a step.

        Args:
            name: one of ``STEPS``.
            load: loads the components, when the first query is run; several threads may call them.
            cache_key: everything except the query that affects the outcome.
            cache: keeps the outcomes.
            concurrency: number of queries at the same time.
        """
        self.name = name
        self._load = load
        self._asked = f"step {name} {cache_key}"
        self._cache = cache
        self._concurrency = concurrency
        self._outcomes: dict[str, Outcome] = {}

    def missing(self, queries: Sequence[Query]) -> list[Query]:
        """The queries whose outcome is not kept; one per distinct query."""
        wanted = {query_key(query): query for query in queries}
        known = self._cache.read(self._asked, [key for key in wanted if key not in self._outcomes])
        self._outcomes.update({key: outcome_of(answer) for key, (answer, _) in known.items()})
        return [query for key, query in wanted.items() if key not in self._outcomes]

    def run(self, queries: Sequence[Query], on_query: Callable[[], object] = lambda: None) -> None:
        """Runs the missing queries. An outcome with a failed model call is not kept, so the next process tries again.

        Args:
            queries: see :meth:`missing`.
            on_query: called after each query.

        Raises:
            Exception: the exception of a failing retriever; outcomes until then are kept.
        """
        if not (missing := self.missing(queries)):
            return
        components = self._load()
        with ThreadPoolExecutor(self._concurrency) as pool:
            waiting = {pool.submit(run_step, self.name, components, query): query_key(query) for query in missing}
            try:
                for future in as_completed(waiting):
                    key, outcome = waiting[future], future.result()
                    self._outcomes[key] = outcome
                    if not outcome.errors:
                        self._cache.write(self._asked, [(key, asdict(outcome), outcome.ms)])
                    on_query()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def outcome(self, query: Query) -> Outcome:
        """The outcome of a query that was run."""
        return self._outcomes[query_key(query)]

    def search(self, queries: Sequence[Query], k: int) -> list[SearchResult]:
        """Returns one result per query, in input order."""
        self.run(queries)
        return [_as_result(self.name, query, self.outcome(query), k) for query in queries]


def outcome_of(row: Mapping[str, Any]) -> Outcome:
    """The inverse of ``asdict`` and JSON for an outcome."""
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Outcome(**values)


def _as_result(name: str, query: Query, outcome: Outcome, k: int) -> SearchResult:
    texts = dict.fromkeys(outcome.searched or (query.text,))
    reformulation = Reformulation(
        query=query,
        route="pass" if list(texts) == [query.text] else "expand",
        sub_queries=tuple(SubQuery(text, "original" if text == query.text else "part") for text in texts),
        made_by=name,
        completion="\n".join(outcome.replies),
        tokens=outcome.tokens,
        problem="; ".join(outcome.failures) or None,
        calls=outcome.calls,
        failed_calls=len(outcome.errors),
    )
    scores = tuple(-float(rank) for rank in range(len(outcome.doc_ids)))
    ranking = Ranking(outcome.doc_ids, scores).first(k)
    return SearchResult(reformulation, (), ranking)


def check_steps(names: Sequence[str]) -> None:
    """Checks names of steps.

    Raises:
        ConfigError: a name is unknown or given twice.
    """
    for name in names:
        if name not in STEPS:
            raise ConfigError(f"The pipeline has no step {name!r}; choose among {', '.join(STEPS)}.")
    if len(set(names)) < len(names):
        raise ConfigError(f"The steps of the pipeline are {', '.join(names)}; give each step once.")


def run_step(name: str, components: Components, query: Query) -> Outcome:
    """Runs a step for one query. Thread-safe.

    Raises:
        ConfigError: the step is unknown.
        Exception: the exception of a failing retriever.
    """
    check_steps([name])
    meter = _Meter(components)
    begin = time.perf_counter()
    found = _pipeline(query, meter) if name == WHOLE else _step(name, query, meter)
    ms = 1000 * (time.perf_counter() - begin)
    if meter.search_error:  # the steps continue without a failed search; a measurement must not
        raise meter.search_error
    confidence = found.confidence
    return Outcome(
        doc_ids=found.doc_ids,
        searched=tuple(meter.searched),
        calls=found.calls,
        tokens=meter.tokens,
        replies=tuple(meter.replies),
        ms=ms,
        skipped=found.skipped,
        failures=found.failures,
        errors=tuple(meter.errors),
        answer=found.answer,
        confidence=confidence.score if confidence else None,
        label=confidence.label if confidence else "",
        strategies=found.strategies,
    )


class _Meter(Retriever, LanguageModel):
    """Model and retriever of one query; records the calls."""

    def __init__(self, components: Components) -> None:
        self.name = components.retriever.name
        self.cosine = components.retriever.cosine
        self.starts_thinking = components.model is not None and components.model.starts_thinking
        self.components = components
        self.searched: list[str] = []
        self.replies: list[str] = []
        self.errors: list[str] = []
        self.tokens = 0
        self.search_error: Exception | None = None

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        self.searched += texts
        try:
            return self.components.retriever.search(texts, k)
        except Exception as error:
            self.search_error = error
            raise

    def generate(self, conversations: Sequence[Conversation]) -> list[Completion]:
        assert self.components.model is not None
        try:
            completions = self.components.model.generate(conversations)
        except Exception as error:
            self.errors.append(f"{type(error).__name__}: {error}")
            raise
        self.replies += [completion.text for completion in completions]
        self.errors += [completion.problem for completion in completions if completion.problem]
        self.tokens += sum(completion.tokens for completion in completions)
        return completions


@dataclass(frozen=True, slots=True)
class _Found:
    """The part of an outcome that the step itself reports; see ``Outcome``."""

    doc_ids: tuple[str, ...]
    calls: int
    skipped: tuple[str, ...]
    failures: tuple[str, ...]
    answer: str | None = None
    confidence: Confidence | None = None
    strategies: tuple[str, ...] = ()


def _engines(name: str, search: PassageSearch, budgeted: BudgetedModel, style: AnswerStyle) -> list[Engine]:
    after: dict[str, list[Engine]] = {
        "plain": [],
        "multi_hop": [MultiHop(search, budgeted)],
        "self_query": [SelfQuery(search, budgeted)],
        "references": [ReferenceFollower(search)],
        "decomposition": [Decomposer(search, budgeted)],
        "recursive": [Decomposer(search, budgeted), ReferenceFollower(search)],
        "plain_answer": [Synthesizer(budgeted, style=style), ConfidenceCalibrator(budgeted, cosine=search.cosine)],
    }
    return [InitialSearch(search, _PASSAGES), *after[name]]


def _step(name: str, query: Query, meter: _Meter) -> _Found:
    components = meter.components
    answers = name == "plain_answer"
    state = RetrievalState(query, Budget(components.max_model_calls, ESSENTIAL if answers else 0))
    search = PassageSearch(meter, components.corpus)
    for engine in _engines(name, search, BudgetedModel(meter), components.answer_style):
        engine.run(state)
    return _Found(
        doc_ids=tuple(chunk.document.id for chunk in state.ranked()),
        calls=state.budget.used,
        skipped=tuple(state.skipped),
        failures=tuple(state.failures),
        answer=state.answer if answers else None,
        confidence=state.confidence,
    )


def _pipeline(query: Query, meter: _Meter) -> _Found:
    components = meter.components
    searcher = None
    if components.policy is not None:
        searcher = AdaptiveSearcher(components.policy, meter, components.fusion, corpus=components.corpus, cache_size=0)
    pipeline = Pipeline(
        meter,
        components.corpus,
        meter,
        searcher=searcher,
        max_model_calls=components.max_model_calls,
        answer_style=components.answer_style,
        cache_size=0,
    )
    result = pipeline.ask(query)
    if result.reformulation:
        meter.tokens += result.reformulation.tokens
        meter.replies.append(result.reformulation.completion)
        if result.reformulation.failed_calls:
            meter.errors.append(result.reformulation.problem or "")
    return _Found(
        doc_ids=tuple(chunk.document.id for chunk in result.chunks),
        calls=result.model_calls,
        skipped=result.skipped,
        failures=result.failures,
        answer=result.answer,
        confidence=result.confidence,
        strategies=result.strategies,
    )
