"""Batched generation with continuous batching, for models whose attention cache keeps every token.

Each distinct prompt is read once, even if it needs several completions, and the common prefix of all prompts is read
once. Finished completions leave the batch and waiting prompts join it (iteration-level scheduling: Yu et al., Orca,
OSDI 2022). Most completions here are short and a few are long, so a fixed batch would mostly wait for its longest row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import pad as extend
from tqdm import tqdm
from transformers import DynamicCache, LogitsProcessor, LogitsProcessorList, TopPLogitsWarper
from transformers.cache_utils import Cache, DynamicLayer

from acqo_rl.language_models.rows import Batch, empty_cache

if TYPE_CHECKING:
    from acqo_rl.language_models.drafts import Drafts

Forbidden = Callable[[Sequence[int], Sequence[int]], npt.NDArray[np.int64]]
"""Constraint on decoding: (prompt ids, ids generated so far) -> ids of the tokens that are forbidden next."""


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
    return Prefix(shared, _read(model, empty_cache(model), [shared], torch.ones(1, len(shared)))[0])


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
        known: prefix that need not be read again; not used unless all prompts begin with it.
        drafts: guesses that save passes of greedy decoding; completions are remembered there.

    Returns:
        Token ids of each completion, in input order, including the end token if there is one.
    """
    if not keeps_every_token(model):
        return _fixed_batches(model, prompts, ends, pad, max_new_tokens, temperature, top_p, batch_size, forbidden)
    order = sorted(range(len(prompts)), key=lambda i: (len(prompts[i]), prompts[i]))
    size = max(batch_size // 4, 1)
    waiting = [order[i : i + size] for i in range(0, len(order), size)][::-1]
    prefix = known if known and known.begins(prompts) else read_prefix(model, prompts)
    batch: Batch | None = None
    with tqdm(
        total=len(prompts), desc="generate", unit="completion", disable=len(prompts) < 256, leave=False
    ) as progress:
        writer = _Writer(
            model, prompts, prefix, ends, pad, max_new_tokens, temperature, top_p, forbidden, drafts, progress
        )
        while waiting or batch is not None:
            if batch is None:
                batch = writer.begin(waiting.pop())
            elif waiting and len(batch.rows) + size <= batch_size:
                joining = writer.begin(waiting.pop())
                if joining is not None:
                    batch.join(joining)
            else:
                batch = writer.go_on(batch)
    return writer.completions


class _Writer:
    """Writes the completions of one call of :func:`complete`, which explains the arguments."""

    def __init__(
        self,
        model: Any,
        prompts: Sequence[Sequence[int]],
        prefix: Prefix | None,
        ends: Sequence[int],
        pad: int,
        max_new_tokens: int,
        temperature: float,
        top_p: float,
        forbidden: Forbidden | None,
        drafts: Drafts | None,
        progress: Any,
    ) -> None:
        self.completions: list[list[int]] = [[] for _ in prompts]
        self._model = model
        self._prompts = prompts
        self._prefix = prefix
        self._ends = ends
        self._pad = pad
        self._max_new_tokens = max_new_tokens
        self._temperature = temperature
        self._top_p = top_p
        self._forbidden = forbidden
        self._drafts = drafts if temperature == 0 else None
        self._progress = progress

    def begin(self, rows: list[int]) -> Batch | None:
        """Reads the prompts of the given rows after the common prefix, and writes at least one token of each.

        Returns:
            The rows that are not finished; ``None`` if all are.
        """
        start = len(self._prefix.ids) if self._prefix else 0
        distinct = list(dict.fromkeys(tuple(self._prompts[row]) for row in rows))
        rests = [prompt[start:] for prompt in distinct]
        longest = max(map(len, rests))
        ids = [[self._pad] * (longest - len(rest)) + list(rest) for rest in rests]
        mask = torch.tensor([[1] * start + [0] * (longest - len(rest)) + [1] * len(rest) for rest in rests])
        cache = empty_cache(self._model)
        for number, layer in enumerate(self._prefix.cache.layers if self._prefix else ()):
            cache.update(
                layer.keys.expand(len(distinct), -1, -1, -1), layer.values.expand(len(distinct), -1, -1, -1), number
            )
        batch = Batch(list(range(len(distinct))), cache, mask.to(self._model.device))
        guesses = self._guesses([(prompt, ()) for prompt in distinct])
        logits = self._read(batch, ids, guesses)
        if len(distinct) < len(rows):
            place = {prompt: i for i, prompt in enumerate(distinct)}
            places = [place[tuple(self._prompts[row])] for row in rows]
            batch.select(places)
            logits, guesses = logits[places], [guesses[i] for i in places]
        batch.rows = rows
        return self._write(batch, logits, guesses)

    def go_on(self, batch: Batch) -> Batch | None:
        """Writes at least one more token of each row; returns the rows that are not finished."""
        guesses = self._guesses([(self._prompts[row], self.completions[row]) for row in batch.rows])
        batch.mask = extend(batch.mask, (0, 1), value=1)
        logits = self._read(batch, [self.completions[row][-1:] for row in batch.rows], guesses)
        return self._write(batch, logits, guesses)

    def _guesses(self, texts: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[list[int]]:
        return self._drafts.guess(texts) if self._drafts else [[] for _ in texts]

    def _read(self, batch: Batch, ids: list[list[int]], guesses: list[list[int]]) -> torch.Tensor:
        """Reads tokens, for which the mask has columns, and guesses behind them, for which it gets columns.

        Returns:
            Logits of the next token after the tokens and after each one of a guess, float[rows, 1 + longest guess,
            vocabulary].
        """
        longest = max(map(len, guesses))
        read = [own + guess + [self._pad] * (longest - len(guess)) for own, guess in zip(ids, guesses, strict=True)]
        batch.mask = extend(batch.mask, (0, longest), value=1)
        batch.cache, logits = _read(self._model, batch.cache, read, batch.mask, 1 + longest)
        return logits

    def _write(self, batch: Batch, logits: torch.Tensor, guesses: list[list[int]]) -> Batch | None:
        """Writes the tokens that the logits choose: of each row one, and further ones as long as its guess is right."""
        before = [len(self.completions[row]) for row in batch.rows]
        active = list(range(len(batch.rows)))
        for place in range(logits.shape[1]):
            if self._forbidden is not None:
                for i in active:
                    row = batch.rows[i]
                    forbidden = self._forbidden(self._prompts[row], self.completions[row])
                    logits[i, place, torch.from_numpy(forbidden)] = -torch.inf
            tokens = _next_tokens(logits[:, place], self._temperature, self._top_p).tolist()
            for i in active:
                self.completions[batch.rows[i]].append(tokens[i])
            active = [
                i for i in active if guesses[i][place : place + 1] == [tokens[i]] and not self._is_done(batch.rows[i])
            ]
            if not active:
                break
        now = [len(self.completions[row]) for row in batch.rows]
        batch.forget(logits.shape[1] - 1, [after - first - 1 for first, after in zip(before, now, strict=True)])
        kept = [i for i, row in enumerate(batch.rows) if not self._is_done(row)]
        self._progress.update(len(batch.rows) - len(kept))
        if self._drafts:
            for row in filter(self._is_done, batch.rows):
                self._drafts.remember(self._prompts[row], self.completions[row])
        if not kept:
            return None
        if len(kept) < len(batch.rows):
            batch.select(kept)
        return batch

    def _is_done(self, row: int) -> bool:
        written = self.completions[row]
        return written[-1] in self._ends or len(written) >= self._max_new_tokens


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


def _read(
    model: Any, cache: Cache, ids: list[list[int]], mask: torch.Tensor, last: int = 1
) -> tuple[Cache, torch.Tensor]:
    """Appends tokens to a cache; returns it and the logits after the ``last`` tokens, float[rows, last, vocabulary]."""
    device = model.device
    mask = mask.to(device)
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)[:, -len(ids[0]) :].long()
    output = model(
        input_ids=torch.tensor(ids, device=device),
        attention_mask=mask,
        position_ids=positions,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=last,
    )
    return output.past_key_values, output.logits[:, -last:]


def _next_tokens(logits: torch.Tensor, temperature: float, top_p: float) -> torch.Tensor:
    if temperature == 0:
        return logits.argmax(dim=-1)
    scores = logits.float() / temperature
    if top_p < 1:
        scores = TopPLogitsWarper(top_p)(None, scores)
    return torch.multinomial(scores.softmax(dim=-1), 1).squeeze(1)


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
