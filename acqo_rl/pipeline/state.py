"""The state that the steps of question answering share, and its parts."""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from acqo_rl import time_limit
from acqo_rl.searching.result import Failure
from acqo_rl.searching.trace import Trace
from acqo_rl.text import normalised
from acqo_rl.types import Challenge, Document, Query, Reformulation, Span

_log = logging.getLogger(__name__)

Action = Literal["retrieve", "follow_reference", "aggregate", "stop"]
Broken = Literal["search", "model", "time"]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A retrieved passage.

    Attributes:
        document: the passage.
        similarity: its best cosine, without boost; derived from its best rank if scores are not cosines.
        source: the step that first found it.
        span: start and end of the passage whose vector matched, in the text of a split document.
    """

    document: Document
    similarity: float
    source: str
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """One search of a chain.

    Attributes:
        number: from 1.
        query: the text that was searched.
        doc_ids: its passages; of the first round, all passages so far.
        complete: whether all passages so far hold all that the answer needs; ``None`` if no model said so.
        missing: searches for what is missing, the most important first.
    """

    number: int
    query: str
    doc_ids: tuple[str, ...]
    complete: bool | None = None
    missing: tuple[str, ...] = ()


@dataclass(slots=True)
class SubQuestion:
    """A part of the question, the ids of the parts it depends on, its passages and its answer."""

    id: int
    text: str
    depends_on: tuple[int, ...] = ()
    kind: Literal["original", "decomposed"] = "decomposed"
    doc_ids: tuple[str, ...] = ()
    answer: str = ""


@dataclass(frozen=True, slots=True)
class RetrievalStep:
    """One step of following references.

    Attributes:
        step_id: depth and a hash of the query.
        action: ``retrieve`` searches the question, ``follow_reference`` searches a reference, ``aggregate`` collects
            all new documents, ``stop`` gives the reason for stopping.
        query: the text that was searched; for the last two actions, the question.
        doc_ids: the new documents; for ``aggregate``, those of all steps.
        references_found: references in the new documents; for ``stop``, those that were not followed.
        reasoning: explanation in words.
        depth: depth of the search, from 0.
    """

    step_id: str
    action: Action
    query: str
    doc_ids: tuple[str, ...]
    references_found: tuple[str, ...]
    reasoning: str
    depth: int


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the answer and the document that supports it; ``None`` if there is none."""

    text: str
    doc_id: str | None


@dataclass(frozen=True, slots=True)
class Confidence:
    """The confidence in an answer.

    Attributes:
        score: weighted sum of the three signals, between 0 and 1.
        label: ``High``, ``Medium``, ``Low`` or ``Very Low``.
        retrieval: signal from the similarity of the best passages; ``None`` if scores are not cosines, in which case
            the other signals get more weight.
        coverage: signal from the number of passages.
        grounding: share of claims supported by a passage; ``None`` (counted as 0) if it was not checked.
        claims: the claims that were checked.
    """

    score: float
    label: str
    retrieval: float | None
    coverage: float
    grounding: float | None
    claims: tuple[Claim, ...] = ()


@dataclass(slots=True)
class Budget:
    """A hard limit of model calls, some of which are reserved for essential steps. Thread-safe.

    Attributes:
        limit: maximum number of calls.
        reserved: calls that only essential steps may use.
        used: calls so far.
    """

    limit: int = 20
    reserved: int = 2
    used: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def use(self, calls: int = 1, *, essential: bool = False) -> bool:
        """Takes calls from the budget; returns False, and takes none, if not enough are left."""
        with self._lock:
            if self.used + calls + (0 if essential else self.reserved) > self.limit:
                return False
            self.used += calls
            if essential:
                self.reserved = max(0, self.reserved - calls)
            return True

    def settle(self, granted: int, made: int) -> None:
        """Replaces calls taken in advance by the number of calls actually made."""
        with self._lock:
            self.used += made - granted


