"""Replies without the thoughts of :mod:`acqo_rl.thoughts`: a whole completion, and one that is being written."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from acqo_rl.thoughts import THOUGHT_TAG, without_thoughts
from acqo_rl.types import Completion

_MAY_BECOME_A_TAG = re.compile(
    r"(?:[<\[\u25c1][^\s<>\[\]\u25b7]{0,24}|<\|channel(?:\|>[^<\n]{0,40}(?:<\|?\w*\|?)?|>\w*)|assist\w{0,8}"
    r"|\A\s*a(?:n(?:a(?:l(?:y(?:s(?:is?)?)?)?)?)?)?)\Z"
)


def said_by(completion: Completion, *, begins_in_thoughts: bool = False) -> Completion:
    """The completion without thoughts; a limit of tokens that ended within them is its ``problem``.

    Args:
        completion: as the model wrote it.
        begins_in_thoughts: other replies of the model do, so that one that was cut before any mark is all thoughts.
    """
    text = without_thoughts(completion.text)
    if begins_in_thoughts and not completion.finished and not THOUGHT_TAG.search(completion.text):
        text = ""
    if completion.problem is None and not completion.finished and completion.text.strip() and not text.strip():
        why = f"the limit of tokens ended within thoughts ({completion.text[:40]!r}); raise max_new_tokens"
        return replace(completion, text="", problem=why)
    return replace(completion, text=text)


class Spoken:
    """Passes on what a reply says while it is being written."""

    def __init__(self, on_text: Callable[[str], None], *, begins_in_thoughts: bool = False) -> None:
        """Takes who listens.

        Args:
            on_text: is given what is said, piece by piece.
            begins_in_thoughts: nothing is said before thoughts have been closed, or the reply has ended.
        """
        self._on_text = on_text
        self._waits = begins_in_thoughts
        self._text = self._told = ""

    def write(self, piece: str) -> None:
        """Takes the next piece of the reply; what may be the beginning of a mark waits for the next one."""
        self._text += piece
        held = _MAY_BECOME_A_TAG.search(self._text, max(0, len(self._text) - 80))
        text = self._text[: held.start()] if held else self._text
        self._waits = self._waits and not THOUGHT_TAG.search(text)
        if not self._waits:
            self._tell(text)

    def end(self) -> None:
        """The reply is complete."""
        self._tell(self._text)

    def _tell(self, text: str) -> None:
        said = without_thoughts(text)
        if not said.strip():
            return
        new = said.removeprefix(self._told)
        self._told = said
        if new:
            self._on_text(new)
