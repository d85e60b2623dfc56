"""Constrained decoding that prevents repeated words in a line, which a regular expression cannot express."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from acqo_rl.text import bare_word, is_short, name_pairs, word_key


class WordsOnce:
    """Prevents a policy from repeating words in a sub-query; see :func:`acqo_rl.text.each_word_once`.

    The first line of a completion is not constrained. Only the first token of a word is forbidden, and only if it is
    specific enough. Remaining repetitions are removed when the completion is parsed.

    Attributes:
        tokenizer: tokenizer of the model.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self._first_token = lru_cache(maxsize=65_536)(self._first_token_of)
        self._names = lru_cache(maxsize=1024)(lambda prompt: name_pairs(tokenizer.decode(prompt)))

    def __call__(self, prompt: Sequence[int], written: Sequence[int]) -> npt.NDArray[np.int64]:
        """Returns the ids of the tokens that are forbidden as the next token.

        Args:
            prompt: token ids of the prompt; words of names in it may be repeated.
            written: token ids of the completion so far.
        """
        lines = self.tokenizer.decode(written).split("\n")
        words = lines[-1].removeprefix("=").split() if len(lines) > 1 else []
        if not words:
            return np.empty(0, np.int64)
        keys = [word_key(word) for word in words]
        after_last = {keys[-1], *(second for first, second in pairwise(keys) if first == keys[-1])}
        names = self._names(tuple(prompt))
        forbidden: set[int] = set()
        for word, key in zip(words, keys, strict=True):
            if key in after_last if is_short(word) else not _may_begin_a_name(key, keys, names):
                bare = bare_word(word)
                forbidden |= {self._first_token(form) for form in {bare, bare.lower(), bare.capitalize()}}
        return np.fromiter(forbidden - {-1}, np.int64)

    def _first_token_of(self, word: str) -> int:
        """The first token of a word after a space; -1 if it is a single letter that starts many words."""
        ids = self.tokenizer.encode(f" {word}", add_special_tokens=False)
        pieces = [(token, self.tokenizer.decode([token]).strip()) for token in ids[:2]]
        token, piece = next(((token, piece) for token, piece in pieces if piece), (-1, ""))
        return token if len(piece) > 1 or piece == word else -1


def _may_begin_a_name(key: str, keys: list[str], names: frozenset[tuple[str, str]]) -> bool:
    """Whether a word may be repeated, because it continues a name or starts another one."""
    new = names - set(pairwise(keys))
    return keys.count(key) == 1 and any(pair == (keys[-1], key) or pair[0] == key for pair in new)
