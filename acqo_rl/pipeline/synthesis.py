"""The answer, and how far it can be trusted. Both are essential: their model calls are reserved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from acqo_rl.pipeline.context import CONTEXT_CHARACTERS, asked, cut, numbered, question
from acqo_rl.pipeline.roles import Asker
from acqo_rl.pipeline.state import Chunk, Claim, Confidence, RetrievalState
from acqo_rl.replies.answers import read_answer
from acqo_rl.replies.fields import first_of, read_ids, read_share, read_text
from acqo_rl.replies.values import read_json

AnswerStyle = Literal["comprehensive", "brief"]

_SYNTHESIS: dict[AnswerStyle, str] = {
    "comprehensive": """\
Answer the question comprehensively, from the passages alone. Say so where they do not tell.
Weave partial answers in naturally, do not list them.""",
    "brief": "Answer the question in a few words, from the passages alone. Write none if they do not tell.",
}

_GROUNDING = """\
Split the answer into its claims. For each, give the number of the passage that says so, or null where none does.
Reply with JSON only:
{"claims": [{"claim": "...", "source": 1}, {"claim": "...", "source": null}]}"""

_LABELS = ((0.80, "High"), (0.60, "Medium"), (0.35, "Low"))


class Synthesizer:
    """Writes the answer to the question as it was asked, from the best passages."""

    name = "synthesis"

    def __init__(self, asker: Asker, k: int = 8, style: AnswerStyle = "comprehensive") -> None:
        """Joins the parts.

        Args:
            asker: writes.
            k: passages it reads.
            style: ``brief`` asks for the words alone that a benchmark compares.
        """
        self._asker = asker
        self._k = k
        self._style: AnswerStyle = style

    def run(self, state: RetrievalState, context: str = "") -> None:
        """Sets the answer; without passages there is nothing to answer from.

        Args:
            state: read and changed.
            context: text of the passages; the best of the state by default.
        """
        if not state.chunks:
            state.skip(self.name, "no passage was found")
            return
        context = context or numbered(state.ranked()[: self._k], asked(state), CONTEXT_CHARACTERS)
        answers = [f"{part.text} {part.answer}" for part in state.sub_questions if part.answer]
        partial = "\n".join(["", "Partial answers:", *answers, ""]) if answers else ""
        content = f"Passages:\n{cut(context, CONTEXT_CHARACTERS)}\n{partial}\n{question(state.query)}"
        [reply] = self._asker.ask(state, self.name, _SYNTHESIS[self._style], [content], essential=True, watched=True)
        answer = read_answer(reply or "", state.query.text)
        if reply is not None and not answer:
            state.misread(self.name, f"no answer can be read from {reply[:80]!r}")
        state.answer = answer if self._style == "comprehensive" else read_text(answer)


class ConfidenceCalibrator:
    """Confidence from retrieval, coverage and grounding, by the raw similarities of the best passages.

    The scale of the first signal is that of cosines; without them it has no say.
    """

    name = "confidence"

    def __init__(self, asker: Asker, k: int = 8, cosine: bool = True) -> None:
        """Joins the parts.

        Args:
            asker: traces the claims of the answer.
            k: passages it reads, the same as the answer was written from.
            cosine: the passages' similarities are cosines.
        """
        self._asker = asker
        self._k = k
        self._cosine = cosine

    def run(self, state: RetrievalState) -> None:
        """Sets the confidence; without a passage it is very low, and no model is asked."""
        if not state.chunks:
            state.confidence = Confidence(0.0, "Very Low", 0.0, 0.0, None)
            return
        grounding, claims = self._ground(state) if state.answer else (None, ())
        similarities = [chunk.similarity for chunk in state.chunks.values()]
        state.confidence = calibrate(similarities, grounding, claims, cosine=self._cosine)
        state.trace.add(self.name, f"{state.confidence.label} ({state.confidence.score:.2f})")

    def _ground(self, state: RetrievalState) -> tuple[float | None, tuple[Claim, ...]]:
        chunks = state.ranked()[: self._k]
        passages = numbered(chunks, asked(state), CONTEXT_CHARACTERS)
        content = f"Passages:\n{passages}\n\nAnswer: {state.answer}"
        [reply] = self._asker.ask(state, "grounding", _GROUNDING, [content], essential=True)
        if reply is None:
            return None, ()
        claims = read_claims(reply, chunks)
        if claims:
            return sum(claim.doc_id is not None for claim in claims) / len(claims), claims
        grounding = read_share(reply, "grounding", "grounded", "supported", "score")
        if grounding is None:
            state.misread("grounding", f"no claim can be read from {reply[:80]!r}")
        return grounding, ()


def calibrate(
    similarities: Sequence[float], grounding: float | None, claims: tuple[Claim, ...] = (), *, cosine: bool = True
) -> Confidence:
    """The three signals weighed: 0.30 retrieval, 0.15 coverage, 0.55 grounding.

    Args:
        similarities: raw ones, in any order.
        grounding: share of supported claims; ``None`` counts as 0.
        claims: kept in the result.
        cosine: the similarities are cosines; else they say how many passages there are and nothing more.
    """
    best = sorted(similarities, reverse=True)[:5]
    if not best:
        return Confidence(0.0, "Very Low", 0.0, 0.0, grounding, claims)
    retrieval = min(1.0, max(0.0, (sum(best) / len(best) - 0.3) / 0.5)) if cosine else None
    coverage = min(1.0, len(similarities) / 3)
    others = 0.15 * coverage + 0.55 * (grounding or 0.0)
    score = others / 0.70 if retrieval is None else 0.30 * retrieval + others
    label = next((label for least, label in _LABELS if round(score, 9) >= least), "Very Low")
    return Confidence(score, label, retrieval, coverage, grounding, claims)


def read_claims(reply: str, chunks: Sequence[Chunk]) -> tuple[Claim, ...]:
    """The claims in a reply; a number that no passage has supports nothing."""
    value = read_json(reply)
    rows = value.get("claims") if isinstance(value, dict) else value
    claims = []
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and (text := read_text(first_of(row, "claim", "text", "statement"))):
            numbers = [n for n in read_ids(first_of(row, "source", "passage", "chunk")) if 1 <= n <= len(chunks)]
            claims.append(Claim(text, chunks[numbers[0] - 1].document.id if numbers else None))
    return tuple(claims)
