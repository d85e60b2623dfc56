"""Decoding with continuous batching, for models whose attention cache keeps every token.

Finished completions leave the batch and waiting prompts join it (iteration-level scheduling: Yu et al., Orca, OSDI
2022). Most completions here are short and a few are long, so a fixed batch would mostly wait for its longest row.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import islice, takewhile
from threading import Condition
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import pad as extend
from tqdm import tqdm
from transformers import TopPLogitsWarper

from acqo_rl.language_models.prompt_cache import Layers, PromptCache, common_length
from acqo_rl.language_models.rows import Batch, Row, empty_cache, repeated

if TYPE_CHECKING:
    from transformers.cache_utils import Cache

    from acqo_rl.language_models.drafts import Drafts


Forbidden = Callable[[Sequence[int], Sequence[int]], npt.NDArray[np.int64]]
"""Constraint on decoding: (prompt ids, ids generated so far) -> ids of the tokens that are forbidden next."""


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
        prompt_cache: prompts that were read with the same weights, whose beginnings are not read again; by default,
            only those of one :class:`Decoder`.
        drafts: guesses that save passes of greedy decoding; completions are remembered there.
    """

    ends: Sequence[int]
    pad: int
    max_new_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    batch_size: int = 32
    forbidden: Forbidden | None = None
    prompt_cache: PromptCache | None = None
    drafts: Drafts | None = None


