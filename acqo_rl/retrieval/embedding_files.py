"""Reads precomputed embeddings and their ids."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.data.lines import Faults, read_lines, shorten
from acqo_rl.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_OF_IDS = re.compile(
    r"(?:_|doc(?:ument)?s?_?|p(?:assage)?s?_?|corpus_?|chunks?_?|items?_?|rows?_?)*(?:ids?|nos?)", re.I
)
"""Names of arrays with the ids of documents, such as ``ids``, ``doc_ids`` and ``docno``."""


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
    """The embeddings of a .npz file, and their ids if it has any.

    Embeddings are the only array, or the only one with two dimensions. Ids are an array of that name, else the only
    list of distinct texts or whole numbers; others, such as labels, repeat.
    """
    loaded, unreadable = _loaded(arrays)
    tables = [array for array in loaded.values() if array.ndim > 1]
    if len(loaded) == 1 and not unreadable:
        return next(iter(loaded.values())), None
    if len(tables) == 1:
        lists = {
            name: array
            for name, array in loaded.items()
            if array.shape == tables[0].shape[:1] and array.dtype.kind in "iuUS"
        }
        named = [name for name in lists if _OF_IDS.fullmatch(name)]
        if not named and (objects := [name for name in unreadable if _OF_IDS.fullmatch(name)]):
            raise ValueError(f"its array {objects[0]} contains Python objects; write it with .astype(str)")
        names = named or [name for name, array in lists.items() if len(set(array.tolist())) == len(array)]
        if len(names) <= 1:
            return tables[0], next((_texts(lists[name]) for name in names), None)
    shapes = ", ".join(
        [*(f"{name} {array.shape}" for name, array in loaded.items()), *(f"{name} (objects)" for name in unreadable)]
    )
    raise ValueError(f"it contains the arrays {shapes}; expected one with embeddings, and at most one with ids")


def _loaded(arrays: Mapping[str, NDArray[Any]]) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """The arrays, and the names of those of Python objects, such as columns of pandas, which only pickle reads."""
    loaded: dict[str, NDArray[Any]] = {}
    unreadable = []
    for name in arrays:
        try:
            loaded[name] = arrays[name]
        except ValueError as error:
            if "allow_pickle" not in str(error):
                raise
            unreadable.append(name)
    return loaded, unreadable


def _texts(ids: NDArray[Any]) -> list[str]:
    texts = ids.astype(str) if ids.dtype.kind != "S" else map(bytes.decode, ids)
    return [str(one).strip() for one in texts]


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
