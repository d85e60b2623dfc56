"""Stores the embeddings of a corpus in files, so that builds can be resumed and shared by several processes."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acqo_rl.data.beir import corpus_hash
from acqo_rl.errors import check_positive
from acqo_rl.files import atomic
from acqo_rl.roles import Encoder
from acqo_rl.text import passage_text
from acqo_rl.types import Document


class Shards:
    """The embeddings of passages; shard ``i`` contains passages ``i * size`` to ``(i + 1) * size - 1``.

    The name of their folder is a hash of passages, encoder and size, so shards of another build are never reused.

    Attributes:
        corpus_hash: hash of the passages.
        folder: of the shards of all builds, in the folder of the index.
        total: number of shards.
    """

    def __init__(self, index: str | Path, passages: Sequence[Document], encoder: Encoder, size: int = 8192) -> None:
        """Plans the shards of an index folder; nothing is read or written.

        Raises:
            ConfigError: the size is less than 1.
        """
        check_positive("shard_size", size)
        self.corpus_hash = corpus_hash(passages)
        self.folder = Path(index, "shards")
        self.total = -(-len(passages) // size)
        self._passages, self._encoder, self._size = passages, encoder, size
        plan = f"{self.corpus_hash} {encoder.fingerprint} {encoder.dim} {len(passages)} {size}"
        self._own = self.folder / hashlib.sha256(plan.encode()).hexdigest()[:16]

    def missing(self) -> list[int]:
        """Numbers of the shards that are missing or incomplete."""
        return [number for number in range(self.total) if not self._is_complete(number)]

    def encode(self, rank: int = 0, processes: int = 1) -> None:
        """Encodes and writes the missing shards whose number is ``rank`` modulo ``processes``."""
        from tqdm import tqdm

        own = [number for number in self.missing() if number % processes == rank]
        for number in tqdm(own, desc="shards", unit=" shards", disable=len(own) < 2 or rank > 0):
            embeddings = self._encoder.encode_passages([*map(passage_text, self._in_shard(number))])
            with atomic(self._path(number)) as unfinished, unfinished.open("wb") as file:
                np.save(file, embeddings)

    def read(self) -> list[NDArray[np.float32]]:
        """Returns all shards, memory-mapped, in document order; none may be missing."""
        return [np.load(self._path(number), mmap_mode="r") for number in range(self.total)]

    def _in_shard(self, number: int) -> Sequence[Document]:
        return self._passages[number * self._size : (number + 1) * self._size]

    def _path(self, number: int) -> Path:
        return self._own / f"{number:06}.npy"

    def _is_complete(self, number: int) -> bool:
        """Whether a file is there, is not truncated and has the wanted shape."""
        try:
            shard: NDArray[np.float32] = np.load(self._path(number), mmap_mode="r")
        except (OSError, ValueError, EOFError):
            return False
        return shard.shape == (len(self._in_shard(number)), self._encoder.dim) and shard.dtype == np.float32
