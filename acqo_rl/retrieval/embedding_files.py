"""Reads precomputed embeddings and their ids."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.data.lines import Faults, read_lines, shorten
from acqo_rl.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def read_embeddings(path: str) -> tuple[NDArray[np.floating], list[str] | None]:
    """Reads embeddings, float[documents, dim], and their ids if the file is a .npz with ids.

    A .npy file is memory-mapped.

    Raises:
        DataError: the file cannot be read, or does not contain numbers.
    """
    import zipfile
    import zlib

    import numpy as np

    ids: list[str] | None = None
    try:
        with Path(path).open("rb") as file:
            zipped = file.read(2) == b"PK"
            file.seek(0)
            if zipped:
                loaded, ids = _embeddings_and_ids(np.load(file))
            else:
                loaded = np.load(file.name, mmap_mode="r")
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path} cannot be read as a .npy or .npz array: {error}") from error
    if loaded.dtype.kind not in "fiu":
        raise DataError(f"{path} contains {loaded.dtype}; it must contain numbers, float[documents, dim].")
    _check_ids(path, ids or [])
    return loaded, ids


def read_ids(path: str) -> list[str]:
    """Reads one id per line, without the white space around it; blank lines at the end are ignored.

    Raises:
        DataError: the file cannot be read, or an id is empty or contains white space.
    """
    faults = Faults()
    ids = [line.strip() for _, line in read_lines(Path(path), faults, blank=True)]
    faults.check()
    while ids and not ids[-1]:
        ids.pop()
    if not ids:
        raise DataError(f"{path} contains no id; write one id per line.")
    _check_ids(path, ids)
    return ids


def _embeddings_and_ids(arrays: Mapping[str, NDArray[Any]]) -> tuple[NDArray[Any], list[str] | None]:
    """The only array of a .npz file, or its only two-dimensional array and the only list of as many ids."""
    loaded = {name: arrays[name] for name in arrays}
    tables = [array for array in loaded.values() if array.ndim > 1]
    if len(loaded) == 1:
        return next(iter(loaded.values())), None
    if len(tables) == 1:
        ids = [a for a in loaded.values() if a.shape == tables[0].shape[:1] and a.dtype.kind in "iuUS"]
        if len(ids) == 1:
            texts = ids[0].astype(str) if ids[0].dtype.kind != "S" else map(bytes.decode, ids[0])
            return tables[0], [str(one).strip() for one in texts]
    shapes = ", ".join(f"{name} {array.shape}" for name, array in loaded.items())
    raise ValueError(f"it contains the arrays {shapes}; expected one with embeddings, and at most one with ids")


def _check_ids(path: str, ids: list[str]) -> None:
    faults = Faults()
    for number, doc_id in enumerate(ids, start=1):
        if not doc_id:
            faults.add(Path(path), number, "the line is blank; write one id per line, without blank lines.")
        elif len(doc_id.split()) > 1:
            faults.add(
                Path(path), number, f"the id {shorten(doc_id)} contains white space; replace it, for example by '_'."
            )
    faults.check()
