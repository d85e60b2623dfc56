"""New states of an index folder, for documents that were added, changed or removed.

    state.txt         the name of the present state
    states/NAME/      an index folder; the files beside ``states`` are the state of the first build

A state is built beside the present one and becomes the present one when ``state.txt`` is replaced. The one before it is
kept until the next update, for processes that are opening it.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from acqo_rl.errors import ConfigError, IndexMismatchError
from acqo_rl.files import write_atomic
from acqo_rl.retrieval.faiss_index import import_faiss, read_index
from acqo_rl.retrieval.manifest import (
    FILE_NAME,
    FILES,
    INDEX_NAME,
    PARTS,
    PASSAGES_NAME,
    STATE_NAME,
    DenseSettings,
    checked,
    read_manifest,
)
from acqo_rl.retrieval.places import folder_of
from acqo_rl.roles import Encoder, Vectors

STATES = "states"
_DIGEST = 16
_FIRST = (FILE_NAME, *{Path(pattern).parts[0] for pattern in FILES}, *PARTS)


def digests_of(texts: Sequence[str]) -> Any:
    """Hashes of texts, uint8[texts, 16]."""
    joined = b"".join(blake2b(text.encode(), digest_size=_DIGEST).digest() for text in texts)
    return np.frombuffer(joined, np.uint8).reshape(-1, _DIGEST)


class KnownVectors(Encoder):
    """An encoder that takes the vectors of passages from an index, where they are in it."""

    def __init__(self, encoder: Encoder, folder: Path) -> None:
        """Reads the index.

        Raises:
            ConfigError: the index does not keep whole vectors, or not the hashes of their passages.
            IndexMismatchError: it has another encoder or is damaged.
        """
        manifest = read_manifest(folder)
        settings = manifest.settings
        if not isinstance(settings, DenseSettings) or settings.encoder_fingerprint != encoder.fingerprint:
            raise IndexMismatchError(
                f"{folder} was not built with this encoder; repeat the settings of its first build."
            )
        if not (folder / PASSAGES_NAME).is_file():
            raise ConfigError(f"{folder} was built before indexes could be updated; build it again, in another folder.")
        self.fingerprint = encoder.fingerprint
        self.dim = encoder.dim
        self.settings = encoder.settings
        self._encoder = encoder
        with checked(folder):
            known = np.load(folder / PASSAGES_NAME)
            index = read_index(folder / INDEX_NAME, len(known), encoder.dim)
        faiss = import_faiss()
        self._owner = index  # FAISS frees the vectors of an HNSW index together with it
        if isinstance(index, faiss.IndexHNSW):
            index = faiss.downcast_index(index.storage)
        if isinstance(index, faiss.IndexIVFFlat):
            index.make_direct_map()
        elif not isinstance(index, faiss.IndexFlat):
            raise ConfigError(
                f"The {type(index).__name__} in {folder} does not keep whole vectors, so it cannot be updated; build it"
                " again, in another folder."
            )
        self._index = index
        self._rows = {digest.tobytes(): row for row, digest in enumerate(known)}

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """As of the encoder."""
        return self._encoder.encode_queries(texts)

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """Encodes only the passages that are not in the index."""
        rows = np.array([self._rows.get(digest.tobytes(), -1) for digest in digests_of(texts)], np.int64)
        vectors = np.empty((len(texts), self.dim), np.float32)
        if (rows >= 0).any():
            vectors[rows >= 0] = self._index.reconstruct_batch(rows[rows >= 0])
        if new := [text for text, row in zip(texts, rows, strict=True) if row < 0]:
            vectors[rows < 0] = self._encoder.encode_passages(new)
        return vectors

    def missing(self, texts: Sequence[str]) -> int:
        """Number of passages to encode."""
        return sum(digest.tobytes() not in self._rows for digest in digests_of(texts))


def publish(folder: Path, state: Path) -> None:
    """Makes a finished state the present one of an index folder, and removes those before the last one."""
    before, _ = folder_of(folder)
    write_atomic(folder / STATE_NAME, [state.relative_to(folder).as_posix()])
    for other in (folder / STATES).iterdir():
        if other not in (state, before):
            shutil.rmtree(other, ignore_errors=True)
    if before != folder:
        for name in _FIRST:
            path = folder / name
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
