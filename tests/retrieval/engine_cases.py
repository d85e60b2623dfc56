"""Search engines of the tests, and an encoder whose vectors are all different."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from acqo_rl.roles import Encoder
from acqo_rl.types import Document

ENGINES = ("qdrant", "milvus", "postgresql", "lancedb")


class UnitEncoder(Encoder):
    """Random unit vectors that depend on the text alone, so that no two scores are equal."""

    settings = None

    def __init__(self, dim: int = 16, fingerprint: str = "unit") -> None:
        self.dim = dim
        self.fingerprint = fingerprint
        self.encoded: list[str] = []

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        rows = [np.random.default_rng(zlib.crc32(text.encode())).normal(size=self.dim) for text in texts]
        vectors = np.array(rows, dtype=np.float32).reshape(len(texts), self.dim)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def encode_passages(self, texts: Sequence[str]) -> np.ndarray:
        self.encoded += texts
        return self.encode_queries(texts)


def nearest(vectors: np.ndarray, text: str, k: int) -> set[str]:
    """The numbers of the rows that are nearest to a text."""
    [query] = UnitEncoder().encode_queries([text])
    return {str(row) for row in np.argsort(-(vectors @ query))[:k]}


WORDS = ["red", "green", "blue", "café", "東京", "heute", "😀", "river", "stone"]

CORPUS = [
    Document(
        f"d{i}",
        f"Title {i}" if i % 2 else "",
        f"passage {i} about {WORDS[i % len(WORDS)]} and " + "stone " * (1 + i % 5),
        {"lang": "de" if i % 3 else "en", "year": 1990 + i, "draft": i % 2 == 0, "date": f"2024-01-{i + 1:02}"},
    )
    for i in range(27)
]
"""Documents with metadata of several types."""
