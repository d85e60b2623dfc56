"""Batched generation with continuous batching, for models whose attention cache keeps every token.

Each distinct prompt is read once, even if it needs several completions, and the common prefix of all prompts is read
once. Finished completions leave the batch and waiting prompts join it (iteration-level scheduling: Yu et al., Orca,
OSDI 2022). Most completions here are short and a few are long, so a fixed batch would mostly wait for its longest row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import pad as extend
from tqdm import tqdm
from transformers import DynamicCache, LogitsProcessor, LogitsProcessorList, TopPLogitsWarper
from transformers.cache_utils import Cache, DynamicLayer

Forbidden = Callable[[Sequence[int], Sequence[int]], Collection[int]]
"""Constraint on decoding: (prompt ids, ids generated so far) -> ids that are forbidden as the next token."""

_ROOM = 32
"""Number of columns by which a cache grows."""


class RoomyLayer(DynamicLayer):  # type: ignore[misc]  # transformers is not typed
    """A cache layer with preallocated columns, so that a decoding step writes one column without copying the others.

    ``keys`` and ``values`` are views of the columns in use, float[rows, heads, columns, size].
    """

    _room: tuple[torch.Tensor, torch.Tensor] | None = None

    @property
    def room(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values with the preallocated columns behind those in use, contiguous."""
        return self._room or (self.keys.contiguous(), self.values.contiguous())

    def put(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Replaces keys and values."""
        self.keys, self.values, self._room = keys, values, None

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Appends columns and returns all keys and values."""
        start = self.get_seq_length()
        end = start + key_states.shape[-2]
        if start == 0:
            self.lazy_initialization(key_states, value_states)
            self.put(key_states, value_states)
            return key_states, value_states
        if self._room is None or self._room[0].shape[-2] < end:
            more = end - start + _ROOM
            self._room = extend(self.keys, (0, 0, 0, more)), extend(self.values, (0, 0, 0, more))
        keys, values = self._room
        keys[:, :, start:end] = key_states
        values[:, :, start:end] = value_states
        self.keys, self.values = keys[:, :, :end], values[:, :, :end]
        return self.keys, self.values


@dataclass
class _Batch:
    """The rows that are currently generated.

    Attributes:
        rows: prompt number of each row.
        cache: keys and values of every layer, float[rows, heads, columns, size].
        mask: int[rows, columns]; 0 where a row does not use a column. The column of a token is not its position.
        logits: logits of the next token, float[rows, vocabulary].
    """

    rows: list[int]
    cache: Cache
    mask: torch.Tensor
    logits: torch.Tensor

    def select(self, kept: list[int]) -> None:
        """Keeps the given rows, and the columns that at least one of them uses."""
        index = torch.tensor(kept, device=self.mask.device)
        self.rows = [self.rows[i] for i in kept]
        self.mask = self.mask[index]
        self.logits = self.logits[index]
        columns = self.mask.any(dim=0).nonzero().squeeze(1)
        self.mask = self.mask[:, columns]
        for layer in self.cache.layers:
            layer.put(layer.keys[index][:, :, columns], layer.values[index][:, :, columns])

    def join(self, other: _Batch) -> None:
        """Adds the rows of another batch."""
        width = max(self.mask.shape[1], other.mask.shape[1])
        self.rows += other.rows
        self.logits = torch.cat([self.logits, other.logits])
        self.mask = torch.cat([extend(m, (width - m.shape[1], 0)) for m in (self.mask, other.mask)])
        for mine, its in zip(self.cache.layers, other.cache.layers, strict=True):
            mine.put(
                torch.cat([extend(t, (0, 0, width - t.shape[2], 0)) for t in (mine.keys, its.keys)]),
                torch.cat([extend(t, (0, 0, width - t.shape[2], 0)) for t in (mine.values, its.values)]),
            )


@dataclass(frozen=True)
class Prefix:
    """The beginning of many prompts, which was read before; ``cache`` holds it as one row."""

    ids: list[int]
    cache: Cache

    def begins(self, prompts: Sequence[Sequence[int]]) -> bool:
        """Whether all prompts begin with it and go on."""
        length = len(self.ids)
        return all(len(prompt) > length and list(prompt[:length]) == self.ids for prompt in prompts)


@torch.no_grad()
def read_prefix(model: Any, prompts: Sequence[Sequence[int]]) -> Prefix | None:
    """Reads the common prefix of prompts; ``None`` if there is none or the model's cache cannot be shared."""
    shared = _common_prefix(prompts)
    if not shared or not keeps_every_token(model):
        return None
    return Prefix(shared, _read(model, _empty_cache(model), [shared], torch.ones(1, len(shared)))[0])


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
    known: Prefix | None = None,
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
        known: prefix that need not be read again; not used unless all prompts begin with it.

    Returns:
        Token ids of each completion, in input order, including the end token if there is one.
    """
    if not keeps_every_token(model):
        return _fixed_batches(model, prompts, ends, pad, max_new_tokens, temperature, top_p, batch_size, forbidden)
    completions: list[list[int]] = [[] for _ in prompts]
    prefix = known if known and known.begins(prompts) else read_prefix(model, prompts)
    order = sorted(range(len(prompts)), key=lambda i: (len(prompts[i]), prompts[i]))
    size = max(batch_size // 4, 1)
    waiting = [order[i : i + size] for i in range(0, len(order), size)][::-1]
    batch: _Batch | None = None
    with tqdm(
        total=len(prompts), desc="generate", unit="completion", disable=len(prompts) < 256, leave=False
    ) as progress:
        while waiting or batch is not None:
            if waiting and (batch is None or len(batch.rows) + size <= batch_size):
                joining = _begin(model, waiting.pop(), prompts, prefix, pad)
                if batch is None:
                    batch = joining
                else:
                    batch.join(joining)
                continue
            assert batch is not None
            if forbidden is not None:
                for logits, row in zip(batch.logits, batch.rows, strict=True):
                    logits[list(forbidden(prompts[row], completions[row]))] = -torch.inf
            tokens = _next_tokens(batch.logits, temperature, top_p)
            for row, token in zip(batch.rows, tokens.tolist(), strict=True):
                completions[row].append(token)
            kept = [
                i
                for i, row in enumerate(batch.rows)
                if completions[row][-1] not in ends and len(completions[row]) < max_new_tokens
            ]
            progress.update(len(batch.rows) - len(kept))
            if not kept:
                batch = None
                continue
            if len(kept) < len(batch.rows):
                batch.select(kept)
                tokens = tokens[kept]
            batch.mask = extend(batch.mask, (0, 1), value=1)
            batch.cache, batch.logits = _read(model, batch.cache, tokens[:, None].tolist(), batch.mask)
    return completions


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
            row[list(self._forbidden(prompt, ids))] = -torch.inf
        return scores


def _begin(model: Any, rows: list[int], prompts: Sequence[Sequence[int]], prefix: Prefix | None, pad: int) -> _Batch:
    """Starts a batch: reads the prompts of the given rows after their common prefix."""
    start = len(prefix.ids) if prefix else 0
    distinct = list(dict.fromkeys(tuple(prompts[row]) for row in rows))
    rests = [prompt[start:] for prompt in distinct]
    longest = max(map(len, rests))
    ids = [[pad] * (longest - len(rest)) + list(rest) for rest in rests]
    mask = torch.tensor([[1] * start + [0] * (longest - len(rest)) + [1] * len(rest) for rest in rests])
    cache = _empty_cache(model)
    if prefix is not None:
        for number, layer in enumerate(prefix.cache.layers):
            cache.update(
                layer.keys.expand(len(distinct), -1, -1, -1), layer.values.expand(len(distinct), -1, -1, -1), number
            )
    cache, logits = _read(model, cache, ids, mask)
    batch = _Batch(rows, cache, mask.to(logits.device), logits)
    if len(distinct) < len(rows):
        place = {prompt: i for i, prompt in enumerate(distinct)}
        batch.select([place[tuple(prompts[row])] for row in rows])
        batch.rows = rows
    return batch


def _read(model: Any, cache: Cache, ids: list[list[int]], mask: torch.Tensor) -> tuple[Cache, torch.Tensor]:
    """Appends tokens to a cache; returns the cache and the logits of the next token, float[rows, vocabulary]."""
    device = model.device
    mask = mask.to(device)
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -len(ids[0]) :].long()
    output = model(
        input_ids=torch.tensor(ids, device=device),
        attention_mask=mask,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    return output.past_key_values, output.logits[:, -1]


def _next_tokens(logits: torch.Tensor, temperature: float, top_p: float) -> torch.Tensor:
    if temperature == 0:
        return logits.argmax(dim=-1)
    scores = logits.float() / temperature
    if top_p < 1:
        scores = TopPLogitsWarper(top_p)(None, scores)
    return torch.multinomial(scores.softmax(dim=-1), 1).squeeze(1)


def _empty_cache(model: Any) -> Cache:
    return Cache(layers=[RoomyLayer() for _ in DynamicCache(config=model.config).layers])


def _common_prefix(prompts: Sequence[Sequence[int]]) -> list[int]:
    """The common prefix of the prompts; leaves at least one token of each prompt. Empty if all prompts are equal."""
    low = min(map(list, prompts), default=[])
    high = max(map(list, prompts), default=[])
    if low == high:
        return []
    return low[: min(common_length(low, high), *(len(prompt) - 1 for prompt in prompts))]


def common_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the common prefix."""
    return next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
