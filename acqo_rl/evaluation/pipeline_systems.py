"""What a study of the pipeline compares: plain search, the policy, the steps of the pipeline one by one, all of it.

Every system but the policy and the whole pipeline begins with the same first search of ten passages, so that what it
gains is its steps' own. The whole pipeline begins with the policy's search, where one is given, as a service does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from acqo_rl.errors import ConfigError
from acqo_rl.pipeline.budget import Budget
from acqo_rl.pipeline.decomposition import Decomposer
from acqo_rl.pipeline.initial import InitialSearch
from acqo_rl.pipeline.multi_hop import MultiHop, SelfQuery
from acqo_rl.pipeline.pipeline import ESSENTIAL, Pipeline
from acqo_rl.pipeline.references import ReferenceFollower
from acqo_rl.pipeline.roles import Asker, PassageSearch
from acqo_rl.pipeline.state import Confidence, Engine, RetrievalState
from acqo_rl.pipeline.synthesis import AnswerStyle, ConfidenceCalibrator, Synthesizer
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import (
    Completion,
    Conversation,
    Document,
    Fusion,
    LanguageModel,
    Query,
    Ranking,
    Reformulation,
    Reformulator,
    Retriever,
    has_cosines,
)

PLAIN, POLICY = "plain", "policy"
SYSTEMS = (
    PLAIN,
    POLICY,
    "multi_hop",
    "self_query",
    "references",
    "decomposition",
    "recursive",
    "plain_answer",
    "pipeline",
)
WITHOUT_MODEL = frozenset((PLAIN, POLICY, "references"))
_K = 10


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a system made of one query.

    Attributes:
        system: its name.
        query_id: of the query.
        doc_ids: the passages found, best first.
        searched: every text that was searched, in order.
        calls: model calls that the budget granted; of the policy, its completions.
        tokens: that a language model wrote.
        replies: what it wrote, in order.
        ms: milliseconds that the query waited, for other queries' turn too.
        skipped: steps that were left out, and why.
        failures: replies that could not be used and calls that failed, by step.
        errors: model calls that gave no text; such an outcome is none.
        answer: what it answered; ``None`` for a system that only searches.
        confidence: of the answer, between 0 and 1.
        label: of the confidence.
        strategies: steps that the pipeline's analyzer called for.
    """

    system: str
    query_id: str
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
class Parts:
    """What the systems are made of, shared by all queries.

    Attributes:
        retriever: its document ids are keys of ``corpus``.
        corpus: document id -> document.
        model: asked by every system but those ``WITHOUT_MODEL``, which need none.
        fusion: merges the policy's lists.
        policy: a trained one.
        max_model_calls: for one query, never exceeded.
        answer_style: of those systems that answer.
    """

    retriever: Retriever
    corpus: Mapping[str, Document]
    model: LanguageModel | None
    fusion: Fusion
    policy: Reformulator | None = None
    max_model_calls: int = 20
    answer_style: AnswerStyle = "comprehensive"


class _Meter:
    """Model and retriever of one query, and what was asked of them."""

    def __init__(self, parts: Parts) -> None:
        self.name = parts.retriever.name
        self.cosine = has_cosines(parts.retriever)
        self.parts = parts
        self.searched: list[str] = []
        self.replies: list[str] = []
        self.errors: list[str] = []
        self.tokens = 0
        self.search_error: Exception | None = None

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        self.searched += texts
        try:
            return self.parts.retriever.search(texts, k)
        except Exception as error:
            self.search_error = error
            raise

    def generate(self, conversations: Sequence[Conversation]) -> list[Completion]:
        assert self.parts.model is not None
        try:
            completions = self.parts.model.generate(conversations)
        except Exception as error:
            self.errors.append(f"{type(error).__name__}: {error}")
            raise
        self.replies += [completion.text for completion in completions]
        self.errors += [completion.problem for completion in completions if completion.problem]
        self.tokens += sum(completion.tokens for completion in completions)
        return completions

    def note(self, reformulation: Reformulation) -> None:
        """What the policy wrote."""
        self.tokens += reformulation.tokens
        self.replies.append(reformulation.completion)


