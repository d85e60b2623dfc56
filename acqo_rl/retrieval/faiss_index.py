"""Vectors in, document ids out: FAISS indexes by factory string, and the dense retriever on top of one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from acqo_rl.errors import ConfigError, IndexMismatchError
from acqo_rl.types import Encoder, Passage, Ranking, search_key

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDEST = 2048
"""Vectors fetched to bring a tie at the cut into document order; also the most that an index on a GPU gives."""


class FaissRetriever:
    """Dense retrieval by inner product: one search a call, over the distinct texts.

    Documents with equal scores are ordered as they are in the corpus. A document of several vectors is found by its
    best one. An index on a GPU gives 2,048 vectors at most; where they are of few documents, only these are found.
    Vectors and queries have length 1 (:attr:`~acqo_rl.retrieval.manifest.Manifest.normalised`), so scores are cosines.
    """

    cosine = True

    def __init__(
        self,
        index: Any,
        doc_ids: Sequence[str],
        encoder: Encoder,
        *,
        name: str = "dense",
        threads: int | None = None,
        fingerprint: str = "",
    ) -> None:
        """Wraps a filled index.

        Args:
            index: FAISS index over ``len(doc_ids)`` vectors.
            doc_ids: document id of each vector; the vectors of a document stand side by side.
            encoder: embeds the queries.
            name: recorded in every ranking.
            threads: OpenMP threads of a search; FAISS decides by default.
            fingerprint: of the index, see :attr:`acqo_rl.retrieval.manifest.Manifest.fingerprint`.

        Raises:
            IndexMismatchError: the index has another number of vectors or another dimension.
        """
        if index.ntotal != len(doc_ids):
            raise IndexMismatchError(f"The index holds {index.ntotal} vectors for {len(doc_ids)} ids; rebuild it.")
        if index.d != encoder.dim:
            raise IndexMismatchError(
                f"The index has {index.d} dimensions and the encoder {encoder.dim}; use the encoder it was built with."
            )
        self.name = name
        self.fingerprint = fingerprint
        self._index = index
        starts = np.fromiter((i == 0 or doc_ids[i - 1] != doc_ids[i] for i in range(len(doc_ids))), bool, len(doc_ids))
        self._document_of = np.cumsum(starts) - 1
        self._doc_ids = list(compress(doc_ids, starts))
        self._deepest = min(index.ntotal, getattr(index, "deepest", index.ntotal))
        self._encoder = encoder
        self._threads = threads

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """At most ``k`` documents a text, position for position; fewer where the index finds fewer.

        Raises:
            ConfigError: ``k`` is less than 1.
        """
        if k < 1:
            raise ConfigError(f"{k} documents are asked for; ask for at least 1.")
        if not texts:
            return []
        distinct = {search_key(text): text for text in texts}
        use_threads(self._threads)  # here, because OpenMP keeps the number for each calling thread
        depth = -(-(k + 1) * self._index.ntotal // len(self._doc_ids))  # of that many documents in the mean
        nearest = self._nearest(self._encode(list(distinct.values())), k, depth)
        rankings = {
            key: Ranking(tuple(self._doc_ids[i] for i in documents), tuple(scores), self.name, distinct[key])
            for key, (documents, scores) in zip(distinct, nearest, strict=True)
        }
        return [rankings[search_key(text)] for text in texts]

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embeddings of queries and passages, each as what it is, float32[texts, dim]."""
        vectors = np.empty((len(texts), self._encoder.dim), np.float32)
        for passages, encode in ((False, self._encoder.encode_queries), (True, self._encoder.encode_passages)):
            rows = [row for row, text in enumerate(texts) if isinstance(text, Passage) == passages]
            if rows:
                vectors[rows] = encode([texts[row] for row in rows])
        return vectors

    def _nearest(self, vectors: NDArray[np.float32], k: int, depth: int) -> list[tuple[list[int], list[float]]]:
        """Positions and scores of the ``k`` best documents for each row, by descending score, then position.

        ``depth`` vectors are fetched. A row is searched again, deeper, where they are of fewer than ``k`` documents,
        and where the last of them still ties with the k-th document.
        """
        depth = min(depth, max(k, self._deepest), self._index.ntotal)
        scores, positions = self._index.search(vectors, depth)
        nearest = [self._in_order(*row, k) for row in zip(scores, positions, strict=True)]

        def is_settled(row: int) -> bool:
            found = nearest[row][1]
            if positions[row, -1] < 0 or depth >= self._deepest:
                return True
            return len(found) == k and (found[-1] > scores[row, -1] or depth >= WIDEST)

        if again := [row for row in range(len(vectors)) if not is_settled(row)]:
            for row, found in zip(again, self._nearest(vectors[again], k, 2 * depth), strict=True):
                nearest[row] = found
        return nearest

    def _in_order(
        self, scores: NDArray[np.float32], positions: NDArray[np.int64], k: int
    ) -> tuple[list[int], list[float]]:
        """The ``k`` best documents of one row as FAISS gives it, where position -1 stands for nothing found."""
        found = positions >= 0
        scores, documents = scores[found], self._document_of[positions[found]]
        order = np.lexsort((documents, -scores))
        _, best = np.unique(documents[order], return_index=True)
        order = order[np.sort(best)][:k]
        return documents[order].tolist(), scores[order].tolist()


