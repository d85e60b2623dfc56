"""Guesses the next tokens of a completion from its prompt, so that one pass of the model can check several of them.

Completions that copy words of their prompt are written in fewer passes. A guess changes no completion, because a token
is kept only if the model would have written it (speculative decoding with prompt lookup: Saxena 2023,
https://github.com/apoorvumang/prompt-lookup-decoding).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

_LONGEST_MATCH = 3
_MOST = 4
"""Number of tokens per guess; longer ones are seldom right to the end."""
_TOKENS_PER_PASS = 16
"""Above about this number of tokens, a pass takes longer with each token on a CPU."""
_EARLIER = 8


class Drafts:
    """Guesses that the tokens which followed the last ones before, in a completion or its prompt, follow again.

    The latest place where the last three tokens, two or one occur is used. Earlier completions are searched last.
    """

    def __init__(self) -> None:
        self._earlier: deque[list[int]] = deque(maxlen=_EARLIER)

    def remember(self, prompt: Sequence[int], completion: Sequence[int]) -> None:
        """Makes a completion known to later guesses, behind the end of its prompt."""
        self._earlier.append([*prompt[-_LONGEST_MATCH:], *completion])

    def guess(self, texts: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[list[int]]:
        """Guesses the next tokens of completions that are written together.

        Args:
            texts: prompt and tokens written so far of each completion.

        Returns:
            4 tokens per completion; fewer or none for many completions. All guesses are equally long, because engines
            take longer for a pass whose number of tokens differs from that of the last one.
        """
        size = max(0, min(_MOST, _TOKENS_PER_PASS // max(len(texts), 1) - 1))
        return [_guess([[*prompt, *written], *reversed(self._earlier)], size) for prompt, written in texts]


def _guess(texts: list[list[int]], size: int) -> list[int]:
    """Tokens that may follow the first text; any token where nothing is known."""
    first, *others = texts
    guess: list[int] = []
    while len(guess) < size:
        guess += _followers([first + guess, *others], size - len(guess)) or first[-1:]
    return guess


def _followers(texts: list[list[int]], most: int) -> list[int]:
    """The tokens that follow the end of the first text where it occurs in one of the texts."""
    for length in range(_LONGEST_MATCH, 0, -1):
        end = texts[0][-length:]
        for text in texts:
            for start in range(len(text) - length - 1, -1, -1):
                if text[start : start + length] == end:
                    return text[start + length : start + length + most]
    return []
