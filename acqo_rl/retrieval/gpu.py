"""Places a FAISS index on the CPU, on the GPU of the process, or split over all GPUs."""

from __future__ import annotations

import logging
import os
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, get_args

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.faiss_index import MAX_VECTORS, import_faiss, reason_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

IndexDevice = Literal["auto", "cpu", "gpu", "shards"]

_INSTEAD = "Set index_device to cpu, or build a Flat or IVF index."
_log = logging.getLogger(__name__)


def to_device(index: Any, device: IndexDevice) -> Any:
    """Returns the index, or a copy of it on one or several GPUs.

    Args:
        index: FAISS index on the CPU, with its search parameters set.
        device: ``gpu`` copies the whole index to the GPU of this process, chosen by ``LOCAL_RANK``, so that each
            process of a distributed training has its own copy. ``shards`` splits the index over all visible GPUs
            (``CUDA_VISIBLE_DEVICES``), for an index that is too large for one GPU. ``auto`` means ``gpu`` if FAISS has
            a GPU and supports the index type there, else ``cpu``.

    Raises:
        ConfigError: FAISS has no GPU, does not support the index type on GPUs or lacks GPU memory.
    """
    if device not in get_args(IndexDevice):
        raise ConfigError(f"index_device is {device!r}; choose one of {', '.join(get_args(IndexDevice))}.")
    if device == "cpu":
        return index
    if missing := _no_gpu():
        if device == "auto":
            return index
        raise ConfigError(f"index_device is {device}, but {missing}")
    if reason := _unsupported(index):
        return _keep_on_cpu(index, device, reason)
    try:
        return _OneSearchAtATime(_to_shards(index) if device == "shards" else _to_own_gpu(index))
    except RuntimeError as error:
        return _keep_on_cpu(index, device, reason_of(error))


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


def _no_gpu() -> str:
    """The reason why FAISS has no GPU and what to do about it; empty if it has one."""
    faiss = import_faiss()
    if not hasattr(faiss, "StandardGpuResources"):
        return (
            f"the installed FAISS ({faiss.__version__}) has no GPU support. Uninstall faiss-cpu and install faiss-gpu"
            " (pip install 'acqo-rl[gpu]'), or set index_device to cpu."
        )
    if faiss.get_num_gpus() == 0:
        return "FAISS finds no GPU. Check nvidia-smi and CUDA_VISIBLE_DEVICES, or set index_device to cpu."
    return ""


def _unsupported(index: Any) -> str:
    """The reason why an index type cannot be on a GPU; empty if it can.

    This must be checked first, because FAISS may silently return a copy on the CPU.
    """
    faiss = import_faiss()
    while isinstance(index, faiss.IndexPreTransform):  # such as PCA
        index = faiss.downcast_index(index.index)
    kinds = (faiss.IndexFlat, faiss.IndexIVFFlat, faiss.IndexIVFPQ, faiss.IndexIVFScalarQuantizer)
    return "" if isinstance(index, kinds) else "FAISS does not support this index type on GPUs"


def _to_own_gpu(index: Any) -> Any:
    faiss = import_faiss()
    return faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), _local_rank() % faiss.get_num_gpus(), index)


def _to_shards(index: Any) -> Any:
    faiss = import_faiss()
    options = faiss.GpuMultipleClonerOptions()
    options.shard = True
    return faiss.index_cpu_to_all_gpus(index, options)


def _local_rank() -> int:
    """Rank of this process on its machine, as set by accelerate and torchrun."""
    return int(os.environ.get("LOCAL_RANK", 0))


def _keep_on_cpu(index: Any, device: IndexDevice, reason: str) -> Any:
    """Returns the index on the CPU if the device is ``auto``; the first process logs a warning.

    Raises:
        ConfigError: the setting requires a GPU.
    """
    name = type(index).__name__
    if device != "auto":
        raise ConfigError(f"The {name} cannot be searched on a GPU: {reason}. {_INSTEAD}")
    if _local_rank() == 0:
        _log.warning("The %s is searched on the CPU although there is a GPU, because %s.", name, reason)
    return index