def use_threads(threads: int | None) -> None:
    """Sets the number of OpenMP threads of FAISS for the calling thread; ``None`` leaves it."""
    if threads is not None:
        import_faiss().omp_set_num_threads(threads)


def make_index(dim: int, factory: str, build_parameters: str = "") -> Any:
    """An empty index for inner product.

    Args:
        dim: length of the vectors.
        factory: FAISS factory string, such as ``Flat``, ``HNSW64``, ``IVF256,Flat`` or ``IVF256,PQ32``.
        build_parameters: settings that shape the index, such as ``efConstruction=200``.

    Raises:
        ConfigError: FAISS does not know the factory string or a parameter.
    """
    faiss = import_faiss()
    try:
        index = faiss.index_factory(dim, factory, faiss.METRIC_INNER_PRODUCT)
    except RuntimeError as error:
        raise ConfigError(
            f"FAISS cannot make an index {factory!r} of {dim} dimensions: {reason_of(error)}\n"
            "Use a factory string such as Flat, HNSW64, IVF256,Flat or IVF256,PQ32 (PQ must divide the dimensions)."
        ) from error
    for part in (index, faiss.try_extract_index_ivf(index)):
        if hasattr(part, "do_polysemous_training"):
            part.do_polysemous_training = False  # seconds a sub-quantizer, for a filter that is not used here
    set_parameters(index, build_parameters)
    return index


def set_parameters(index: Any, parameters: str) -> None:
    """Sets parameters in FAISS's notation, such as ``nprobe=32`` or ``efSearch=128``; the empty string sets none.

    Raises:
        ConfigError: the index has no such parameter.
    """
    if not parameters:
        return
    faiss = import_faiss()
    try:
        faiss.ParameterSpace().set_index_parameters(index, parameters)
    except RuntimeError as error:
        raise ConfigError(
            f"A {type(index).__name__} does not take {parameters!r};"
            " IVF indexes take nprobe=N, HNSW indexes efSearch=N and, before they are built, efConstruction=N."
        ) from error


def default_search_parameters(factory: str, dim: int) -> str:
    """``nprobe`` at the square root of the number of lists, because FAISS would look into one list; else nothing."""
    lists = _lists(make_index(dim, factory))
    return f"nprobe={round(lists**0.5)}" if lists else ""


def fill(index: Any, blocks: Sequence[NDArray[np.float32]], factory: str) -> None:
    """Trains the index on an even sample of the vectors where it needs training, and adds all of them.

    Args:
        index: an empty index.
        blocks: vectors in document order, float32[n, dim] each; may be memory-mapped.
        factory: named in the error.

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
                "An IVF index needs at least as many vectors as lists (39 a list are advised), PQ at least 256;"
                " use fewer lists, or Flat for a small corpus."
            ) from error
    for block in tqdm(blocks, desc=f"indexing ({factory})", unit=" blocks", delay=2):
        index.add(np.ascontiguousarray(block))


def estimate_bytes(dim: int, factory: str, count: int) -> int:
    """Size of an index over ``count`` vectors, from the size of its codes, links and list entries."""
    faiss = import_faiss()
    index = make_index(dim, factory)
    if isinstance(index, faiss.IndexHNSW):
        links = 4 * index.hnsw.nb_neighbors(0) * 1.07 + 12  # upper levels add some; offset and level of each vector
        return int(count * (index.storage.sa_code_size() + links))
    lists = _lists(index)
    code_size: int = index.sa_code_size()
    return count * (code_size + (8 if lists else 0)) + 4 * dim * lists


def write_index(index: Any, path: Path) -> None:
    """Writes the index; the file is there whole or not at all."""
    unfinished = path.with_name(f"{path.name}.tmp")
    import_faiss().write_index(index, str(unfinished))
    os.replace(unfinished, path)


def read_index(path: Path, *, mmap: bool = False) -> Any:
    """Reads an index, or maps it into memory (FAISS before 1.11 can map only IVF indexes and reads the others).

    Raises:
        IndexMismatchError: FAISS cannot read the file.
    """
    faiss = import_faiss()
    mapped = getattr(faiss, "IO_FLAG_MMAP_IFC", faiss.IO_FLAG_MMAP)
    try:
        return faiss.read_index(str(path), mapped if mmap else 0)
    except RuntimeError as error:
        raise IndexMismatchError(
            f"{path} is no FAISS index: {reason_of(error)}\nDelete its folder and rebuild."
        ) from error


def import_faiss() -> Any:
    """FAISS, imported after torch."""
    import torch  # noqa: F401  # first: in the other order the two OpenMP runtimes can crash
    import faiss  # isort: skip

    return faiss


def _lists(index: Any) -> int:
    """Number of inverted lists, 0 for an index that is not IVF."""
    inverted = import_faiss().try_extract_index_ivf(index)
    return inverted.nlist if inverted else 0


def reason_of(error: RuntimeError) -> str:
    """FAISS's message without the C++ signature in front."""
    return str(error).rsplit(": ", 1)[-1]
