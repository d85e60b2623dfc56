"""The devices that search FAISS indexes: a CPU, or one or several GPUs."""

import logging
import os
import sys
from functools import cache
from threading import Lock
from typing import Any, get_args

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.faiss_index import import_faiss, reason_of
from acqo_rl.roles import Vectors
from acqo_rl.types import IndexDevice

_log = logging.getLogger(__name__)

MAX_VECTORS = 2048
"""Maximum number of vectors that a search of an index on a GPU returns, and that are fetched to order ties."""


def check_device(device: IndexDevice) -> None:
    """Checks that FAISS has a device, before an index is built or read for it.

    Raises:
        ConfigError: the device is unknown, or FAISS has no GPU.
    """
    if device not in get_args(IndexDevice):
        raise ConfigError(f"index_device is {device!r}; choose one of {', '.join(get_args(IndexDevice))}.")
    if device not in ("auto", "cpu") and not (faiss := import_faiss()).get_num_gpus():
        raise ConfigError(
            f"index_device is {device}, but FAISS ({faiss.__version__}) finds no GPU. Check nvidia-smi and"
            " CUDA_VISIBLE_DEVICES, replace faiss-cpu by faiss-gpu (pip install 'acqo-rl[gpu]'), or set it to cpu."
        )


@cache
def _name_missing_package() -> None:
    """Warns once that FAISS searches on the CPU, if torch has been imported and has a GPU."""
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_available() and int(os.environ.get("LOCAL_RANK", 0)) == 0:
        _log.warning(
            "This machine has a GPU, but FAISS searches on the CPU: replace faiss-cpu by faiss-gpu (pip uninstall"
            " faiss-cpu; pip install 'acqo-rl[gpu]'), or set index_device to cpu."
        )


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
        ConfigError: see :func:`check_device`; or FAISS does not support the index type on GPUs or lacks GPU memory.
    """
    check_device(device)
    faiss = import_faiss()
    if device == "cpu" or not faiss.get_num_gpus():
        if device == "auto":
            _name_missing_package()
        return index
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

    def search(self, vectors: Vectors, k: int) -> Any:
        with self._lock:
            return self._index.search(vectors, k)
