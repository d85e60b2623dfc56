"""The FAISS indexes that fit a corpus: their memory and the products of a search."""

from typing import NamedTuple

from acqo_rl.retrieval.faiss_devices import has_gpu_form
from acqo_rl.retrieval.faiss_index import make_index

_BYTES_PER_ID = 90  # of a document; measured by benchmarks/index_sizes.py
_LEAST_TO_TRAIN = 39  # vectors per inverted list, as FAISS recommends
_LINKS = 32  # of a vector in an HNSW graph; there are twice as many at the lowest level
PLANNED = {"nprobe": 32, "efSearch": 128}
"""Search parameters with which :func:`plan_indexes` counts the products of a search."""


class IndexPlan(NamedTuple):
    """A FAISS index that fits a corpus.

    Attributes:
        factory: FAISS factory string.
        memory: bytes in main memory, with the document ids.
        gpu_memory: bytes of a copy on a GPU; ``None`` if FAISS cannot search it there.
        products: numbers multiplied or looked up in a search of one text, with ``PLANNED`` search parameters.
    """

    factory: str
    memory: int
    gpu_memory: int | None
    products: int


def plan_indexes(vectors: int, documents: int, dim: int) -> list[IndexPlan]:
    """The indexes that fit; IVF indexes only if there are enough vectors to train on."""
    lists = max(1, round(4 * vectors**0.5))
    centres = 4 * dim * lists
    codes = next((size for size in (8, 4, 2) if dim % size == 0), 1)  # dimensions per byte of PQ
    probed = min(1, PLANNED["nprobe"] / lists) * vectors
    visited = min(vectors, PLANNED["efSearch"] * 2 * _LINKS)
    sizes = {
        "Flat": (4 * dim * vectors, dim * vectors),
        f"HNSW{_LINKS}": ((4 * dim + 2 * 4 * _LINKS + 16) * vectors, dim * visited),
    }
    if vectors >= _LEAST_TO_TRAIN * lists:
        read = dim * (lists + probed)
        sizes[f"IVF{lists},Flat"] = (4 * dim + 8) * vectors + centres, read
        sizes[f"IVF{lists},SQfp16"] = (2 * dim + 8) * vectors + centres, read
        coded = (dim // codes + 8) * vectors + centres + 4 * 256 * dim
        sizes[f"IVF{lists},PQ{dim // codes}"] = coded, dim * (lists + 256) + dim // codes * probed
    return [
        IndexPlan(
            factory,
            size + _BYTES_PER_ID * documents,
            size if has_gpu_form(make_index(dim, factory)) else None,
            round(products),
        )
        for factory, (size, products) in sizes.items()
    ]
