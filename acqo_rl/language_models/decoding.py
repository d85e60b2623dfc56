"""Completions of prompts by causal language models of transformers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm
from transformers import DynamicCache, LogitsProcessor, LogitsProcessorList, StoppingCriteriaList
from transformers.cache_utils import DynamicLayer

from acqo_rl import time_limit
from acqo_rl.language_models.chat import first_end
from acqo_rl.language_models.guided import KnownWords

Forbidden = Callable[[Sequence[int]], npt.NDArray[np.int64]]
"""Constraint on decoding: ids generated so far -> ids of the tokens that are forbidden next."""

_STRETCH = 4
"""Tokens that are generated before finished rows leave the batch."""


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """How completions are generated.

    Attributes:
        ends: ids of the tokens that end a completion.
        pad: id of the token that pads short prompts on the left.
        max_new_tokens: maximum number of tokens per completion.
        temperature: 0 is greedy; above 0, tokens are sampled with torch's global generator.
        top_p: nucleus sampling threshold.
        batch_size: maximum number of rows per batch.
        forbidden: constraint on decoding.
        known_words: constraint on the words of a completion.
    """

    ends: Sequence[int]
    pad: int
    max_new_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    batch_size: int = 32
    forbidden: Forbidden | None = None
    known_words: KnownWords | None = None


def keeps_every_token(model: Any) -> bool:
    """Whether a model's cache keeps every token: no sliding windows and no recurrent states."""
    return all(type(layer) is DynamicLayer for layer in DynamicCache(config=model.config).layers)


@torch.no_grad()
def complete(model: Any, prompts: Sequence[Sequence[int]], decoding: Decoding) -> list[list[int]]:
    """Generates one completion per prompt; equal prompts of a batch are read once.

    Args:
        model: a causal language model.
        prompts: token ids; no prompt may be empty.
        decoding: how completions are generated.

    Returns:
        Token ids of each completion, in input order, including the end token if there is one.

    Raises:
        TimeoutError: the time limit of the request has ended, see :mod:`acqo_rl.time_limit`.
    """
    completions: dict[int, list[int]] = {}
    order = sorted(range(len(prompts)), key=lambda i: (len(prompts[i]), tuple(prompts[i])))
    steps = range(0, len(order), decoding.batch_size)
    for start in tqdm(steps, desc="generate", unit="batch", disable=len(steps) < 8, leave=False):
        rows = order[start : start + decoding.batch_size]
        for row, ids in zip(rows, _complete_batch(model, [prompts[row] for row in rows], decoding), strict=True):
            completions[row] = ids[: first_end(ids, decoding.ends) + 1]
    return [completions[row] for row in range(len(prompts))]


def _complete_batch(model: Any, prompts: Sequence[Sequence[int]], decoding: Decoding) -> list[list[int]]:
    """Generates a few tokens at a time, so that finished rows leave the batch."""
    longest, shortest = max(map(len, prompts)), min(map(len, prompts))
    reads_once = longest > 1 and keeps_every_token(model)
    common = 0
    if reads_once:
        common = next((n for n in range(shortest - 1) if len({prompt[n] for prompt in prompts}) > 1), shortest - 1)
    gaps = [[decoding.pad] * (longest - len(prompt)) for prompt in prompts]
    padded = [[*prompt[:common], *gap, *prompt[common:]] for prompt, gap in zip(prompts, gaps, strict=True)]
    ids = torch.tensor(padded, device=model.device)
    mask = torch.ones_like(ids)
    for row, gap in enumerate(gaps):
        mask[row, common : common + len(gap)] = 0
    options: dict[str, Any] = {"do_sample": decoding.temperature > 0}
    if decoding.temperature > 0:
        options |= {"temperature": decoding.temperature, "top_p": decoding.top_p, "top_k": 0}
    if reads_once:
        options["past_key_values"] = _read_once(model, ids[:, :-1], mask[:, :-1], common)
    completions: list[list[int]] = [[] for _ in prompts]
    rows = list(range(len(prompts)))
    while rows and ids.shape[1] < longest + decoding.max_new_tokens:
        width = ids.shape[1]
        left = longest + decoding.max_new_tokens - width
        if decoding.forbidden is not None:
            guide = _Guide(decoding, [prompts[row] for row in rows], longest)
            options["logits_processor"] = LogitsProcessorList([guide])
        if reads_once:
            options["position_ids"] = _positions(mask)
        ids = model.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=min(_STRETCH, left) if reads_once else left,
            pad_token_id=decoding.pad,
            eos_token_id=list(decoding.ends),
            stopping_criteria=StoppingCriteriaList([_in_time]),
            **options,
        )
        written = ids[:, longest:].tolist()
        for row, tokens in zip(rows, written, strict=True):
            completions[row] = tokens
        kept = [i for i, tokens in enumerate(written) if first_end(tokens, decoding.ends) == len(tokens)]
        rows = [rows[i] for i in kept]
        if rows and reads_once:
            options["past_key_values"].batch_select_indices(torch.tensor(kept, device=model.device))
            mask = torch.nn.functional.pad(mask, (0, ids.shape[1] - width), value=1)[kept]
            ids = ids[kept]
    return completions


def _in_time(ids: torch.Tensor, _: object) -> torch.Tensor:
    """Ends no row; called after each step.

    Raises:
        TimeoutError: the time limit of the request has ended.
    """
    if time_limit.current().seconds == 0.0:
        raise TimeoutError("the time limit ended this call")
    return torch.zeros(len(ids), dtype=torch.bool, device=ids.device)


def _read_once(model: Any, ids: torch.Tensor, mask: torch.Tensor, common: int) -> DynamicCache:
    """The cache of the rows after a pass over their first ``common`` tokens, and one over the rest of each prompt."""
    distinct, places = torch.unique(torch.cat([ids, mask], dim=1), dim=0, return_inverse=True)
    first = torch.stack([(places == place).nonzero()[0, 0] for place in range(len(distinct))])
    cache = DynamicCache(config=model.config)
    if common:
        _read(model, ids[:1, :common], mask[:1, :common], cache)
        cache.batch_repeat_interleave(len(first))
    if common < ids.shape[1]:
        _read(model, ids[first, common:], mask[first], cache)
    cache.batch_select_indices(places)
    return cache


def _read(model: Any, ids: torch.Tensor, mask: torch.Tensor, cache: DynamicCache) -> None:
    """Adds tokens to the cache; the mask is of all columns."""
    positions = _positions(mask)[:, -ids.shape[1] :]
    model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )


def _positions(mask: torch.Tensor) -> torch.Tensor:
    return (mask.cumsum(dim=1) - 1).clamp(min=0)


@dataclass(frozen=True)
class _Guide(LogitsProcessor):  # type: ignore[misc]  # transformers is not typed
    """Applies the constraints to a batch of left-padded prompts."""

    decoding: Decoding
    prompts: Sequence[Sequence[int]]
    start: int

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The logits of the next token, float[rows, vocabulary]; finished rows are only padded."""
        forbidden = self.decoding.forbidden
        known_words = self.decoding.known_words
        rows = zip(scores, self.prompts, input_ids[:, self.start :].tolist(), strict=True)
        for row, prompt, written in rows:
            if first_end(written, self.decoding.ends) < len(written):
                continue
            if forbidden is not None:
                row[torch.from_numpy(forbidden(written))] = -torch.inf
            if known_words is not None:
                known_words.restrict(row, prompt, written)
        return scores
