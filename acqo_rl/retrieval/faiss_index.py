"""FAISS indexes on CPUs and GPUs, the dense retriever that searches them, and the indexes that fit a corpus."""

import logging
import os
import sys
from collections.abc import Sequence
from functools import cache
from itertools import compress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from acqo_rl.errors import ConfigError, IndexMismatchError, check_positive
from acqo_rl.files import atomic
from acqo_rl.retrieval.encoder import encode_texts, search_windows
from acqo_rl.retrieval.settings import IndexDevice
from acqo_rl.roles import Encoder, Retriever, Vectors
from acqo_rl.types import Ranking, search_key

_log = logging.getLogger(__name__)

_BYTES_PER_ID = 90  # of a document; measured by benchmarks/index_sizes.py
_LEAST_TO_TRAIN = 39  # vectors per inverted list, as FAISS recommends
_LINKS = 32  # of a vector in an HNSW graph; there are twice as many at the lowest level
PLANNED = {"nprobe": 32, "efSearch": 128}
"""Search parameters with which :func:`plan_indexes` counts the products of a search."""
MAX_VECTORS = 2048
"""Maximum number of vectors fetched to order ties at rank ``k``; also the maximum that a GPU index returns."""


class FaissRetriever(Retriever):
    """Dense retrieval by inner product; each call of ``search`` encodes and searches the distinct texts once.

    Documents with equal scores keep the order of the corpus. A document with several vectors gets the score of its best
    vector. A GPU index returns at most 2,048 vectors; if they belong to fewer than ``k`` documents, the ranking is
    shorter. Vectors and queries have L2 norm 1 (:class:`~acqo_rl.retrieval.manifest.DenseSettings`), so scores are
    cosines.
    """

    name = "dense"
    cosine = True

    def __init__(
        self,
        index: Any,
        doc_ids: Sequence[str],
        encoder: Encoder,
        fingerprint: str = "",
        spans: NDArray[np.int32] | None = None,
    ) -> None:
        """Creates a retriever for an existing index.

        Args:
            index: FAISS index over ``len(doc_ids)`` vectors.
            doc_ids: document id of each vector; the vectors of a document must be adjacent.
            encoder: embeds the queries.
            fingerprint: fingerprint of the index, see :attr:`acqo_rl.retrieval.manifest.Manifest.fingerprint`.
            spans: start and end of the passage of each vector in its document, int32[vectors, 2]; zeros if unknown.

        Raises:
            IndexMismatchError: the encoder has another dimension.
            ValueError: the spans do not fit.
        """
        if index.d != encoder.dim:
            raise IndexMismatchError(
                f"The index has {index.d} dimensions and the encoder {encoder.dim}; use the index's own encoder."
            )
        self.fingerprint = fingerprint
        self._index = index
        starts = np.fromiter((i == 0 or doc_ids[i - 1] != doc_ids[i] for i in range(len(doc_ids))), bool, len(doc_ids))
        self._document_of = np.cumsum(starts) - 1
        self._doc_ids = list(compress(doc_ids, starts))
        self._max_depth = min(index.ntotal, getattr(index, "max_depth", index.ntotal))
        self.encoder = encoder
        if spans is not None and (spans.shape != (len(doc_ids), 2) or spans.dtype != np.int32):
            raise ValueError(f"the spans are not int32 numbers in the shape {(len(doc_ids), 2)}")
        self._spans = np.broadcast_to(np.int32(0), (len(doc_ids), 2)) if spans is None else spans

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """Returns at most ``k`` documents per text, in input order.

        Raises:
            ConfigError: ``k`` is less than 1.
        """
        check_positive("k", k)
        return search_windows(self.encoder, texts, k, lambda parts: self._search(parts, k)) if texts else []

    def _search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        distinct = {search_key(text): text for text in texts}
        depth = -(-(k + 1) * self._index.ntotal // len(self._doc_ids))  # vectors of k + 1 documents on average
        nearest = self._nearest(encode_texts(self.encoder, list(distinct.values())), k, depth)
        rankings = {}
        for key, (rows, scores) in zip(distinct, nearest, strict=True):
            doc_ids = tuple(self._doc_ids[i] for i in self._document_of[rows])
            places = zip(doc_ids, self._spans[rows].tolist(), strict=True)
            spans = {doc_id: (start, end) for doc_id, (start, end) in places if end}
            rankings[key] = Ranking(doc_ids, tuple(scores), self.name, distinct[key], spans=spans)
        return [rankings[search_key(text)] for text in texts]

    def _nearest(self, vectors: Vectors, k: int, depth: int) -> list[tuple[list[int], list[float]]]:
        """Best vectors and scores of the ``k`` best documents for each row, by descending score, then by document.

        Fetches ``depth`` vectors per row. A row is searched again with twice the depth if its vectors belong to fewer
        than ``k`` documents, or if the last vector ties with the k-th document.
        """
        depth = min(depth, max(k, self._max_depth), self._index.ntotal)
        scores, positions = self._index.search(vectors, depth)
        nearest = [self._in_order(*row, k) for row in zip(scores, positions, strict=True)]

        def is_settled(row: int) -> bool:
            found = nearest[row][1]
            if positions[row, -1] < 0 or depth >= self._max_depth:
                return True
            return len(found) == k and (found[-1] > scores[row, -1] or depth >= MAX_VECTORS)

        if again := [row for row in range(len(vectors)) if not is_settled(row)]:
            for row, found in zip(again, self._nearest(vectors[again], k, 2 * depth), strict=True):
                nearest[row] = found
        return nearest

    def _in_order(self, scores: Vectors, positions: NDArray[np.int64], k: int) -> tuple[list[int], list[float]]:
        """The ``k`` best documents of one row of FAISS results, in which position -1 means no result."""
        found = positions >= 0
        scores, positions = scores[found], positions[found]
        order = np.lexsort((documents := self._document_of[positions], -scores))
        _, best = np.unique(documents[order], return_index=True)
        order = order[np.sort(best)][:k]
        return positions[order].tolist(), scores[order].tolist()


def make_index(dim: int, factory: str, build_parameters: str = "") -> Any:
    """Creates an empty index for inner product.

    Args:
        dim: dimension of the vectors.
        factory: FAISS factory string, such as ``Flat``, ``HNSW64``, ``IVF256,Flat`` or ``IVF256,PQ32``.
        build_parameters: FAISS parameters for the build, such as ``efConstruction=200``.

    Raises:
        ConfigError: FAISS does not know the factory string or a parameter.
    """
    faiss = import_faiss()
    try:
        index = faiss.index_factory(dim, factory, faiss.METRIC_INNER_PRODUCT)
    except RuntimeError as error:
        raise ConfigError(
            f"FAISS cannot create the index {factory!r} with {dim} dimensions: {reason_of(error)}\n"
            "Use a factory string such as Flat, HNSW64, IVF256,Flat or IVF256,PQ32 (the dimension must be a multiple of"
            " the number after PQ)."
        ) from error
    for part in (index, faiss.try_extract_index_ivf(index)):
        if hasattr(part, "do_polysemous_training"):
            part.do_polysemous_training = False  # takes seconds per sub-quantizer, for a filter that is not used here
    set_parameters(index, build_parameters)
    return index


def set_parameters(index: Any, parameters: str) -> None:
    """Sets FAISS parameters, such as ``nprobe=32`` or ``efSearch=128``; an empty string sets none.

    Raises:
        ConfigError: the index does not have the parameter.
    """
    if not parameters:
        return
    faiss = import_faiss()
    try:
        faiss.ParameterSpace().set_index_parameters(index, parameters)
    except RuntimeError as error:
        raise ConfigError(
            f"A {type(index).__name__} does not support {parameters!r}. Use nprobe=N for IVF indexes, and efSearch=N"
            " or (when it is built) efConstruction=N for HNSW indexes."
        ) from error


def default_search_parameters(index: Any) -> str:
    """For IVF indexes, ``nprobe`` = square root of the number of lists (FAISS defaults to 1); otherwise empty."""
    lists = _lists(index)
    return f"nprobe={round(lists**0.5)}" if lists else ""


def fill(index: Any, blocks: Sequence[Vectors], factory: str) -> None:
    """Trains the index on an evenly spaced sample of the vectors, if it needs training, and adds all vectors.

    Args:
        index: an empty index.
        blocks: vectors in document order, float32[n, dim] each; may be memory-mapped.
        factory: FAISS factory string, for messages.

    Raises:
        ConfigError: there are too few vectors to train on.
    """
    from tqdm import tqdm

    count = sum(len(block) for block in blocks)
    if not index.is_trained:
        step = max(1, count // max(65_536, 64 * _lists(index)))
        try:
            index.train(np.concatenate([block[::step] for block in blocks]))
        except RuntimeError as error:
            raise ConfigError(
                f"FAISS cannot train {factory!r} on {count} vectors: {reason_of(error)}\n"
                "An IVF index needs at least as many vectors as lists (39 per list are recommended), PQ at least 256."
                " Use fewer lists, or Flat for a small corpus."
            ) from error
    for block in tqdm(blocks, desc=f"indexing ({factory})", unit=" blocks", delay=2):
        index.add(np.ascontiguousarray(block))


def write_index(index: Any, path: Path) -> None:
    """Writes the index atomically. FAISS itself only prints an error that occurs when it closes a file."""
    faiss = import_faiss()
    with atomic(path) as unfinished, unfinished.open("wb") as file:
        faiss.write_index(index, faiss.PyCallbackIOWriter(file.write))


def read_index(path: Path, count: int, dimension: int) -> Any:
    """Reads an index.

    Raises:
        RuntimeError: FAISS cannot read it.
        ValueError: it has another number of vectors or dimensions or another metric, or numbers that are not
            finite.
    """
    faiss = import_faiss()
    index = faiss.read_index(str(path))
    if (index.ntotal, index.d, index.metric_type) != (count, dimension, faiss.METRIC_INNER_PRODUCT):
        raise ValueError(f"{path.name} does not have {count} vectors of {dimension} dimensions for inner products")
    if isinstance(index, faiss.IndexFlat):
        numbers = faiss.rev_swig_ptr(index.get_xb(), count * dimension)
        if not np.isfinite(numbers @ numbers):
            raise ValueError(f"{path.name} contains numbers that are not finite")
    return index


def import_faiss() -> Any:
    """Imports FAISS; torch before it except on Linux, where its 200 MB are not needed for a search."""
    if sys.platform != "linux":
        import torch  # noqa: F401  # in the other order the two OpenMP runtimes can crash
    import faiss  # isort: skip

    return faiss


def _lists(index: Any) -> int:
    """Number of inverted lists; 0 if the index is not an IVF index."""
    inverted = import_faiss().try_extract_index_ivf(index)
    return inverted.nlist if inverted else 0


def reason_of(error: RuntimeError) -> str:
    """The error message of FAISS without the C++ signature before it."""
    return str(error).rsplit(": ", 1)[-1]


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

    def search(self, vectors: Vectors, k: int) -> tuple[Vectors, NDArray[np.int64]]:
        with self._lock:
            found: tuple[Vectors, NDArray[np.int64]] = self._index.search(vectors, k)
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
