"""What the engines of multi-step retrieval share: each reads it and adds to it, and none calls another."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from acqo_rl.pipeline.budget import Budget
from acqo_rl.searching.trace import Trace
from acqo_rl.text import normalised
from acqo_rl.types import Challenge, Document, Query, Reformulation

_log = logging.getLogger(__name__)

Action = Literal["retrieve", "follow_reference", "aggregate", "stop"]
Broken = Literal["search", "model", "time"]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage that was found.

    Attributes:
        document: the passage.
        similarity: its best cosine, never boosted; by its best rank where there are none.
        source: the step that found it first.
        query: the text that found it first.
    """

    document: Document
    similarity: float
    source: str
    query: str


@dataclass(frozen=True, slots=True)
class Hop:
    """One search of a chain: what it found, and what was then missing."""

    number: int
    query: str
    doc_ids: tuple[str, ...]
    answerable: bool | None = None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Iteration:
    """One round of self-querying: what it found, whether that was enough, and the gaps, most important first."""

    number: int
    query: str
    doc_ids: tuple[str, ...]
    sufficient: bool | None = None
    gaps: tuple[str, ...] = ()


@dataclass(slots=True)
class SubQuestion:
    """A part of the question, the parts it has to wait for, and what became of it."""

    id: int
    text: str
    depends_on: tuple[int, ...] = ()
    kind: Literal["original", "decomposed"] = "decomposed"
    doc_ids: tuple[str, ...] = ()
    answer: str = ""


@dataclass(frozen=True, slots=True)
class RetrievalStep:
    """One step along references.

    Attributes:
        step_id: depth and digest of the query.
        action: ``retrieve`` searches the question, ``follow_reference`` what a passage points to, ``aggregate`` joins
            what they found, ``stop`` says why it ended.
        query: what was searched; of the last two, the question.
        doc_ids: the new documents; of ``aggregate`` those of all steps.
        references_found: in the new documents; of ``stop`` those that were not followed.
        reasoning: in words.
        depth: of the search, from 0.
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
    """A claim of the answer and the document that says so, ``None`` where none does."""

    text: str
    doc_id: str | None


@dataclass(frozen=True, slots=True)
class Confidence:
    """How far an answer can be trusted.

    Attributes:
        score: weighted sum of the three signals, between 0 and 1.
        label: ``High``, ``Medium``, ``Low`` or ``Very Low``.
        retrieval: how similar the best passages are; ``None`` where no cosines tell, and the others weigh more.
        coverage: whether there are enough of them.
        grounding: share of the claims that a passage supports; ``None`` where it was not checked, which counts as 0.
        claims: what was checked.
    """

    score: float
    label: str
    retrieval: float | None
    coverage: float
    grounding: float | None
    claims: tuple[Claim, ...] = ()


@dataclass(slots=True)
class RetrievalState:
    """One query on its way.

    Attributes:
        query: as asked.
        budget: of model calls.
        deadline: time of ``time.monotonic`` after which no call is begun; ``None`` for none.
        context: what is known of the user.
        challenges: what makes it hard.
        chunks: document id -> passage, in the order found.
        fused: document ids of a first search that merged several lists, best first; these passages keep their order.
        boost: factor of a passage's similarity in the order of the passages.
        sub_questions: parts of the question.
        hops: searches of a chain.
        path: steps along references.
        iterations: rounds of self-querying.
        answer: the answer, empty until there is one.
        confidence: of the answer.
        trace: every step with its time.
        skipped: steps that were left out, and why.
        failures: calls that failed, and replies of which nothing could be used.
        broken: what failed and may succeed another time: a search, a model's call, or to be in time.
        searched: normalised texts that were searched; the question too, where others were searched for it.
        reformulation: what the first search searched; ``None`` where it searched the question as it stands.
        on_text: is given the answer piece by piece, where the model can be watched.
    """

    query: Query
    budget: Budget = field(default_factory=Budget)
    deadline: float | None = None
    context: str = ""
    challenges: tuple[Challenge, ...] = ()
    chunks: dict[str, Chunk] = field(default_factory=dict)
    fused: tuple[str, ...] = ()
    boost: Callable[[Chunk], float] = lambda _: 1.0
    sub_questions: list[SubQuestion] = field(default_factory=list)
    hops: list[Hop] = field(default_factory=list)
    path: list[RetrievalStep] = field(default_factory=list)
    iterations: list[Iteration] = field(default_factory=list)
    answer: str = ""
    confidence: Confidence | None = None
    trace: Trace = field(default_factory=Trace)
    skipped: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    broken: set[Broken] = field(default_factory=set)
    searched: set[str] = field(default_factory=set)
    reformulation: Reformulation | None = None
    on_text: Callable[[str], None] | None = None

    def add_chunks(self, found: Iterable[tuple[Document, float]], source: str, query: str) -> list[Chunk]:
        """Adds passages; one that is there keeps its better similarity and its source. Returns the new ones."""
        new = []
        for document, similarity in found:
            there = self.chunks.get(document.id)
            if there is None:
                new.append(Chunk(document, similarity, source, query))
                self.chunks[document.id] = new[-1]
            elif similarity > there.similarity:
                self.chunks[document.id] = Chunk(document, similarity, there.source, there.query)
        return new

    def ranked(self) -> list[Chunk]:
        """The passages by boosted similarity, best first.

        Those of a merged first search keep its order: the first of them has the greatest similarity of all of them in
        this order, the second the next one, and so on. By similarity alone, the best of one list would stand behind all
        of another list whose query is closer to its documents.
        """
        values = {doc_id: chunk.similarity for doc_id, chunk in self.chunks.items()}
        values |= zip(self.fused, sorted((values[doc_id] for doc_id in self.fused), reverse=True), strict=True)

        def boosted(chunk: Chunk) -> float:
            value, factor = values[chunk.document.id], self.boost(chunk)
            return value * factor if value >= 0 else value / factor

        return sorted(self.chunks.values(), key=boosted, reverse=True)

    def has_searched(self, text: str) -> bool:
        """Whether the text was searched, in whatever case and spacing."""
        return normalised(text) in self.searched

    def is_late(self, step: str) -> bool:
        """Whether the time is up; the step is then left out."""
        if self.deadline is None or time.monotonic() < self.deadline:
            return False
        self.skip(step, "the time is up")
        self.broken.add("time")
        return True

    def skip(self, step: str, reason: str) -> None:
        """Notes a step that is left out."""
        self.skipped.append(f"{step}: {reason}")
        self.trace.add(step, f"skipped: {reason}")

    def fail(self, step: str, reason: str, what: Broken) -> None:
        """Notes a call that failed; another try may succeed."""
        self.broken.add(what)
        self.misread(step, reason)

    def misread(self, step: str, reason: str) -> None:
        """Notes a reply of which nothing could be used; the log has the step, and not the reason, which quotes it."""
        _log.info("answer_step_fell_back", extra={"step": step})
        self.failures.append(f"{step}: {reason}")
        self.trace.add(step, f"failed: {reason}")


class Engine(Protocol):
    """One step of multi-step retrieval."""

    def run(self, state: RetrievalState) -> None:
        """Reads the state and adds to it."""
        ...
