"""Completions of prompts by causal language models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from tqdm import tqdm
from transformers import DynamicCache, LogitsProcessor, LogitsProcessorList
from transformers.cache_utils import DynamicLayer

from acqo_rl.language_models.decoder import Decoder, Forbidden

if TYPE_CHECKING:
    from acqo_rl.language_models.drafts import Drafts
    from acqo_rl.language_models.prompt_cache import PromptCache


def keeps_every_token(model: Any) -> bool:
    """Whether a model's cache keeps every token: no sliding windows and no recurrent states."""
    return all(type(layer) is DynamicLayer for layer in DynamicCache(config=model.config).layers)


@torch.no_grad()
def complete(
    model: Any,
    prompts: Sequence[Sequence[int]],
    *,
    ends: Sequence[int],
    pad: int,
    max_new_tokens: int,
    temperature: float = 0.0,
    top_p: float = 1.0,
    batch_size: int = 32,
    forbidden: Forbidden | None = None,
    prompt_cache: PromptCache | None = None,
    drafts: Drafts | None = None,
) -> list[list[int]]:
    """Generates one completion per prompt.

    Args:
        model: a causal language model. Models with sliding windows or recurrent states use ``model.generate`` with
            fixed batches instead.
        prompts: token ids; no prompt may be empty.
        ends: ids of the tokens that end a completion.
        pad: id of the token that pads short prompts on the left.
        max_new_tokens: maximum number of tokens per completion.
        temperature: 0 is greedy; above 0, tokens are sampled with torch's global generator.
        top_p: nucleus sampling threshold.
        batch_size: maximum number of rows per batch.
        forbidden: constraint on decoding.
        prompt_cache: prompts that were read with the same weights, whose beginnings are not read again; by default,
            only those of this call.
        drafts: guesses that save passes of greedy decoding; completions are remembered there.

    Returns:
        Token ids of each completion, in input order, including the end token if there is one.
    """
    if not keeps_every_token(model):
        return _fixed_batches(model, prompts, ends, pad, max_new_tokens, temperature, top_p, batch_size, forbidden)
    return Decoder(
        model,
        ends=ends,
        pad=pad,
        max_new_tokens=max_new_tokens,
        temperature=temperature,
        top_p=top_p,
        batch_size=batch_size,
        forbidden=forbidden,
        prompt_cache=prompt_cache,
        drafts=drafts,
    ).complete(prompts)


def _fixed_batches(
    model: Any,
    prompts: Sequence[Sequence[int]],
    ends: Sequence[int],
    pad: int,
    max_new_tokens: int,
    temperature: float,
    top_p: float,
    batch_size: int,
    forbidden: Forbidden | None,
) -> list[list[int]]:
    """Like :func:`complete`, but with ``model.generate``, which supports every kind of cache."""
    options: dict[str, Any] = {"temperature": temperature, "top_p": top_p, "top_k": 0} if temperature > 0 else {}
    completions: dict[int, list[int]] = {}
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    for start in tqdm(range(0, len(order), batch_size), desc="generate", unit="batch", leave=False):
        rows = order[start : start + batch_size]
        longest = max(len(prompts[row]) for row in rows)
        gaps = [longest - len(prompts[row]) for row in rows]
        if forbidden is not None:
            options["logits_processor"] = LogitsProcessorList([_Guide(forbidden, [prompts[row] for row in rows])])
        output = model.generate(
            input_ids=torch.tensor(
                [[pad] * gap + list(prompts[row]) for gap, row in zip(gaps, rows, strict=True)], device=model.device
            ),
            attention_mask=torch.tensor([[0] * gap + [1] * (longest - gap) for gap in gaps], device=model.device),
            max_new_tokens=max_new_tokens,
            do_sample=temperature > 0,
            pad_token_id=pad,
            eos_token_id=list(ends),
            **options,
        )
        for row, ids in zip(rows, output[:, longest:].tolist(), strict=True):
            completions[row] = ids[: first_end(ids, ends) + 1]
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