@dataclass(frozen=True, slots=True)
class _Found:
    """What a walk along a system's steps came to; see ``Outcome``."""

    doc_ids: tuple[str, ...]
    calls: int
    skipped: tuple[str, ...]
    failures: tuple[str, ...]
    answer: str | None = None
    confidence: Confidence | None = None
    strategies: tuple[str, ...] = ()


def check_systems(names: Sequence[str], with_policy: bool) -> None:
    """Refuses names before anything is computed.

    Raises:
        ConfigError: a name is unknown or given twice, or the policy is asked for and not given.
    """
    for name in names:
        if name not in SYSTEMS:
            raise ConfigError(f"There is no system {name!r}; choose among {', '.join(SYSTEMS)}.")
    if len(set(names)) < len(names) or PLAIN not in names:
        raise ConfigError(
            f"The systems are {', '.join(names)}; give each once, and {PLAIN}, which all are compared to."
        )
    if POLICY in names and not with_policy:
        raise ConfigError("The system policy needs a trained one: give --policy FOLDER, or leave it out.")


def run_system(name: str, parts: Parts, query: Query) -> Outcome:
    """Walks one query along a system; several threads may do so at the same time.

    Raises:
        ConfigError: there is no such system.
        Exception: whatever a failing retriever raises.
    """
    check_systems([PLAIN, name] if name != PLAIN else [name], parts.policy is not None)
    meter = _Meter(parts)
    walks: dict[str, Callable[[Query, _Meter], _Found]] = {POLICY: _policy, "pipeline": _pipeline}
    begin = time.perf_counter()
    found = walks.get(name, partial(_steps, name))(query, meter)
    ms = 1000 * (time.perf_counter() - begin)
    if meter.search_error:  # the engines go on without what a search would have found; a measurement must not
        raise meter.search_error
    confidence = found.confidence
    return Outcome(
        system=name,
        query_id=query.id,
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


def _engines(name: str, search: PassageSearch, asker: Asker, style: AnswerStyle) -> list[Engine]:
    after: dict[str, list[Engine]] = {
        PLAIN: [],
        "multi_hop": [MultiHop(search, asker)],
        "self_query": [SelfQuery(search, asker)],
        "references": [ReferenceFollower(search)],
        "decomposition": [Decomposer(search, asker)],
        "recursive": [Decomposer(search, asker), ReferenceFollower(search)],
        "plain_answer": [Synthesizer(asker, style=style), ConfidenceCalibrator(asker, cosine=search.cosine)],
    }
    return [InitialSearch(search, _K), *after[name]]


def _steps(name: str, query: Query, meter: _Meter) -> _Found:
    answers = name == "plain_answer"
    state = RetrievalState(query, Budget(meter.parts.max_model_calls, ESSENTIAL if answers else 0))
    search = PassageSearch(meter, meter.parts.corpus)
    for engine in _engines(name, search, Asker(meter), meter.parts.answer_style):
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
    parts = meter.parts
    pipeline = Pipeline(
        meter,
        parts.corpus,
        meter,
        searcher=_searcher(meter),
        max_model_calls=parts.max_model_calls,
        answer_style=parts.answer_style,
        cache_size=0,
    )
    result = pipeline.ask(query)
    if result.reformulation:
        meter.note(result.reformulation)
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


def _searcher(meter: _Meter) -> AdaptiveSearcher | None:
    if meter.parts.policy is None:
        return None
    return AdaptiveSearcher(meter.parts.policy, meter, meter.parts.fusion, corpus=meter.parts.corpus, cache_size=0)


def _policy(query: Query, meter: _Meter) -> _Found:
    searcher = _searcher(meter)
    assert searcher is not None
    found = searcher.search(query, _K)
    reformulation = found.reformulation
    meter.note(reformulation)
    meter.errors += [failure.reason for failure in found.failures]
    return _Found(
        doc_ids=found.fused.doc_ids,
        calls=reformulation.calls,
        skipped=(),
        failures=(f"policy: {reformulation.problem}",) if reformulation.problem else (),
    )
