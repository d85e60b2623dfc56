"""New states of an index folder, for documents that were added, changed or removed.

    state.txt         the name of the present state
    states/NAME/      an index folder; the files beside ``states`` are the state of the first build

A state is built beside the present one and becomes the present one when ``state.txt`` is replaced. The one before it is
kept until the next update, for processes that are opening it.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from copy import copy
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acqo_rl.errors import ConfigError
from acqo_rl.files import write_atomic
from acqo_rl.retrieval.faiss_index import import_faiss, read_index
from acqo_rl.retrieval.manifest import (
    FILE_NAME,
    FILES,
    INDEX_NAME,
    PARTS,
    PASSAGES_NAME,
    STATE_NAME,
    checked,
)
from acqo_rl.retrieval.places import folder_of
from acqo_rl.roles import Encoder, Vectors

STATES = "states"
_DIGEST = 16
_FIRST = (FILE_NAME, *{Path(pattern).parts[0] for pattern in FILES}, *PARTS)


def digests_of(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Hashes of texts, uint8[texts, 16]."""
    joined = b"".join(blake2b(text.encode(), digest_size=_DIGEST).digest() for text in texts)
    return np.frombuffer(joined, np.uint8).reshape(-1, _DIGEST)


def with_known_vectors(encoder: Encoder, folder: Path, passages: Sequence[str]) -> tuple[Encoder, int]:
    """An encoder that takes the vectors of passages from an index, where they are in it.

    Returns:
        The encoder, and how many of the passages it must encode.

    Raises:
        ConfigError: the index does not keep whole vectors, or not the hashes of their passages.
        IndexMismatchError: it is damaged.
    """
    if not (folder / PASSAGES_NAME).is_file():
        raise ConfigError(f"{folder} was built before indexes could be updated; build it again, in another folder.")
    with checked(folder):
        known = np.load(folder / PASSAGES_NAME)
        index = read_index(folder / INDEX_NAME, len(known), encoder.dim)
    faiss = import_faiss()
    if not isinstance(index, faiss.IndexFlat | faiss.IndexHNSWFlat | faiss.IndexIVFFlat):
        raise ConfigError(
            f"The {type(index).__name__} in {folder} does not keep whole vectors, so it cannot be updated; build it"
            " again, in another folder."
        )
    if isinstance(index, faiss.IndexIVFFlat):
        index.make_direct_map()
    row_of = {digest.tobytes(): row for row, digest in enumerate(known)}

    def rows_of(texts: Sequence[str]) -> NDArray[np.int64]:
        return np.array([row_of.get(digest.tobytes(), -1) for digest in digests_of(texts)], np.int64)

    def encode(texts: Sequence[str]) -> Vectors:
        rows = rows_of(texts)
        vectors = np.empty((len(texts), encoder.dim), np.float32)
        if (rows >= 0).any():
            vectors[rows >= 0] = index.reconstruct_batch(rows[rows >= 0])
        if new := [text for text, row in zip(texts, rows, strict=True) if row < 0]:
            vectors[rows < 0] = encoder.encode_passages(new)
        return vectors

    reusing = copy(encoder)
    reusing.encode_passages = encode  # type: ignore[method-assign]
    return reusing, int((rows_of(passages) < 0).sum())


def publish(folder: Path, state: Path) -> None:
    """Makes a finished state the present one of an index folder, and removes those before the last one."""
    before, _ = folder_of(folder)
    write_atomic(folder / STATE_NAME, [state.relative_to(folder).as_posix()])
    first = [] if before == folder else [folder / name for name in _FIRST]
    for path in (*(folder / STATES).iterdir(), *first):
        if path.is_file():
            path.unlink()
        elif path not in (state, before):
            shutil.rmtree(path, ignore_errors=True)
