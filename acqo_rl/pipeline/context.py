"""Passages and questions as text: for a model to read, and for people to see what it read."""

from __future__ import annotations

from collections.abc import Sequence

from acqo_rl.pipeline.state import Chunk, RetrievalState
from acqo_rl.text import one_line
from acqo_rl.types import Query

_TURN_CHARACTERS, _TURNS_CHARACTERS = 500, 1500
"""Of each earlier turn, and of all that are shown."""


def cut(text: str, characters: int) -> str:
    """The text up to a word's end within so many characters."""
    if len(text) <= characters:
        return text
    head = text[:characters]
    space = head.rfind(" ")
    return f"{head[:space] if space > characters // 2 else head[:-1]}\u2026"


def passages(chunks: Sequence[Chunk]) -> str:
    """Source and content of each passage (S1-12)."""
    return "\n\n---\n\n".join(
        f"[{chunk.document.title or f'Document {number}'}]\n{chunk.document.text}"
        for number, chunk in enumerate(chunks, start=1)
    )


def numbered(chunks: Sequence[Chunk], characters: int) -> str:
    """One line a passage, with the number that a model refers to, each cut to so many characters."""
    return "\n".join(
        f"({number}) {chunk.document.title}: {cut(' '.join(chunk.document.text.split()), characters)}"
        for number, chunk in enumerate(chunks, start=1)
    )


def question(query: Query) -> str:
    """The question as a model reads it, after the last turns of its conversation, as many as there is room for."""
    turns: list[str] = []
    left = _TURNS_CHARACTERS
    for turn in reversed(query.history):
        line = cut(one_line(str(turn)), _TURN_CHARACTERS)
        left -= len(line)
        if left < 0:
            break
        turns.insert(0, f"- {line}")
    return "\n".join([*(["Earlier turns:", *turns, ""] if turns else []), f"Question: {query.text}"])


def hops(state: RetrievalState) -> str:
    """The passages under the hop that found them (S1-25)."""
    return "\n\n".join(f"[Hop {hop.number}]\n{passages(_chunks(state, hop.doc_ids))}" for hop in state.hops)


def sub_questions(state: RetrievalState) -> str:
    """The passages under the part of the question that found them (S1-19)."""
    return "\n\n===\n\n".join(
        f"[Sub-query {number}: {part.text}]\n{passages(_chunks(state, part.doc_ids))}"
        for number, part in enumerate(state.sub_questions, start=1)
    )


def _chunks(state: RetrievalState, doc_ids: Sequence[str]) -> list[Chunk]:
    return [state.chunks[doc_id] for doc_id in doc_ids]
