"""The policy's prompt: one for every retriever and data set, the same in training, evaluation and serving."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from acqo_rl.reformulation.grammar import ORIGINAL, TAGS
from acqo_rl.text import one_line
from acqo_rl.types import Conversation, Query

VERSION = "1"
"""Raised whenever the prompt changes, for a model trained on another one reads it badly."""

_MARKER = re.compile(r"([<\[])(?=[|/\uff5c\w])")
_QUESTION = "Question:"

_SYSTEM = (
    f"{TAGS['pass']}, {TAGS['disambiguate']} or {TAGS['decompose']}, then at most {{most}} searches, one a line; "
    f"{ORIGINAL} is the question"
)


@dataclass(frozen=True)
class Prompt:
    """Renders queries for the policy within a token budget.

    Attributes:
        count_tokens: number of tokens of a text, by the model's tokenizer.
        max_sub_queries: as in the grammar.
        history_tokens: budget of the earlier turns; the oldest are cut first.
        query_tokens: budget of the query; its end is cut.
    """

    count_tokens: Callable[[str], int]
    max_sub_queries: int = 3
    history_tokens: int = 256
    query_tokens: int = 128

    def render(self, query: Query) -> Conversation:
        """The conversation that the policy completes."""
        lines = self._recent_turns([untrusted(str(turn)) for turn in query.history])
        lines += [f"- {untrusted(s.title)}: {untrusted(s.text)}" for s in query.feedback]
        lines.append(f"{_QUESTION} {self._first_words(untrusted(query.text), self.query_tokens)}")
        return [
            {"role": "system", "content": _SYSTEM.format(most=self.max_sub_queries)},
            {"role": "user", "content": "\n".join(lines)},
        ]

    def _recent_turns(self, history: Sequence[str]) -> list[str]:
        turns: list[str] = []
        left = self.history_tokens
        for turn in reversed(history):
            left -= self.count_tokens(turn) + 1
            if left < 0:
                break
            turns.insert(0, turn)
        return turns

    def _first_words(self, text: str, budget: int) -> str:
        text = text[: budget * 8]
        while self.count_tokens(text) > budget:
            text = text[: len(text) * 3 // 4]
        return text


def with_examples(instructions: str, examples: Sequence[tuple[str, str]], content: str) -> Conversation:
    """Instructions, worked examples as earlier turns of question and answer, then what is asked."""
    shown = [
        {"role": role, "content": text}
        for pair in examples
        for role, text in zip(("user", "assistant"), pair, strict=True)
    ]
    return [{"role": "system", "content": instructions}, *shown, {"role": "user", "content": content}]


def untrusted(text: str) -> str:
    """Text of users and documents: one line, and no special token of a chat template that could end the turn.

    Special tokens are written "<...>" or "[...]" ("<|im_end|>", "</s>", "<start_of_turn>", "[/INST]"); a space after
    the bracket makes them plain text.
    """
    return _MARKER.sub(r"\1 ", one_line(text))
