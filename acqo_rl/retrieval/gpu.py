"""Where a FAISS index is searched: on the CPU, on the GPU of the process, or in parts on all GPUs."""

from __future__ import annotations

import logging
import os
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, get_args

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.faiss_index import WIDEST, import_faiss, reason_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

IndexDevice = Literal["auto", "cpu", "gpu", "shards"]

_INSTEAD = "Set index_device to cpu, or build a Flat or IVF index."
_log = logging.getLogger(__name__)


def to_device(index: Any, device: IndexDevice, *, float16: bool = False) -> Any:
    """The index, or a copy of it on one GPU or several.

    Args:
        index: of FAISS, on the CPU, with its search parameters set.
        device: ``gpu`` copies the whole index to the GPU of this process: the one of its ``LOCAL_RANK``, so that every
            process of a distributed training has a copy beside its model. ``shards`` splits it over all visible GPUs
            (``CUDA_VISIBLE_DEVICES`` chooses), for an index that is too large for one. ``auto`` is ``gpu`` where FAISS
            sees one and the index can be there, else ``cpu``.
        float16: half precision on the GPU: of the vectors of a flat index, of the lookup tables of an IVF-PQ index.

    Raises:
        ConfigError: FAISS has no GPU, the index type does not exist there or does not fit, or ``float16`` has no
            effect.
    """
    if device not in get_args(IndexDevice):
        raise ConfigError(f"index_device is {device!r}; choose one of {', '.join(get_args(IndexDevice))}.")
    if device == "cpu":
        if float16:
            raise ConfigError("index_float16 has no effect with index_device cpu; leave it out, or choose gpu.")
        return index
    if missing := _no_gpu():
        if device == "auto":
            return index
        raise ConfigError(f"index_device is {device}, but {missing}")
    if obstacle := _obstacle(index):
        return _stays(index, device, obstacle)
    if float16 and not _float16_matters(index):
        raise ConfigError(
            f"index_float16 has no effect on a {type(index).__name__}; leave it out. For half the memory, build the"
            " index with vectors in half precision, for example with factory IVF256,SQfp16."
        )
    try:
        return _OneSearchAtATime(_to_shards(index, float16) if device == "shards" else _to_own_gpu(index, float16))
    except RuntimeError as error:
        return _stays(index, device, reason_of(error))


class _OneSearchAtATime:
    """An index on a GPU. FAISS does not allow two threads to search one at the same time, unlike one on the CPU."""

    deepest = WIDEST
    """Vectors that a search gives at most."""

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
    """Why FAISS has no GPU, with what to do; empty where it has one."""
    faiss = import_faiss()
    if not hasattr(faiss, "StandardGpuResources"):
        return (
            f"the installed FAISS ({faiss.__version__}) has no GPU support: uninstall faiss-cpu and install faiss-gpu"
            " (pip install 'acqo-rl[gpu]'), or set index_device to cpu."
        )
    if faiss.get_num_gpus() == 0:
        return "FAISS sees no GPU: check nvidia-smi and CUDA_VISIBLE_DEVICES, or set index_device to cpu."
    return ""


def _obstacle(index: Any) -> str:
    """Why the type of index cannot be on a GPU; asked first, because FAISS may return a copy on the CPU instead."""
    faiss = import_faiss()
    kinds = (faiss.IndexFlat, faiss.IndexIVFFlat, faiss.IndexIVFPQ, faiss.IndexIVFScalarQuantizer)
    return "" if isinstance(_innermost(index), kinds) else "FAISS has no such index for GPUs"


def _float16_matters(index: Any) -> bool:
    faiss = import_faiss()
    return isinstance(_innermost(index), (faiss.IndexFlat, faiss.IndexIVFPQ))


def _innermost(index: Any) -> Any:
    """The index behind its transformations of vectors, such as PCA."""
    faiss = import_faiss()
    while isinstance(index, faiss.IndexPreTransform):
        index = faiss.downcast_index(index.index)
    return index


def _to_own_gpu(index: Any, float16: bool) -> Any:
    faiss = import_faiss()
    options = faiss.GpuClonerOptions()
    options.useFloat16 = float16
    own = _local_rank() % faiss.get_num_gpus()
    return faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), own, index, options)


def _to_shards(index: Any, float16: bool) -> Any:
    faiss = import_faiss()
    options = faiss.GpuMultipleClonerOptions()
    options.shard = True
    options.useFloat16 = float16
    return faiss.index_cpu_to_all_gpus(index, options)


def _local_rank() -> int:
    """Number of this process among those of its machine, as accelerate and torchrun set it."""
    return int(os.environ.get("LOCAL_RANK", 0))


def _stays(index: Any, device: IndexDevice, reason: str) -> Any:
    """The index on the CPU where that is allowed; the first process says so.

    Raises:
        ConfigError: a GPU was asked for.
    """
    name = type(index).__name__
    if device != "auto":
        raise ConfigError(f"The {name} cannot be searched on a GPU: {reason}. {_INSTEAD}")
    if _local_rank() == 0:
        _log.warning("The %s is searched on the CPU, although there is a GPU: %s.", name, reason)
    return index
