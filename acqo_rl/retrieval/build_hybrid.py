"""Builds a hybrid index: a folder with several indexes of the same corpus, which are searched together.

manifest.json  and a folder for each part, such as  dense/  and  bm25/
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from acqo_rl.errors import IndexMismatchError
from acqo_rl.retrieval.build import is_finished
from acqo_rl.retrieval.manifest import FILE_NAME, HybridSettings, Manifest, read_manifest, write_manifest


def build_hybrid_index(folder: str | Path, builders: Mapping[str, Callable[[Path], Manifest]]) -> Manifest:
    """Builds the missing parts, then writes the manifest of the hybrid index.

    Example:
        ``build_hybrid_index(folder, {"dense": lambda part: build_dense_index(part, documents, encoder),
        "bm25": lambda part: build_bm25_index(part, documents)})``

    Args:
        folder: created if it is missing.
        builders: name of a part -> function that builds it in the given folder. It must not rebuild a complete part.

    Raises:
        IndexMismatchError: the folder contains another index, or the parts have different corpora.
        Exception: an exception of a builder.
    """
    folder = Path(folder)
    if (folder / FILE_NAME).exists() and (kind := read_manifest(folder).kind) != "hybrid":
        raise IndexMismatchError(f"{folder} contains a {kind} index; build the hybrid index in another folder.")
    parts = {name: build(folder / name) for name, build in builders.items()}
    if len({part.corpus_hash for part in parts.values()}) > 1:
        raise IndexMismatchError(
            f"The parts of {folder} have different corpora; delete the folder and build all parts from the same corpus."
            " For precomputed embeddings, give the documents as well (--data)."
        )
    one = next(iter(parts.values()))
    settings = HybridSettings({name: part.fingerprint for name, part in parts.items()})
    wanted = Manifest(settings, one.document_count, one.corpus_hash)
    if is_finished(folder, wanted):
        return read_manifest(folder)
    return write_manifest(folder, wanted, [f"{name}/{FILE_NAME}" for name in parts])
