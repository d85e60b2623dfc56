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
    longest = max(map(len, prompts))
    gaps = [longest - len(prompt) for prompt in prompts]
    padded = [[decoding.pad] * gap + list(prompt) for gap, prompt in zip(gaps, prompts, strict=True)]
    ids = torch.tensor(padded, device=model.device)
    mask = torch.tensor([[0] * gap + [1] * (longest - gap) for gap in gaps], device=model.device)
    options: dict[str, Any] = {"do_sample": decoding.temperature > 0}
    if decoding.temperature > 0:
        options |= {"temperature": decoding.temperature, "top_p": decoding.top_p, "top_k": 0}
    if decoding.forbidden is not None:
        options["logits_processor"] = LogitsProcessorList([_Guide(decoding, prompts)])
    if len(set(map(tuple, prompts))) < len(prompts) and longest > 1 and keeps_every_token(model):
        options["past_key_values"] = _read_once(model, ids[:, :-1], mask[:, :-1])
        options["position_ids"] = _positions(mask)
    output = model.generate(
        input_ids=ids,
        attention_mask=mask,
        max_new_tokens=decoding.max_new_tokens,
        pad_token_id=decoding.pad,
        eos_token_id=list(decoding.ends),
        stopping_criteria=StoppingCriteriaList([_in_time]),
        **options,
    )
    return output[:, longest:].tolist()  # type: ignore[no-any-return]


def _in_time(ids: torch.Tensor, _: object) -> torch.Tensor:
    """Ends no row; called after each step.

    Raises:
        TimeoutError: the time limit of the request has ended.
    """
    if time_limit.current().seconds == 0.0:
        raise TimeoutError("the time limit ended this call")
    return torch.zeros(len(ids), dtype=torch.bool, device=ids.device)


def _read_once(model: Any, ids: torch.Tensor, mask: torch.Tensor) -> DynamicCache:
    """The cache of the rows after a pass over the distinct ones."""
    distinct, places = torch.unique(torch.cat([ids, mask], dim=1), dim=0, return_inverse=True)
    first = torch.stack([(places == place).nonzero()[0, 0] for place in range(len(distinct))])
    cache = DynamicCache(config=model.config)
    model(
        input_ids=ids[first],
        attention_mask=mask[first],
        position_ids=_positions(mask[first]),
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    cache.batch_select_indices(places)
    return cache


def _positions(mask: torch.Tensor) -> torch.Tensor:
    return (mask.cumsum(dim=1) - 1).clamp(min=0)


class _Guide(LogitsProcessor):  # type: ignore[misc]  # transformers is not typed
    """Applies the constraints to a batch of left-padded prompts."""

    def __init__(self, decoding: Decoding, prompts: Sequence[Sequence[int]]) -> None:
        self._decoding = decoding
        self._prompts = prompts
        self._start = max(map(len, prompts))

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The logits of the next token, float[rows, vocabulary]; finished rows are only padded."""
        forbidden = self._decoding.forbidden
        known_words = self._decoding.known_words
        rows = zip(scores, self._prompts, input_ids[:, self._start :].tolist(), strict=True)
        for row, prompt, written in rows:
            if first_end(written, self._decoding.ends) < len(written):
                continue
            if forbidden is not None:
                row[torch.from_numpy(forbidden(written))] = -torch.inf
            if known_words is not None:
                known_words.restrict(row, prompt, written)
        return scores
