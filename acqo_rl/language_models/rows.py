"""The rows of a batch that are written together, and their attention cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import pad as extend
from transformers import DynamicCache
from transformers.cache_utils import Cache, DynamicLayer

from acqo_rl.language_models.prompt_cache import Layers

if TYPE_CHECKING:
    from acqo_rl.language_models.decoder import Forbidden

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

    @classmethod
    def of(cls, keys: torch.Tensor, values: torch.Tensor) -> RoomyLayer:
        """A layer with the given keys and values, which are never changed in place."""
        layer = cls()
        layer.lazy_initialization(keys, values)
        layer.put(keys, values)
        return layer

    def put(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Replaces keys and values."""
        self.keys, self.values, self._room = keys, values, None

    def join(self, other: RoomyLayer, columns: int) -> None:
        """Adds the rows of another layer, with columns of zeros before those of shorter rows."""
        keys, values = _stacked((self.keys, other.keys), columns), _stacked((self.values, other.values), columns)
        self._room = keys, values
        self.keys, self.values = keys[:, :, :columns], values[:, :, :columns]

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


def _stacked(tensors: Sequence[torch.Tensor], columns: int) -> torch.Tensor:
    """The rows of all tensors, at the end of the given columns, with preallocated columns behind them."""
    first = tensors[0]
    stacked = first.new_zeros(sum(map(len, tensors)), first.shape[1], columns + _ROOM, first.shape[3])
    start = 0
    for tensor in tensors:
        stacked[start : start + len(tensor), :, columns - tensor.shape[2] : columns] = tensor
        start += len(tensor)
    return stacked


@dataclass(eq=False)
class Row:
    """A completion that is being generated.

    Attributes:
        prompt: token ids of the prompt.
        forbidden: constraint on this completion.
        written: token ids of the completion so far.
        done: whether the completion is finished.
        error: what ended it early.
    """

    prompt: list[int]
    forbidden: Forbidden | None = None
    written: list[int] = field(default_factory=list)
    done: bool = False
    error: BaseException | None = None


@dataclass
class Batch:
    """The rows that are currently generated.

    Attributes:
        rows: the completions.
        cache: keys and values of every layer, float[rows, heads, columns, size].
        mask: int[rows, columns]; 0 where a row does not use a column. The column of a token is not its position.
    """

    rows: list[Row]
    cache: Cache
    mask: torch.Tensor

    def first_columns(self, number: int) -> Layers:
        """Keys and values of the first columns of each layer; they do not change when columns are appended."""
        return [(layer.keys[:, :, :number], layer.values[:, :, :number]) for layer in self.cache.layers]

    def select(self, kept: list[int]) -> None:
        """Keeps the given rows, and the columns that at least one of them uses."""
        index = torch.tensor(kept, device=self.mask.device)
        self.rows = [self.rows[i] for i in kept]
        self.mask = self.mask[index]
        columns = self.mask.any(dim=0).nonzero().squeeze(1)
        self.mask = self.mask[:, columns]
        for layer in self.cache.layers:
            layer.put(layer.keys[index][:, :, columns], layer.values[index][:, :, columns])

    def join(self, other: Batch) -> None:
        """Adds the rows of another batch."""
        width = max(self.mask.shape[1], other.mask.shape[1])
        self.rows = self.rows + other.rows
        self.mask = torch.cat([extend(m, (width - m.shape[1], 0)) for m in (self.mask, other.mask)])
        for mine, its in zip(self.cache.layers, other.cache.layers, strict=True):
            mine.join(its, width)

    def forget(self, read: int, used: list[int]) -> None:
        """Removes the columns of tokens that turned out to be wrong.

        Args:
            read: number of the last columns that may be wrong.
            used: how many of them are right, for each row.
        """
        if not read:
            return
        start = self.mask.shape[1] - read
        for i, right in enumerate(used):
            self.mask[i, start + right :] = 0
        unused = read - max(used)
        if unused:
            self.mask = self.mask[:, :-unused]
            self.cache.crop(-unused)


def repeated(layers: Layers, rows: int) -> Cache:
    """A cache in which each row has the same keys and values."""
    return Cache(layers=[RoomyLayer.of(*(tensor.expand(rows, -1, -1, -1) for tensor in layer)) for layer in layers])


def empty_cache(model: Any) -> Cache:
    """A cache that grows in place, for a model whose cache keeps every token."""
    return Cache(layers=[RoomyLayer() for _ in DynamicCache(config=model.config).layers])
