"""Precomputed embeddings of documents: a .npz file with the arrays ``ids`` and ``embeddings``."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import numpy as np

from acqo_rl.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def read_embeddings(path: str) -> tuple[NDArray[np.floating], list[str]]:
    """Returns the embeddings, float[documents, dimensions], and the document ids, in file order.

    Raises:
        DataError: the file has other contents.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as loaded:
            arrays = {name: loaded[name] for name in loaded.files}
    except (OSError, ValueError, EOFError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} cannot be read as a .npz file ({error}); write it with numpy.savez.") from error
    ids, embeddings = arrays.get("ids"), arrays.get("embeddings")
    if ids is None or embeddings is None or ids.shape != embeddings.shape[:1] or embeddings.dtype.kind != "f":
        found = ", ".join(f"{name} {array.shape} {array.dtype}" for name, array in arrays.items()) or "no arrays"
        raise DataError(
            f"{path} has {found}; it must have embeddings, float[documents, dimensions], and ids, one per document. "
            "Write it with numpy.savez(path, ids=ids, embeddings=embeddings)."
        )
    return embeddings, [one.decode() if isinstance(one, bytes) else str(one) for one in ids.tolist()]
