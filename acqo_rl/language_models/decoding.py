"""Completions of prompts by causal language models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from tqdm import tqdm
from transformers import DynamicCache, LogitsProcessor, LogitsProcessorList
from transformers.cache_utils import DynamicLayer

from acqo_rl.language_models.decoder import Decoder, Decoding, Forbidden


def keeps_every_token(model: Any) -> bool:
    """Whether a model's cache keeps every token: no sliding windows and no recurrent states."""
    return all(type(layer) is DynamicLayer for layer in DynamicCache(config=model.config).layers)


@torch.no_grad()
def complete(model: Any, prompts: Sequence[Sequence[int]], decoding: Decoding) -> list[list[int]]:
    """Generates one completion per prompt.

    Args:
        model: a causal language model. Models with sliding windows or recurrent states use ``model.generate`` with
            fixed batches instead.
        prompts: token ids; no prompt may be empty.
        decoding: how completions are generated.

    Returns:
        Token ids of each completion, in input order, including the end token if there is one.
    """
    if not keeps_every_token(model):
        return _fixed_batches(model, prompts, decoding)
    return Decoder(model, decoding).complete(prompts)


def _fixed_batches(model: Any, prompts: Sequence[Sequence[int]], decoding: Decoding) -> list[list[int]]:
    """Like :func:`complete`, but with ``model.generate``, which supports every kind of cache."""
    options: dict[str, Any] = {"do_sample": decoding.temperature > 0}
    if decoding.temperature > 0:
        options |= {"temperature": decoding.temperature, "top_p": decoding.top_p, "top_k": 0}
    completions: dict[int, list[int]] = {}
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    for start in tqdm(range(0, len(order), decoding.batch_size), desc="generate", unit="batch", leave=False):
        rows = order[start : start + decoding.batch_size]
        longest = max(len(prompts[row]) for row in rows)
        gaps = [longest - len(prompts[row]) for row in rows]
        if decoding.forbidden is not None:
            guide = _Guide(decoding.forbidden, [prompts[row] for row in rows])
            options["logits_processor"] = LogitsProcessorList([guide])
        padded = [[decoding.pad] * gap + list(prompts[row]) for gap, row in zip(gaps, rows, strict=True)]
        output = model.generate(
            input_ids=torch.tensor(padded, device=model.device),
            attention_mask=torch.tensor([[0] * gap + [1] * (longest - gap) for gap in gaps], device=model.device),
            max_new_tokens=decoding.max_new_tokens,
            pad_token_id=decoding.pad,
            eos_token_id=list(decoding.ends),
            **options,
        )
        for row, ids in zip(rows, output[:, longest:].tolist(), strict=True):
            completions[row] = ids[: first_end(ids, decoding.ends) + 1]
    return [completions[row] for row in range(len(prompts))]


def first_end(ids: Sequence[int], ends: Sequence[int]) -> int:
    """Position of the first end token of a completion; the length of the completion if it has none."""
    return next((i for i, token in enumerate(ids) if token in ends), len(ids))


class _Guide(LogitsProcessor):  # type: ignore[misc]  # transformers is not typed
    """Applies a :data:`Forbidden` constraint to a batch of left-padded prompts."""

    def __init__(self, forbidden: Forbidden, prompts: Sequence[Sequence[int]]) -> None:
        self._forbidden = forbidden
        self._prompts = prompts

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The logits of the next token, float[rows, vocabulary]."""
        start = max(map(len, self._prompts))
        for row, prompt, ids in zip(scores, self._prompts, input_ids[:, start:].tolist(), strict=True):
            row[torch.from_numpy(self._forbidden(prompt, ids))] = -torch.inf
        return scores
