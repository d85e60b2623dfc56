"""Removes the block ``<think>...</think>`` that reasoning models write before a reply.

Other forms of thoughts are not recognised; servers that return them in a field of their own need no removal.
"""

from __future__ import annotations

from collections.abc import Callable

from acqo_rl.addresses import masked
from acqo_rl.text import one_line
from acqo_rl.types import Completion

OPEN, CLOSE = "<think>", "</think>"


def without_thoughts(text: str) -> str:
    """The text after the block at its start; empty if the block is not closed.

    A text that closes a block that it did not open starts inside it, because some chat templates open the block.
    """
    thoughts, closed, reply = text.partition(CLOSE)
    begins = thoughts.lstrip().startswith(OPEN)
    if closed and (begins or OPEN not in thoughts):
        return reply.lstrip()
    return "" if begins else text


def completion_of(text: str, tokens: int, *, finished: bool) -> Completion:
    """A completion without its thoughts; a token limit that left no answer is its problem."""
    said = without_thoughts(text)
    problem = None if said or finished else "the token limit left no answer; raise max_new_tokens"
    return Completion(said, tokens, finished, problem)


def failed(why: str) -> Completion:
    """The completion of a call that returned no text; passwords and keys in the message are masked."""
    return Completion("", 0, finished=False, problem=one_line(masked(why))[:300])


class AfterThoughts:
    """Forwards a streamed reply without the block at its start."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        """Starts with an empty reply; ``on_text`` is called with each piece after the block."""
        self._on_text = on_text
        self._held: str | None = ""

    def write(self, piece: str) -> None:
        """Adds the next piece of the reply; holds back what may belong to the block."""
        if self._held is None:
            self._on_text(piece)
            return
        self._held = (self._held + piece).lstrip()
        if CLOSE in self._held or not OPEN.startswith(self._held[: len(OPEN)]):
            self.end()

    def end(self) -> None:
        """Forwards what was held back, if it is no block."""
        if self._held and (said := without_thoughts(self._held)):
            self._on_text(said)
            self._held = None
