"""The training pass of GRPO with each prompt read once, and no work on padding.

The rollouts of a group share their prompt, which is most of what they hold; and one long completion should not make
all the others long.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import pad
from transformers import DynamicCache
from trl.trainer.utils import selective_log_softmax_and_entropy

_ROWS = 8
"""Completions of a forward pass; they are sorted by length, so that each pass is as long as its own longest."""


def completion_log_probs(
    model: Any, input_ids: torch.Tensor, attention_mask: torch.Tensor, completion_length: int, temperature: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probability (with a graph) and entropy (without) of every completion token.

    The distinct prompts are run with a cache that keeps its graph, and the completions are run on what they need of
    it. The values are those of one pass over prompt and completion, up to rounding.

    Args:
        model: a causal language model.
        input_ids: int[rows, prompt + completion]; prompts padded on the left, completions on the right.
        attention_mask: int[rows, prompt + completion]; 0 at padding.
        completion_length: number of columns that are completion.
        temperature: divides the logits.

    Returns:
        Two float[rows, completion]; 0 at padding.
    """
    split = input_ids.shape[1] - completion_length
    prompts = torch.cat([input_ids[:, :split], attention_mask[:, :split]], dim=1)
    distinct, prompt_of_row = torch.unique(prompts, dim=0, return_inverse=True)
    read = model(input_ids=distinct[:, :split], attention_mask=distinct[:, split:], use_cache=True, logits_to_keep=1)
    lengths = attention_mask[:, split:].sum(dim=1)
    order = torch.argsort(lengths)
    log_probs: list[torch.Tensor] = []
    entropies: list[torch.Tensor] = []
    for rows in order.split(_ROWS):
        longest = max(int(lengths[rows].max()), 1)
        logits = read.logits[prompt_of_row[rows]]
        if longest > 1:
            rest = model(
                input_ids=input_ids[rows, split : split + longest - 1],
                attention_mask=attention_mask[rows, : split + longest - 1],
                past_key_values=_selected(read.past_key_values, prompt_of_row[rows]),
                use_cache=True,
            )
            logits = torch.cat([logits, rest.logits], dim=1)
        completion = slice(split, split + longest)
        values = selective_log_softmax_and_entropy(
            logits.float(),
            input_ids[rows, completion],
            entropy_requires_grad=False,
            temperature=temperature,
            row_mask=attention_mask[rows, completion],
        )
        for collected, value in zip((log_probs, entropies), values, strict=True):
            collected.append(pad(value, (0, completion_length - longest)))
    back = torch.argsort(order)
    return torch.cat(log_probs)[back], torch.cat(entropies)[back]


def _selected(cache: DynamicCache, rows: torch.Tensor) -> DynamicCache:
    """Rows of a cache as a cache of their own, with the graph."""
    selected = DynamicCache()
    for number, layer in enumerate(cache.layers):
        selected.update(layer.keys[rows], layer.values[rows], number)
    return selected
