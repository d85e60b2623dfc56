"""The prompt once a group: the rollouts of a GRPO group share it, and it is most of what they hold."""

from __future__ import annotations

from typing import Any

import torch


def completion_logits(
    model: Any, input_ids: torch.Tensor, attention_mask: torch.Tensor, completion_length: int
) -> torch.Tensor:
    """Next-token logits at the completion tokens, with a graph; each distinct prompt is read once.

    The distinct prompts are run with a cache that keeps its graph, the cache is handed to every completion, and the
    completions are run on it. The logits are those of one pass over prompt and completion, up to rounding.

    Args:
        model: a causal language model.
        input_ids: int[rows, prompt + completion]; prompts padded on the left, completions on the right.
        attention_mask: int[rows, prompt + completion]; 0 at padding.
        completion_length: number of columns that are completion.

    Returns:
        float[rows, completion, vocabulary].
    """
    split = input_ids.shape[1] - completion_length
    prompts = torch.cat([input_ids[:, :split], attention_mask[:, :split]], dim=1)
    distinct, prompt_of_row = torch.unique(prompts, dim=0, return_inverse=True)
    read = model(input_ids=distinct[:, :split], attention_mask=distinct[:, split:], use_cache=True, logits_to_keep=1)
    first = read.logits[prompt_of_row]
    if completion_length == 1:
        return first
    cache = read.past_key_values
    cache.batch_select_indices(prompt_of_row)
    rest = model(
        input_ids=input_ids[:, split:-1], attention_mask=attention_mask[:, :-1], past_key_values=cache, use_cache=True
    )
    return torch.cat([first, rest.logits], dim=1)
