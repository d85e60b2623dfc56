"""FAISS indexes: how they are created, filled, written and read."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acqo_rl.errors import ConfigError
from acqo_rl.files import atomic
from acqo_rl.roles import Vectors


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


def search_selected(index: Any, selected: NDArray[np.bool_], vectors: Vectors, k: int) -> Any:
    """Scores and positions of the ``k`` nearest among the selected vectors, all of which are compared.

    Args:
        index: an index on the CPU.
        selected: bool[vectors of the index].
        vectors: float32[n, dim].
        k: number of positions per vector; -1 stands for none.

    Raises:
        ConfigError: FAISS cannot select vectors of an index of this type.
    """
    faiss = import_faiss()
    selector = faiss.IDSelectorBitmap(np.packbits(selected, bitorder="little"))
    while isinstance(index, faiss.IndexPreTransform):  # such as OPQ
        for place in range(index.chain.size()):
            vectors = faiss.downcast_VectorTransform(index.chain.at(place)).apply(vectors)
        index = faiss.downcast_index(index.index)
    if isinstance(index, faiss.IndexHNSW):  # its graph leads to few of the selected ones
        index = faiss.downcast_index(index.storage)
    lists = _lists(index)
    parameters = faiss.SearchParametersIVF(nprobe=lists) if lists else faiss.SearchParameters()
    parameters.sel = selector
    try:
        return index.search(vectors, k, params=parameters)
    except RuntimeError as error:
        raise ConfigError(
            f"A {type(index).__name__} cannot be searched with a filter or a tenant: {reason_of(error)}. Build a Flat,"
            " IVF or HNSW index."
        ) from error


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
