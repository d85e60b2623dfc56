"""The state of one question, which each step reads and returns with what it found."""

from dataclasses import dataclass, field
from typing import Literal, Protocol

from acqo_rl.pipeline.journal import Journal
from acqo_rl.pipeline.passages import Chunk, Passages
from acqo_rl.searching.result import Failure
from acqo_rl.types import Challenge, Query, Reformulation

Action = Literal["retrieve", "follow_reference", "aggregate", "stop"]


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
    doc_ids: tuple[str, ...] = ()
    depends_on: tuple[int, ...] = ()
    kind: Literal["original", "decomposed"] = "decomposed"
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


@dataclass(frozen=True, slots=True)
class RetrievalState:
    """The state of one question; also the result: an answer and how it was found.

    Attributes:
        query: the question.
        user_context: information about the user.
        passages: the passages that were found.
        journal: what happened.
        challenges: what makes the question hard.
        strategies: the steps chosen by the challenges; if the question was asked in a mode, that mode.
        reformulation: the reformulation of the first search; ``None`` if the search failed.
        hops: searches of a chain: the question, the hops of the first search, searches for what a model missed; in the
            mode ``self_query``, its iterations.
        sub_questions: parts of the question.
        path: steps of following references.
        context: the passages as text, as the answer is written from them; empty until then.
        answer: empty if no model wrote one; ``skipped`` or ``failures`` gives the reason.
        confidence: confidence in the answer.
    """

    query: Query
    user_context: str = ""
    passages: Passages = field(default_factory=Passages)
    journal: Journal = field(default_factory=Journal)
    challenges: tuple[Challenge, ...] = ()
    strategies: tuple[str, ...] = ()
    reformulation: Reformulation | None = None
    hops: tuple[Round, ...] = ()
    sub_questions: tuple[SubQuestion, ...] = ()
    path: tuple[RetrievalStep, ...] = ()
    context: str = ""
    answer: str = ""
    confidence: Confidence = Confidence(0.0, "Very Low", 0.0, 0.0, None)

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The passages, best first."""
        return self.passages.best

    @property
    def model_calls(self) -> int:
        """Number of model calls for this result; 0 if it was cached."""
        return self.journal.budget.used

    @property
    def skipped(self) -> list[str]:
        """Skipped steps with reasons."""
        return self.journal.skipped

    @property
    def failures(self) -> list[Failure]:
        """Failed calls and unusable replies."""
        return self.journal.failures


class PipelineStep(Protocol):
    """One step of question answering."""

    def run(self, state: RetrievalState) -> RetrievalState:
        """Reads the state and returns it with what the step found."""
