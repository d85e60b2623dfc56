"""What all models behind a server share: calls at the same time, each with its own outcome."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from acqo_rl.text import one_line
from acqo_rl.types import Completion, Conversation

ODD_ANSWERS = (ValueError, TypeError, AttributeError, LookupError)
"""Clients leave a body that is no JSON to the parser's own error, and check no shape of one that is."""
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


def complete_each(
    ask: Callable[[Conversation], Completion],
    conversations: Sequence[Conversation],
    errors: tuple[type[Exception], ...],
    concurrency: int,
) -> list[Completion]:
    """One completion a conversation, position for position.

    Args:
        ask: one call of the server.
        conversations: asked at the same time, ``concurrency`` at most.
        errors: what a failed call raises; it becomes the ``problem`` of that completion alone.
        concurrency: calls at once.
    """
    from tqdm import tqdm

    def outcome(conversation: Conversation) -> Completion:
        try:
            return ask(conversation)
        except errors as error:
            return failed(f"{type(error).__name__}: {error}")

    with ThreadPoolExecutor(max(1, min(concurrency, len(conversations)))) as pool:
        waiting = pool.map(outcome, conversations)
        return list(tqdm(waiting, total=len(conversations), desc="generate", unit="completion", leave=False, delay=2))


def failed(why: str) -> Completion:
    """The completion of a call that gave no text; a key that the server's message repeats is left out."""
    for key in filter(None, map(os.environ.get, _KEYS)):
        why = why.replace(key, "***")
    return Completion("", 0, finished=False, problem=one_line(why)[:300])
