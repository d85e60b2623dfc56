"""Removes thoughts (:mod:`acqo_rl.thoughts`) from complete and from streamed replies."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from acqo_rl.replies.thinking_aloud import thinks_aloud
from acqo_rl.thoughts import THOUGHT_TAG, without_thoughts
from acqo_rl.types import Completion

_MAY_BECOME_A_TAG = re.compile(
    r"(?:[<\[\u25c1][^\s<>\[\]\u25b7]{0,24}|<unused94>\w*|<\|channel(?:\|>[^<\n]{0,40}(?:<\|?\w*\|?)?|>\w*)|assist\w{0,8}"
    r"|\A\s*a(?:n(?:a(?:l(?:y(?:s(?:is?)?)?)?)?)?)?)\Z"
)


def said_by(completion: Completion, *, begins_in_thoughts: bool = False) -> Completion:
    """Removes thoughts from a completion; reports a token limit that was reached inside thoughts in ``problem``.

    A truncated reply without any mark is all thought if it begins like one: the chat template wrote the opening mark,
    and the closing one was not reached.

    Args:
        completion: the completion.
        begins_in_thoughts: replies of this model start inside a thought, so that a truncated reply without any mark is
            all thought.
    """
    text = without_thoughts(completion.text)
    is_cut = not completion.finished and bool(completion.text.strip())
    if is_cut and not THOUGHT_TAG.search(completion.text) and (begins_in_thoughts or thinks_aloud(completion.text)):
        text = ""
    if completion.problem is None and is_cut and not text.strip():
        seen = f"{completion.tokens} tokens while the model was thinking ({completion.text[:40]!r})"
        why = f"the reply was cut at {seen}; raise max_new_tokens"
        return replace(completion, text="", problem=why)
    return replace(completion, text=text)


class Spoken:
    """Forwards a streamed reply without its thoughts."""

    def __init__(self, on_text: Callable[[str], None], *, begins_in_thoughts: bool = False) -> None:
        """Starts with an empty reply.

        Args:
            on_text: called with each new piece of text outside thoughts.
            begins_in_thoughts: forward nothing before a closing mark or the end of the reply.
        """
        self._on_text = on_text
        self._waits = begins_in_thoughts
        self._text = self._forwarded = ""
        self._marks = 0  # in the text that was forwarded last

    def write(self, piece: str) -> None:
        """Adds the next piece of the reply; holds back text that may be the beginning of a mark."""
        self._text += piece
        held = _MAY_BECOME_A_TAG.search(self._text, max(0, len(self._text) - 80))
        text = self._text[: held.start()] if held else self._text
        self._waits = self._waits and not THOUGHT_TAG.search(text)
        if not self._waits:
            self._forward(text)

    def end(self) -> None:
        """Marks the reply as complete and forwards the rest."""
        self._forward(self._text)

    def _forward(self, text: str) -> None:
        said, marks = without_thoughts(text), len(THOUGHT_TAG.findall(text))
        if not said.strip() or said == self._forwarded:
            return
        if self._forwarded.startswith(said):
            if marks == self._marks:  # the rest is held back
                return
            self._forwarded = ""  # it was a thought, which begins like the reply
        new = said.removeprefix(self._forwarded)
        self._forwarded, self._marks = said, marks
        if new:
            self._on_text(new)
