"""Precomputed embeddings of documents: a .npz file with the arrays ``ids`` and ``embeddings``."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from acqo_rl.errors import DataError
from acqo_rl.types import Document

if TYPE_CHECKING:
    from numpy.typing import NDArray


def read_embeddings(path: str, documents: Sequence[Document]) -> NDArray[np.floating]:
    """Returns the embeddings in the order of the documents, float[documents, dimensions].

    Raises:
        DataError: the file has other contents, or other documents than the corpus.
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
    rows = {one.decode() if isinstance(one, bytes) else str(one): row for row, one in enumerate(ids.tolist())}
    if rows.keys() != {document.id for document in documents}:
        raise DataError(f"{path} has {len(ids)} documents, and the corpus has {len(documents)} others; give the same.")
    ordered: NDArray[np.floating] = embeddings[[rows[document.id] for document in documents]]
    return ordered
