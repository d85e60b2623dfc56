"""Embeddings from a server, kept in a file, so that no text is paid for twice."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from acqo_rl.errors import DataError
from acqo_rl.files import writing

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AT_ONCE = 500
"""Number of keys in one SQL statement."""
_PATIENCE = 60.0
"""Seconds to wait while another process writes."""


def key_of(model: str, dimensions: int | None, text: str) -> bytes:
    """The key of a text embedded by a model; the text cannot be read from it."""
    return hashlib.sha256(json.dumps([model, dimensions, text]).encode()).digest()


class EmbeddingCache:
    """Key -> embedding, in one SQLite file. Several threads and processes may use it.

    Attributes:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        """Opens or creates the file.

        Raises:
            DataError: the file is damaged. Every method raises it if the damage shows later.
        """
        self.path = path
        self._lock = Lock()
        with self._usable():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=_PATIENCE, check_same_thread=False)
            weakref.finalize(self, self._database.close)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            with self._database:
                self._database.execute("CREATE TABLE IF NOT EXISTS embeddings (key BLOB PRIMARY KEY, vector BLOB)")

    def read(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """The embeddings that are kept, float32[dim] each."""
        found: dict[bytes, NDArray[np.float32]] = {}
        with self._usable():
            for start in range(0, len(keys), _AT_ONCE):
                some = keys[start : start + _AT_ONCE]
                marks = ",".join("?" * len(some))
                rows = self._database.execute(f"SELECT key, vector FROM embeddings WHERE key IN ({marks})", some)
                found.update({key: np.frombuffer(vector, np.float32) for key, vector in rows})
        return found

    def write(self, embeddings: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Keeps embeddings, float32[dim] each."""
        rows = [(key, vector.tobytes()) for key, vector in embeddings.items()]
        with self._usable(), self._database:
            self._database.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?)", rows)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        with writing(self.path):
            try:
                with self._lock:
                    yield
            except (sqlite3.Error, OSError) as error:
                raise DataError(
                    f"The cache of embeddings {self.path} cannot be used ({error}); delete it, and embed again."
                ) from error
