"""The modes of the pipeline: by default the challenges of the question choose its steps, the other modes fix them."""

from __future__ import annotations

import re
from typing import Literal, get_args

from acqo_rl.errors import ConfigError
from acqo_rl.pipeline import context
from acqo_rl.pipeline.context import CONTEXT_CHARACTERS
from acqo_rl.pipeline.state import RetrievalState
from acqo_rl.reformulation.signals import challenges_of
from acqo_rl.text import one_line

Mode = Literal["simple", "recursive", "multi_hop", "self_query"]
AnyMode = Literal["pipeline", "auto"] | Mode

_MANY_WORDS = 20
_LEADS_ON = re.compile(
    r"\brelationship between\b|\bhow (?:does|do|did|has|have) .+ (?:affect|influence|impact)|\bwhat led to\b", re.I
)


def choose_mode(question: str) -> Mode:
    """Chooses the mode for a question.

    ``multi_hop`` if one fact must be found before the next, or for causal relations; ``self_query`` for several
    question marks; ``recursive`` for comparisons, other questions with several needs, and long questions; otherwise
    ``simple``.
    """
    text = one_line(question)
    found = challenges_of(text)
    if "multi_hop" in found or _LEADS_ON.search(text):
        return "multi_hop"
    if text.count("?") > 1:
        return "self_query"
    return "recursive" if "decomposition" in found or len(text.split()) > _MANY_WORDS else "simple"


def read_mode(mode: AnyMode, question: str) -> Mode | None:
    """The mode that fixes the steps for a question: ``None`` for ``pipeline``, and :func:`choose_mode` for ``auto``.

    Raises:
        ConfigError: the mode is unknown.
    """
    if mode == "pipeline":
        return None
    if mode == "auto":
        return choose_mode(question)
    if mode not in get_args(Mode):
        raise ConfigError(f"Unknown mode {mode!r}; choose pipeline, auto, {', '.join(get_args(Mode))}.")
    return mode


def passages_for_answer(state: RetrievalState, mode: Mode) -> str:
    """The passages as the prompt for the answer has them: grouped by hop or by sub-question if the mode has them."""
    if mode == "multi_hop":
        return context.hops(state, CONTEXT_CHARACTERS)
    if mode == "recursive" and len(state.sub_questions) > 1:
        followed = [d for step in state.path if step.action == "aggregate" for d in step.doc_ids]
        chunks = [state.chunks[doc_id] for doc_id in followed]
        parts = [context.sub_questions(state, CONTEXT_CHARACTERS), context.best(state, chunks, CONTEXT_CHARACTERS)]
        return "\n\n===\n\n".join(part for part in parts if part)
    return context.best(state, state.ranked(), CONTEXT_CHARACTERS)
