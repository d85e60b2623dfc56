"""What goes over the wire when a question is answered; see :mod:`acqo_rl.serving.schemas`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from acqo_rl.pipeline.multi_step import Mode
from acqo_rl.pipeline.pipeline import PipelineResult
from acqo_rl.pipeline.state import Chunk, Hop, Iteration, RetrievalStep, SubQuestion
from acqo_rl.retrieval.federated import split_id
from acqo_rl.serving.schemas import Metadata, Name, Notes, QueryRewriteInfo, StrategyRequest, request_config

PASSAGES = 8

AnswerMode = Literal["pipeline", "auto"] | Mode


class AnswerRequest(StrategyRequest):
    """A question that is to be answered from the documents; what its strategy makes of it is searched first."""

    model_config = request_config(query="How did the harbour of Bergen influence its growth?", mode="auto")

    knowledge_pool_ids: list[Name] = Field(default=[], max_length=50, description="As in a search.")
    mode: AnswerMode = Field(
        default="pipeline",
        description="pipeline takes the steps that the question calls for. The others are multi-step retrieval: simple "
        "searches once, recursive splits the question and follows what passages refer to, multi_hop searches for what "
        "is missing, self_query for each gap; auto chooses one of these four.",
    )


class Passage(BaseModel):
    """A passage that an answer was written from."""

    document_id: str
    knowledge_pool: str
    title: str
    text: str
    similarity: float
    metadata: Metadata

    @classmethod
    def of(cls, chunk: Chunk) -> Passage:
        """A chunk whose document bears its collection's name."""
        pool, doc_id = split_id(chunk.document.id)
        return cls(
            document_id=doc_id,
            knowledge_pool=pool,
            title=chunk.document.title,
            text=chunk.document.text,
            similarity=chunk.similarity,
            metadata=dict(chunk.document.metadata),
        )


class ClaimSource(BaseModel):
    """A claim of the answer, and the passage that says so."""

    claim: str
    source: Passage | None = Field(description="None where no passage says so.")


class Retrieval(BaseModel):
    """How the passages were found beyond the first search; what was not done is empty.

    ``doc_ids`` are of the form knowledge_pool/document_id.
    """

    mode: str = Field(description="pipeline, or the mode of multi-step retrieval that was taken.")
    hops: tuple[Hop, ...]
    iterations: tuple[Iteration, ...]
    sub_questions: tuple[SubQuestion, ...]
    path: tuple[RetrievalStep, ...]


class AnswerResponse(BaseModel):
    """An answer and how far to trust it."""

    answer: str = Field(description="Empty where no model wrote one; `skipped` says why.")
    confidence: float
    confidence_label: str = Field(description="High, Medium, Low or Very Low.")
    claims: list[ClaimSource] = Field(description="What the answer says; empty where no model checked it.")
    challenges: list[str]
    strategies: list[str] = Field(description="The steps that were taken for the challenges, or the mode.")
    retrieval: Retrieval
    query_rewrite_info: QueryRewriteInfo | None = Field(
        description="What was searched first; None where the budget had no room for a reformulation."
    )
    passages: list[Passage]
    model_calls: int
    skipped: list[str]
    failures: list[str]
    notes: Notes
    cached: bool
    processing_time_ms: float
    request_id: str

    @classmethod
    def of(
        cls, result: PipelineResult, mode: str, strategy: str, notes: list[str], request_id: str, ms: float
    ) -> AnswerResponse:
        """A result of pipeline or multi-step retrieval."""
        mode = mode if mode == "pipeline" else result.strategies[0]  # auto has chosen one
        made = result.reformulation
        passages = {chunk.document.id: Passage.of(chunk) for chunk in result.chunks}
        return cls(
            answer=result.answer,
            confidence=result.confidence.score,
            confidence_label=result.confidence.label,
            claims=[
                ClaimSource(claim=claim.text, source=passages.get(claim.doc_id or ""))
                for claim in result.confidence.claims
            ],
            challenges=list(result.challenges),
            strategies=list(result.strategies),
            retrieval=Retrieval(
                mode=mode,
                hops=result.hops,
                iterations=result.iterations,
                sub_questions=result.sub_questions,
                path=result.path,
            ),
            query_rewrite_info=QueryRewriteInfo.of(made, strategy) if made else None,
            passages=list(passages.values())[:PASSAGES],
            model_calls=result.model_calls,
            skipped=list(result.skipped),
            failures=list(result.failures),
            notes=notes,
            cached=result.cached,
            processing_time_ms=ms,
            request_id=request_id,
        )
