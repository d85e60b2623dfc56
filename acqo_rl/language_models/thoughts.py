"""Removes the block ``<think>...</think>`` that reasoning models write before a reply.

Other forms of thoughts are not recognised; servers that return them in a field of their own need no removal.
"""

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
