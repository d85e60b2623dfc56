"""Places a FAISS index on the CPU, on the GPU of the process, or split over all GPUs; says which indexes fit."""

import logging
import os
from threading import Lock
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.faiss_index import MAX_VECTORS, import_faiss, make_index, reason_of
from acqo_rl.retrieval.settings import IndexDevice

_log = logging.getLogger(__name__)

_BYTES_PER_ID = 90  # of a document; measured by benchmarks/index_sizes.py
_LEAST_TO_TRAIN = 39  # vectors per inverted list, as FAISS recommends
_LINKS = 32  # of a vector in an HNSW graph; there are twice as many at the lowest level
PLANNED = {"nprobe": 32, "efSearch": 128}
"""Search parameters with which :func:`plan_indexes` counts the products of a search."""


def to_device(index: Any, device: IndexDevice) -> Any:
    """Returns the index, or a copy of it on one or several GPUs.

    Args:
        index: FAISS index on the CPU, with its search parameters set.
        device: ``gpu`` copies the whole index to the GPU of this process, chosen by ``LOCAL_RANK``, so that each
            process of a distributed training has its own copy. ``gpu_float16`` does so with vectors of half
            precision; only a Flat index becomes smaller. ``shards`` splits the index over all visible GPUs
            (``CUDA_VISIBLE_DEVICES``), for an index that is too large for one GPU. ``auto`` means ``gpu`` if FAISS has
            a GPU and supports the index type there, else ``cpu``.

    Raises:
        ConfigError: FAISS has no GPU, does not support the index type on GPUs or lacks GPU memory.
    """
    if device not in get_args(IndexDevice):
        raise ConfigError(f"index_device is {device!r}; choose one of {', '.join(get_args(IndexDevice))}.")
    if device == "cpu":
        return index
    faiss = import_faiss()
    if not faiss.get_num_gpus():
        if device == "auto":
            return index
        raise ConfigError(
            f"index_device is {device}, but FAISS ({faiss.__version__}) finds no GPU. Check nvidia-smi and"
            " CUDA_VISIBLE_DEVICES, replace faiss-cpu by faiss-gpu (pip install 'acqo-rl[gpu]'), or set it to cpu."
        )
    options = faiss.GpuMultipleClonerOptions()
    options.shard = device == "shards"
    options.useFloat16 = device == "gpu_float16"
    local_rank = int(os.environ.get("LOCAL_RANK", 0))  # of this process on its machine, by accelerate and torchrun
    try:
        if not has_gpu_form(index):  # FAISS alone would silently leave some types on the CPU
            raise RuntimeError("FAISS does not support this index type on GPUs")
        if options.shard:
            return _OneSearchAtATime(faiss.index_cpu_to_all_gpus(index, options))
        gpu = local_rank % faiss.get_num_gpus()
        return _OneSearchAtATime(faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), gpu, index, options))
    except RuntimeError as error:
        reason = f"The {type(index).__name__} cannot be searched on a GPU: {reason_of(error)}"
    if device != "auto":
        raise ConfigError(f"{reason}. Set index_device to cpu, or build a Flat or IVF index.")
    if local_rank == 0:
        _log.warning("%s; it is searched on the CPU", reason)
    return index


def has_gpu_form(index: Any) -> bool:
    """Whether FAISS can search an index of this type on a GPU."""
    faiss = import_faiss()
    while isinstance(index, faiss.IndexPreTransform):  # such as PCA
        index = faiss.downcast_index(index.index)
    return isinstance(index, faiss.IndexFlat | faiss.IndexIVFFlat | faiss.IndexIVFPQ | faiss.IndexIVFScalarQuantizer)


class _OneSearchAtATime:
    """An index on a GPU with a lock, because FAISS does not allow concurrent searches of a GPU index."""

    max_depth = MAX_VECTORS
    """Maximum number of vectors that a search returns per query."""

    def __init__(self, index: Any) -> None:
        self.d: int = index.d
        self.ntotal: int = index.ntotal
        self._index = index
        self._lock = Lock()

    def search(self, vectors: NDArray[np.float32], k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        with self._lock:
            found: tuple[NDArray[np.float32], NDArray[np.int64]] = self._index.search(vectors, k)
        return found


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
