"""Keys and values of prompts that were read, so that prompts with the same beginning need not read it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cachetools import LRUCache

if TYPE_CHECKING:
    import torch

Layers = list[tuple["torch.Tensor", "torch.Tensor"]]
"""Keys and values of each layer, float[1, heads, tokens, size]."""
_TOKENS = 2048
"""Number of tokens that are kept; with 135 million parameters in float32, they take 94 MB."""


@dataclass(frozen=True)
class _Read:
    ids: tuple[int, ...]
    layers: Layers

    def __len__(self) -> int:
        return len(self.ids)


class PromptCache:
    """Keeps the prompts that were used last: instructions that many prompts share, and earlier turns of conversations.

    Valid as long as the weights of the model do not change.
    """

    def __init__(self, max_tokens: int = _TOKENS) -> None:
        self._read: LRUCache[tuple[int, ...], _Read] = LRUCache(max_tokens, getsizeof=len)

    def longest_beginning(self, prompt: Sequence[int]) -> tuple[int, Layers]:
        """Number of tokens at the beginning of a prompt that were read before, and their keys and values."""
        lengths = {ids: common_length(ids, prompt) for ids in self._read}
        ids = max(lengths, key=lengths.__getitem__, default=())
        if not (length := lengths.get(ids, 0)):
            return 0, []
        return length, [(keys[:, :, :length], values[:, :, :length]) for keys, values in self._read[ids].layers]

    def add(self, prompt: Sequence[int], layers: Layers) -> None:
        """Keeps a prompt, or as much of its beginning as there is room for; it replaces those that it continues."""
        kept = tuple(prompt[: int(self._read.maxsize)])
        for ids in [ids for ids in self._read if common_length(ids, kept) == len(ids)]:
            del self._read[ids]
        self._read[kept] = _Read(
            kept, [(keys[:, :, : len(kept)], values[:, :, : len(kept)]) for keys, values in layers]
        )


def common_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the common prefix."""
    return next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