@dataclass(slots=True)
class RetrievalState:
    """The state of one question, through which its steps communicate; also the result: an answer and how it was found.

    Attributes:
        query: the question.
        budget: budget of model calls.
        user_context: information about the user.
        challenges: what makes the question hard.
        strategies: the steps chosen by the challenges; if the question was asked in a mode, that mode.
        found: document id -> passage, in the order in which they were found.
        fused: document ids of a first search with fused rankings, best first; these passages keep their order.
        boost: returns a factor for the similarity of a passage, used only for ordering.
        reformulation: the reformulation of the first search; ``None`` if the search failed.
        hops: searches of a chain: the question, the hops of the first search, searches for what a model missed; in the
            mode ``self_query``, its iterations.
        sub_questions: parts of the question.
        path: steps of following references.
        context: the passages as text, as the answer is written from them; empty until then.
        answer: empty if no model wrote one; ``skipped`` or ``failures`` gives the reason.
        confidence: confidence in the answer.
        trace: all steps with their durations.
        skipped: skipped steps with reasons.
        failures: failed calls, after which the result is not cached, and unusable replies.
        broken: kinds of failures that a retry may avoid: a search, a model call, or the time limit.
        searched: normalised texts that were searched; includes the question if sub-queries were searched instead.
        cached: whether the result comes from the cache.
    """

    query: Query
    budget: Budget = field(default_factory=Budget)
    user_context: str = ""
    challenges: tuple[Challenge, ...] = ()
    strategies: tuple[str, ...] = ()
    found: dict[str, Chunk] = field(default_factory=dict)
    fused: tuple[str, ...] = ()
    boost: Callable[[Chunk], float] = lambda _: 1.0
    reformulation: Reformulation | None = None
    hops: list[Round] = field(default_factory=list)
    sub_questions: list[SubQuestion] = field(default_factory=list)
    path: list[RetrievalStep] = field(default_factory=list)
    context: str = ""
    answer: str = ""
    confidence: Confidence = Confidence(0.0, "Very Low", 0.0, 0.0, None)
    trace: Trace = field(default_factory=Trace)
    skipped: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    broken: set[Broken] = field(default_factory=set)
    searched: set[str] = field(default_factory=set)
    cached: bool = False

    @property
    def model_calls(self) -> int:
        """Number of model calls for this result; 0 if it was cached."""
        return self.budget.used

    def add_chunks(
        self, found: Iterable[tuple[Document, float]], source: str, spans: Mapping[str, Span] | None = None
    ) -> None:
        """Adds passages; a known passage keeps its source, its span and its higher similarity."""
        for document, similarity in found:
            new = Chunk(document, similarity, source, (spans or {}).get(document.id))
            chunk = self.found.setdefault(document.id, new)
            self.found[document.id] = replace(chunk, similarity=max(similarity, chunk.similarity))

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The passages by boosted similarity, best first.

        Passages of a fused first search keep their order: their similarities are sorted and assigned to them in that
        order. Ordered by similarity alone, the best passage of one sub-query could come after all passages of another
        sub-query that is closer to its documents.
        """
        values = {doc_id: chunk.similarity for doc_id, chunk in self.found.items()}
        values |= zip(self.fused, sorted((values[doc_id] for doc_id in self.fused), reverse=True), strict=True)

        def boosted(chunk: Chunk) -> float:
            value, factor = values[chunk.document.id], self.boost(chunk)
            return value * factor if value >= 0 else value / factor

        return tuple(sorted(self.found.values(), key=boosted, reverse=True))

    def has_searched(self, text: str) -> bool:
        """Whether the text was searched, ignoring case and spacing."""
        return normalised(text) in self.searched

    def is_late(self, step: str) -> bool:
        """Whether the time limit has passed; if so, records the step as skipped."""
        if time_limit.current().seconds > 0:
            return False
        self.skip(step, "the time limit is reached")
        self.broken.add("time")
        return True

    def skip(self, step: str, reason: str) -> None:
        """Records a skipped step."""
        self.skipped.append(f"{step}: {reason}")
        self.trace.add(step, f"skipped: {reason}")

    def fail(self, failure: Failure, what: Broken | None = None) -> None:
        """Records a failed call (a retry may succeed), or an unusable reply if ``what`` is ``None``.

        The log contains only the step, because the reason may quote a reply.
        """
        if what:
            self.broken.add(what)
        _log.info("answer_step_fell_back", extra={"step": failure.step})
        self.failures.append(failure)
        self.trace.add(failure.step, f"failed: {failure.public}")


class PipelineStep(Protocol):
    """One step of question answering."""

    def run(self, state: RetrievalState) -> None:
        """Reads the state and adds to it."""
