r"""Build time, size, search time and recall of indexes over synthetic vectors: which index suits which corpus.

    python benchmarks/index_sizes.py
    python benchmarks/index_sizes.py --sizes 10000 100000

The vectors lie around random centres, as the embeddings of a corpus lie around its subjects, and the queries near
vectors. Recall@100 is the share of the 100 nearest vectors (Flat) that an index finds. Every index is searched by this
package's own retriever, in a new process; memory is what this process grows by. Times are CPU times of this process,
with one thread, so that other work on the machine does not make them longer.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from annotated_types import Ge

from acqo_rl.cli import command
from acqo_rl.roles import Encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from acqo_rl.roles import Retriever

K, BATCH, SINGLES = 100, 256, 32


@dataclass
class BenchmarkConfig:
    """Settings of the benchmark."""

    sizes: list[int] = field(default_factory=lambda: [10_000], metadata={"help": "Numbers of passages."})
    dim: Annotated[int, Ge(48)] = field(default=384, metadata={"help": "Dimensions of a vector; a multiple of 48."})
    indexes: list[str] = field(
        default_factory=lambda: ["Flat", "HNSW32", "IVF-PQ", "OPQ"], metadata={"help": "Flat, HNSW32, IVF-PQ, OPQ."}
    )


class Vectors(Encoder):
    """An encoder of numbers: the query ``17`` and the passage ``17`` have the vectors of these rows."""

    fingerprint, settings = "benchmark", None

    def __init__(self, vectors: NDArray[np.float32], queries: NDArray[np.float32]) -> None:
        self.dim = queries.shape[1]
        self._vectors, self._queries = vectors, queries

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The queries of these numbers."""
        return self._queries[[int(text) for text in texts]]

    def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The passages of these numbers."""
        return self._vectors[[int(text) for text in texts]]


def main(config: BenchmarkConfig) -> None:
    """Prints a table with one row for each size and index."""
    columns = ["passages", "index", "build s", "disk MB", "memory MB", "ms, 1 text", "ms, 256 texts", "recall@100"]
    print(f"| {' | '.join(columns)} |\n|{' ---: |' * len(columns)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for size in config.sizes:
            vectors, queries = make_vectors(size, config.dim)
            nearest = np.argsort(-(queries @ vectors.T), axis=1)[:, :K]
            for name in config.indexes:
                row = measure(name, Path(folder, f"{name}_{size}"), vectors, queries, nearest)
                print(f"| {size:,} | {name} | {' | '.join(row)} |", flush=True)


def make_vectors(size: int, dim: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Passages and queries around the same centres, unit vectors."""
    generator = np.random.default_rng(0)
    centres = generator.standard_normal((max(1, size // 100), dim), dtype=np.float32)
    vectors = centres[generator.integers(len(centres), size=size)]
    vectors += 0.6 * generator.standard_normal((size, dim), dtype=np.float32)
    queries = vectors[generator.integers(size, size=BATCH)]
    queries = queries + 0.4 * generator.standard_normal(queries.shape, dtype=np.float32)
    return tuple(rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (vectors, queries))  # type: ignore


def measure(
    name: str,
    folder: Path,
    vectors: NDArray[np.float32],
    queries: NDArray[np.float32],
    nearest: NDArray[np.int64],
) -> list[str]:
    """The cells of one index: built here, searched in a new process."""
    spawned = multiprocessing.get_context("spawn")
    with spawned.Pool(1) as pool:
        build_seconds = pool.apply(build, (name, folder, vectors, queries))
    with spawned.Pool(1) as pool:
        memory, single, batched, found = pool.apply(search, (folder, queries))
    recall = np.mean(
        [len({int(d) for d in ids} & set(row)) / K for ids, row in zip(found, nearest.tolist(), strict=True)]
    )
    disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    cells = [f"{build_seconds:,.1f}", f"{disk / 1e6:,.0f}", f"{memory / 1e6:,.0f}"]
    return [*cells, f"{1000 * single:,.1f}", f"{1000 * batched:,.1f}", f"{recall:.3f}"]


def build(name: str, folder: Path, vectors: NDArray[np.float32], queries: NDArray[np.float32]) -> float:
    """Builds an index; the seconds that it took."""
    from acqo_rl.retrieval.build import build_dense_index
    from acqo_rl.retrieval.faiss_index import import_faiss
    from acqo_rl.types import Document

    documents = [Document(str(row), "", str(row)) for row in range(len(vectors))]
    import_faiss().omp_set_num_threads(1)
    factory = {"IVF-PQ": f"IVF{lists(len(vectors))},PQ48", "OPQ": f"OPQ48,IVF{lists(len(vectors))},PQ48"}.get(
        name, name
    )
    begin = time.process_time()
    build_dense_index(folder, documents, Vectors(vectors, queries), factory=factory)
    return time.process_time() - begin


def lists(size: int) -> int:
    """Inverted lists of an IVF index: four times the root of the number of vectors."""
    return round(4 * size**0.5)


def search(folder: Path, queries: NDArray[np.float32]) -> tuple[int, float, float, list[tuple[str, ...]]]:
    """Bytes that the process grows by, seconds of one text and of a batch, and the ids that are found."""
    from acqo_rl.retrieval.faiss_index import import_faiss
    from acqo_rl.retrieval.load import load_retriever

    encoder = Vectors(queries, queries)
    import_faiss().omp_set_num_threads(1)  # imported here, because libraries are not memory of the index
    before = resident_bytes()
    retriever: Retriever = load_retriever(folder, encoder=encoder)
    texts = [str(row) for row in range(len(queries))]
    retriever.search(texts[:1], K)
    begin = time.process_time()
    for text in texts[:SINGLES]:
        retriever.search([text], K)
    single = (time.process_time() - begin) / SINGLES
    begin = time.process_time()
    rankings = retriever.search(texts, K)
    batched = time.process_time() - begin
    return resident_bytes() - before, single, batched, [ranking.doc_ids for ranking in rankings]


def resident_bytes() -> int:
    """Memory of this process on Linux."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    command.run(main, sys.argv[1:])
