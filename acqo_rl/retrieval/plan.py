"""Which FAISS indexes fit a corpus: memory by formula, and where FAISS can search them."""

from __future__ import annotations

from typing import NamedTuple

from acqo_rl.retrieval.faiss_index import make_index
from acqo_rl.retrieval.gpu import has_gpu_form

_BYTES_PER_ID = 90  # of a document; measured by benchmarks/index_sizes.py
_LEAST_TO_TRAIN = 39  # vectors per inverted list, as FAISS recommends
_LINKS = 32  # of a vector in an HNSW graph; there are twice as many at the lowest level


class IndexPlan(NamedTuple):
    """A FAISS index that fits a corpus.

    Attributes:
        factory: FAISS factory string.
        memory: bytes in main memory, with the document ids.
        gpu_memory: bytes of a copy on a GPU; ``None`` if FAISS cannot search it there.
    """

    factory: str
    memory: int
    gpu_memory: int | None


def plan_indexes(vectors: int, documents: int, dim: int) -> list[IndexPlan]:
    """The indexes that fit; IVF indexes only if there are enough vectors to train on."""
    lists = max(1, round(4 * vectors**0.5))
    centres = 4 * dim * lists
    codes = next((size for size in (8, 4, 2) if dim % size == 0), 1)  # dimensions per byte of PQ
    sizes = {"Flat": 4 * dim * vectors, f"HNSW{_LINKS}": (4 * dim + 2 * 4 * _LINKS + 16) * vectors}
    if vectors >= _LEAST_TO_TRAIN * lists:
        sizes[f"IVF{lists},Flat"] = (4 * dim + 8) * vectors + centres
        sizes[f"IVF{lists},SQfp16"] = (2 * dim + 8) * vectors + centres
        sizes[f"IVF{lists},PQ{dim // codes}"] = (dim // codes + 8) * vectors + centres + 4 * 256 * dim
    return [
        IndexPlan(factory, size + _BYTES_PER_ID * documents, size if has_gpu_form(make_index(dim, factory)) else None)
        for factory, size in sizes.items()
    ]
