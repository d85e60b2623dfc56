"""Stores the embeddings of a corpus in files, so that builds can be resumed and shared by several processes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from acqo_rl.errors import ConfigError
from acqo_rl.files import atomic
from acqo_rl.retrieval.passage import passage_text
from acqo_rl.roles import Encoder
from acqo_rl.types import Document

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDER_NAME = "shards"


@dataclass(frozen=True, slots=True)
class Shards:
    """The shards of a corpus; shard ``i`` contains documents ``i * size`` to ``(i + 1) * size - 1``.

    The name of their folder is a hash of corpus, encoder and size, so shards of another build are never reused.

    Attributes:
        folder: folder of the index.
        corpus_hash: hash of the documents.
        encoder_fingerprint: fingerprint of the encoder.
        dim: embedding dimension.
        count: number of documents.
        size: documents per shard.
    """

    folder: Path
    corpus_hash: str
    encoder_fingerprint: str
    dim: int
    count: int
    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ConfigError(f"shard_size is {self.size}; it must be at least 1.")

    @property
    def total(self) -> int:
        """Number of shards."""
        return -(-self.count // self.size)

    def missing(self) -> list[int]:
        """Numbers of the shards that are missing or incomplete."""
        return [number for number in range(self.total) if self._read(number) is None]

    def encode(self, documents: Sequence[Document], encoder: Encoder, rank: int = 0, processes: int = 1) -> None:
        """Encodes and writes the missing shards whose number is ``rank`` modulo ``processes``."""
        from tqdm import tqdm

        own = [number for number in self.missing() if number % processes == rank]
        for number in tqdm(own, desc="shards", unit=" shards", disable=len(own) < 2 or rank > 0):
            passages = documents[number * self.size : (number + 1) * self.size]
            embeddings = encoder.encode_passages([passage_text(document) for document in passages])
            with atomic(self._path(number)) as unfinished, unfinished.open("wb") as file:
                np.save(file, embeddings)

    def read(self) -> list[NDArray[np.float32]]:
        """Returns all shards, memory-mapped, in document order; none may be missing."""
        return [np.load(self._path(number), mmap_mode="r") for number in range(self.total)]

    def _path(self, number: int) -> Path:
        plan = f"{self.corpus_hash} {self.encoder_fingerprint} {self.dim} {self.count} {self.size}"
        return self.folder / FOLDER_NAME / hashlib.sha256(plan.encode()).hexdigest()[:16] / f"{number:06}.npy"

    def _read(self, number: int) -> NDArray[np.float32] | None:
        """A memory-mapped shard; ``None`` if the file is missing, truncated or has another shape."""
        try:
            shard: NDArray[np.float32] = np.load(self._path(number), mmap_mode="r")
        except (OSError, ValueError, EOFError):
            return None
        rows = min(self.size, self.count - number * self.size)
        return shard if shard.shape == (rows, self.dim) and shard.dtype == np.float32 else None