class Decoder:
    """Writes completions in one running batch, which the prompts of other threads can join at any step."""

    def __init__(
        self,
        model: Any,
        decoding: Decoding,
        *,
        turn: AbstractContextManager[Any] | None = None,
        one_by_one: bool = False,
    ) -> None:
        """Creates a decoder without rows.

        Args:
            model: a causal language model whose cache keeps every token.
            decoding: how it generates.
            turn: held while the model is used.
            one_by_one: reads one prompt per pass. This delays the other rows least, and no time is lost with the tokens
                that pad shorter prompts; on a CPU, one prompt is enough work.
        """
        self._model = model
        self._decoding = decoding
        self._prompt_cache = PromptCache() if decoding.prompt_cache is None else decoding.prompt_cache
        self._drafts = decoding.drafts if decoding.temperature == 0 else None
        self._turn = turn or nullcontext()
        self._one_by_one = one_by_one
        self._waiting: deque[Row] = deque()
        self._batch: Batch | None = None
        self._has_started = False
        self._changed = Condition()
        self._unfinished: set[Row] = set()
        self._is_led = False

    def complete(self, prompts: Sequence[Sequence[int]], forbidden: Forbidden | None = None) -> list[list[int]]:
        """Generates one completion per prompt.

        One of the calling threads makes the steps for all, until its own completions are finished; then another thread
        goes on.

        Args:
            prompts: token ids.
            forbidden: constraint on these completions, instead of that of the decoder.

        Returns:
            Token ids of each completion, in input order, including the end token if there is one.

        Raises:
            Exception: what the model raised in the meantime, also for prompts of another thread.
        """
        forbidden = forbidden or self._decoding.forbidden
        rows = [Row(list(prompt), forbidden) for prompt in prompts]
        with self._changed:
            self._unfinished.update(rows)
            self._waiting.extend(sorted(rows, key=lambda row: (len(row.prompt), row.prompt)))
        while not all(row.done for row in rows):
            with self._changed:
                self._changed.wait_for(lambda: not self._is_led or all(row.done for row in rows))
                if self._is_led:  # by another thread, which has finished these rows
                    break
                self._is_led = True
            try:
                with self._turn:
                    self._lead(rows)
            except BaseException as error:
                self._abandon(error)
                raise
            finally:
                with self._changed:
                    self._is_led = False
                    self._changed.notify_all()
        if errors := [row.error for row in rows if row.error]:
            raise errors[0]
        return [row.written for row in rows]

    def _lead(self, rows: list[Row]) -> None:
        """Makes steps until the given rows are finished."""
        left = {row for row in rows if not row.done}
        size = len(left)
        with tqdm(total=size, desc="generate", unit="completion", disable=size < 256, leave=False) as progress:
            while left:
                finished = self._step()
                if finished:
                    progress.update(len(left.intersection(finished)))
                    left.difference_update(finished)
                    with self._changed:
                        self._unfinished.difference_update(finished)
                        self._changed.notify_all()

    def _abandon(self, error: BaseException) -> None:
        """Ends all rows with an error."""
        with self._changed:
            for row in self._unfinished:
                row.done, row.error = True, error
            self._unfinished.clear()
            self._waiting.clear()
            self._batch = None

    @torch.no_grad()
    def _step(self) -> list[Row]:
        """Writes at least one token of each running row, or starts waiting rows.

        Rows start if there is room for them, but not in two steps in a row, so that the running rows are not delayed
        for long.

        Returns:
            The rows that this step has finished.
        """
        running = len(self._batch.rows) if self._batch else 0
        starting = [] if running and self._has_started else self._take(self._decoding.batch_size - running)
        self._has_started = bool(starting)
        if starting:
            return self._start(starting)
        return self._go_on(self._batch) if self._batch else []

    def _take(self, room: int) -> list[Row]:
        """Takes the waiting rows that start together, at most a quarter of a batch; none if they do not fit in."""
        with self._changed:
            rows = list(islice(self._waiting, max(self._decoding.batch_size // 4, 1)))
            if self._one_by_one:
                rows = list(takewhile(lambda row: row.prompt == rows[0].prompt, rows))
            if len(rows) > room:
                return []
            for _ in rows:
                self._waiting.popleft()
        return rows

    def _start(self, rows: list[Row]) -> list[Row]:
        """Reads the prompts of rows, each distinct one once, and writes at least one token of each row."""
        numbers: dict[tuple[int, ...], int] = {}
        places = [numbers.setdefault(tuple(row.prompt), len(numbers)) for row in rows]
        distinct = [rows[places.index(number)] for number in range(len(numbers))]
        batch, logits, guesses = self._read_prompts(distinct)
        if len(distinct) < len(rows):
            batch.select(places)
            batch.rows = rows
            logits, guesses = logits[places], [guesses[place] for place in places]
        return self._write(batch, logits, guesses)

    def _read_prompts(self, rows: list[Row]) -> tuple[Batch, torch.Tensor, list[list[int]]]:
        """Reads distinct prompts together, and their common beginning only once.

        Returns:
            The rows, and logits and guesses as in :meth:`_read`.
        """
        prompts = [row.prompt for row in rows]
        shared = _common_beginning(prompts)
        start, layers = self._prompt_cache.longest_beginning(shared)
        if len(rows) > 1 and start < len(shared):
            beginning = Batch(rows[:1], self._cache(layers, 1), self._ones(1, len(shared)))
            self._read(beginning, [shared[start:]], [[]])
            start, layers = len(shared), beginning.first_columns(len(shared))
            self._prompt_cache.add(shared, layers)
        rests = [prompt[start:] for prompt in prompts]
        longest = max(map(len, rests))
        batch = Batch(rows, self._cache(layers, len(rows)), self._ones(len(rows), start + longest))
        for i, rest in enumerate(rests):
            batch.mask[i, start : start + longest - len(rest)] = 0
        guesses = self._guesses(rows)
        logits = self._read(batch, [[self._decoding.pad] * (longest - len(rest)) + rest for rest in rests], guesses)
        if len(rows) == 1:
            self._prompt_cache.add(prompts[0], batch.first_columns(len(prompts[0])))
        return batch, logits, guesses

    def _go_on(self, batch: Batch) -> list[Row]:
        """Writes at least one more token of each running row."""
        guesses = self._guesses(batch.rows)
        batch.mask = extend(batch.mask, (0, 1), value=1)
        logits = self._read(batch, [row.written[-1:] for row in batch.rows], guesses)
        self._batch = None
        return self._write(batch, logits, guesses)

    def _ones(self, rows: int, columns: int) -> torch.Tensor:
        return torch.ones(rows, columns, dtype=torch.long, device=self._model.device)

    def _cache(self, layers: Layers, rows: int) -> Cache:
        return repeated(layers, rows) if layers else empty_cache(self._model)

    def _guesses(self, rows: Sequence[Row]) -> list[list[int]]:
        return self._drafts.guess([(row.prompt, row.written) for row in rows]) if self._drafts else [[] for _ in rows]

    def _read(self, batch: Batch, ids: list[list[int]], guesses: list[list[int]]) -> torch.Tensor:
        """Reads tokens, for which the mask has columns, and guesses behind them, for which it gets columns.

        Returns:
            Logits of the next token after the tokens and after each one of a guess, float[rows, 1 + longest guess,
            vocabulary].
        """
        longest = max(map(len, guesses))
        read = [
            own + guess + [self._decoding.pad] * (longest - len(guess)) for own, guess in zip(ids, guesses, strict=True)
        ]
        batch.mask = extend(batch.mask, (0, longest), value=1)
        positions = (batch.mask.cumsum(dim=1) - 1).clamp(min=0)[:, -len(read[0]) :]
        output = self._model(
            input_ids=torch.tensor(read, device=self._model.device),
            attention_mask=batch.mask,
            position_ids=positions,
            past_key_values=batch.cache,
            use_cache=True,
            logits_to_keep=1 + longest,
        )
        batch.cache = output.past_key_values
        return output.logits[:, -1 - longest :]  # type: ignore[no-any-return]

    def _write(self, batch: Batch, logits: torch.Tensor, guesses: list[list[int]]) -> list[Row]:
        """Writes the tokens that the logits choose: of each row one, and further ones as long as its guess is right.

        Rows that are not finished stay in the running batch, or join it.

        Returns:
            The rows that are finished now.
        """
        before = [len(row.written) for row in batch.rows]
        active = list(range(len(batch.rows)))
        for place in range(logits.shape[1]):
            for i in active:
                if forbidden := batch.rows[i].forbidden:
                    refused = forbidden(batch.rows[i].prompt, batch.rows[i].written)
                    logits[i, place, torch.from_numpy(refused)] = -torch.inf
            tokens = _next_tokens(logits[:, place], self._decoding.temperature, self._decoding.top_p).tolist()
            for i in active:
                self._append(batch.rows[i], tokens[i])
            active = [i for i in active if guesses[i][place : place + 1] == [tokens[i]] and not batch.rows[i].done]
            if not active:
                break
        batch.forget(
            logits.shape[1] - 1, [len(row.written) - was - 1 for row, was in zip(batch.rows, before, strict=True)]
        )
        finished = [row for row in batch.rows if row.done]
        if self._drafts:
            for row in finished:
                self._drafts.remember(row.prompt, row.written)
        if len(finished) < len(batch.rows):
            if finished:
                batch.select([i for i, row in enumerate(batch.rows) if not row.done])
            if self._batch:
                self._batch.join(batch)
            else:
                self._batch = batch
        return finished

    def _append(self, row: Row, token: int) -> None:
        row.written.append(token)
        row.done = token in self._decoding.ends or len(row.written) >= self._decoding.max_new_tokens


def _next_tokens(logits: torch.Tensor, temperature: float, top_p: float) -> torch.Tensor:
    if temperature == 0:
        return logits.argmax(dim=-1)
    scores = logits.float() / temperature
    if top_p < 1:
        scores = TopPLogitsWarper(top_p)(None, scores)
    return torch.multinomial(scores.softmax(dim=-1), 1).squeeze(1)


def _common_beginning(prompts: Sequence[list[int]]) -> list[int]:
    """The common beginning of prompts, which leaves at least one token of each."""
    shortest = min(map(len, prompts)) - 1
    return prompts[0][: min(shortest, *(common_length(prompts[0], prompt) for prompt in prompts))]
