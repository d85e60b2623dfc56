"""Schemas of answers; see :mod:`acqo_rl.serving.requests` and :mod:`acqo_rl.serving.responses`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from acqo_rl.pipeline.pipeline import PipelineResult
from acqo_rl.pipeline.questions import AnyMode
from acqo_rl.pipeline.state import Chunk, RetrievalStep, Round, SubQuestion
from acqo_rl.retrieval.federated import split_id
from acqo_rl.serving.requests import StrategyRequest, request_config
from acqo_rl.serving.responses import Metadata, Notes, QueryRewriteInfo

PASSAGES = 8


class AnswerRequest(StrategyRequest):
    """A question to answer from the documents; the first search uses the reformulation of the strategy."""

    model_config = request_config(query="How did the harbour of Bergen influence its growth?", mode="auto")

    mode: AnyMode = Field(
        default="pipeline",
        description="pipeline chooses its steps by the question; the other modes fix them: simple "
        "searches once; recursive splits the question and follows references in passages; multi_hop searches for "
        "missing information; self_query searches for each gap; auto chooses one of these four.",
    )


class Passage(BaseModel):
    """A passage that was used for an answer."""

    document_id: str
    knowledge_pool: str
    title: str
    text: str
    similarity: float
    similarity_kind: Literal["cosine", "rank"] = Field(
        description="What `similarity` is: the passage's best cosine, or a number that only depends on its best rank."
    )
    metadata: Metadata

    @classmethod
    def of(cls, chunk: Chunk, similarity_kind: Literal["cosine", "rank"]) -> Passage:
        """Converts a chunk; the id of its document includes the collection."""
        pool, doc_id = split_id(chunk.document.id)
        return cls(
            document_id=doc_id,
            knowledge_pool=pool,
            title=chunk.document.title,
            text=chunk.document.text,
            similarity=chunk.similarity,
            similarity_kind=similarity_kind,
            metadata=dict(chunk.document.metadata),
        )


class ClaimSource(BaseModel):
    """A claim of the answer, and the passage that supports it."""

    claim: str
    source: Passage | None = Field(description="None if no passage supports the claim.")


class Retrieval(BaseModel):
    """The steps after the first search; steps that were not needed are empty.

    ``doc_ids`` have the form knowledge_pool/document_id.
    """

    mode: str = Field(description="pipeline, or the mode that was used.")
    hops: tuple[Round, ...]
    iterations: tuple[Round, ...]
    sub_questions: tuple[SubQuestion, ...]
    path: tuple[RetrievalStep, ...]


class AnswerResponse(BaseModel):
    """An answer and its confidence."""

    answer: str = Field(description="Empty if no model wrote an answer; `skipped` gives the reason.")
    confidence: float
    confidence_label: str = Field(description="High, Medium, Low or Very Low.")
    claims: list[ClaimSource] = Field(description="The claims of the answer; empty if no model checked them.")
    challenges: list[str]
    strategies: list[str] = Field(description="The steps that were chosen for the challenges, or the mode.")
    retrieval: Retrieval
    query_rewrite_info: QueryRewriteInfo | None = Field(
        description="The reformulation of the first search; None if the budget did not allow one."
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
        """Converts a result of the pipeline."""
        mode = mode if mode == "pipeline" else result.strategies[0]  # the mode that auto has chosen
        made = result.reformulation
        kind: Literal["cosine", "rank"] = "rank" if result.confidence.retrieval is None else "cosine"
        passages = {chunk.document.id: Passage.of(chunk, kind) for chunk in result.chunks}
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
            failures=list(result.public_failures),
            notes=notes,
            cached=result.cached,
            processing_time_ms=ms,
            request_id=request_id,
        )
