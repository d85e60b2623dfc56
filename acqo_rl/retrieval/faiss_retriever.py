"""The dense retriever, which searches a FAISS index."""

from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acqo_rl.errors import IndexMismatchError, check_positive
from acqo_rl.retrieval.encoder import encode_texts, search_windows
from acqo_rl.retrieval.faiss_devices import MAX_VECTORS
from acqo_rl.retrieval.faiss_index import search_selected
from acqo_rl.retrieval.fields import FolderRetriever, Mask
from acqo_rl.roles import Encoder, Vectors
from acqo_rl.types import Ranking, search_key


class FaissRetriever(FolderRetriever):
    """Dense retrieval by inner product; each call of ``search`` encodes and searches the distinct texts once.

    Documents with equal scores keep the order of the corpus. A document with several vectors gets the score of its best
    vector. A GPU index returns at most 2,048 vectors; if they belong to fewer than ``k`` documents, the ranking is
    shorter. Vectors and queries have L2 norm 1 (:class:`~acqo_rl.retrieval.manifest.DenseSettings`), so scores are
    cosines.
    """

    name = "dense"
    cosine = True

    def __init__(
        self,
        index: Any,
        doc_ids: Sequence[str],
        encoder: Encoder,
        fingerprint: str = "",
        spans: NDArray[np.int32] | None = None,
        on_cpu: Callable[[], Any] | None = None,
    ) -> None:
        """Creates a retriever for an existing index.

        Args:
            index: FAISS index over ``len(doc_ids)`` vectors.
            doc_ids: document id of each vector; the vectors of a document must be adjacent.
            encoder: embeds the queries.
            fingerprint: fingerprint of the index, see :attr:`acqo_rl.retrieval.manifest.Manifest.fingerprint`.
            spans: start and end of the passage of each vector in its document, int32[vectors, 2]; zeros if unknown.
            on_cpu: if ``index`` is on a GPU, returns the index on the CPU, which is searched with filters and tenants.

        Raises:
            IndexMismatchError: the encoder has another dimension.
            ValueError: the spans do not fit.
        """
        if index.d != encoder.dim:
            raise IndexMismatchError(
                f"The index has {index.d} dimensions and the encoder {encoder.dim}; use the index's own encoder."
            )
        self.fingerprint = fingerprint
        self._index = index
        self._on_cpu = on_cpu
        starts = np.fromiter((i == 0 or doc_ids[i - 1] != doc_ids[i] for i in range(len(doc_ids))), bool, len(doc_ids))
        self._document_of = np.cumsum(starts) - 1
        self._doc_ids = list(compress(doc_ids, starts))
        self._max_depth = min(index.ntotal, getattr(index, "max_depth", index.ntotal))
        self.encoder = encoder
        if spans is not None and (spans.shape != (len(doc_ids), 2) or spans.dtype != np.int32):
            raise ValueError(f"the spans are not int32 numbers in the shape {(len(doc_ids), 2)}")
        self._spans = np.broadcast_to(np.int32(0), (len(doc_ids), 2)) if spans is None else spans

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """Returns at most ``k`` documents per text, in input order.

        Raises:
            ConfigError: ``k`` is less than 1, or the index has tenants and none is named.
        """
        check_positive("k", k)
        return search_windows(self.encoder, texts, k, lambda parts: self._search(parts, k)) if texts else []

    def _search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        distinct = {search_key(text): text for text in texts}
        depth = -(-(k + 1) * self._index.ntotal // len(self._doc_ids))  # vectors of k + 1 documents on average
        selected = self.selected()
        if selected is not None:
            selected = selected[self._document_of]
        nearest = self._nearest(encode_texts(self.encoder, list(distinct.values())), k, depth, selected)
        rankings = {}
        for key, (rows, scores) in zip(distinct, nearest, strict=True):
            doc_ids = tuple(self._doc_ids[i] for i in self._document_of[rows])
            places = zip(doc_ids, self._spans[rows].tolist(), strict=True)
            spans = {doc_id: (start, end) for doc_id, (start, end) in places if end}
            rankings[key] = Ranking(doc_ids, tuple(scores), self.name, distinct[key], spans=spans)
        return [rankings[search_key(text)] for text in texts]

    def _nearest(
        self, vectors: Vectors, k: int, depth: int, selected: Mask | None
    ) -> list[tuple[list[int], list[float]]]:
        """Best vectors and scores of the ``k`` best documents for each row, by descending score, then by document.

        With a selection, only these vectors are searched. Fetches ``depth`` vectors per row. A row is searched again
        with twice the depth if its vectors belong to fewer than ``k`` documents, or if the last vector ties with the
        k-th document.
        """
        most = self._index.ntotal if selected is not None else self._max_depth
        depth = min(depth, max(k, most), self._index.ntotal)
        if selected is None:
            scores, positions = self._index.search(vectors, depth)
        else:
            index = self._on_cpu() if self._on_cpu else self._index
            scores, positions = search_selected(index, selected, vectors, depth)
        nearest = [self._in_order(*row, k) for row in zip(scores, positions, strict=True)]

        def is_settled(row: int) -> bool:
            found = nearest[row][1]
            if positions[row, -1] < 0 or depth >= most:
                return True
            return len(found) == k and (found[-1] > scores[row, -1] or depth >= MAX_VECTORS)

        if again := [row for row in range(len(vectors)) if not is_settled(row)]:
            for row, found in zip(again, self._nearest(vectors[again], k, 2 * depth, selected), strict=True):
                nearest[row] = found
        return nearest

    def _in_order(self, scores: Vectors, positions: NDArray[np.int64], k: int) -> tuple[list[int], list[float]]:
        """The ``k`` best documents of one row of FAISS results, in which position -1 means no result."""
        found = positions >= 0
        scores = scores[found]
        positions = positions[found]
        order = np.lexsort((documents := self._document_of[positions], -scores))
        _, best = np.unique(documents[order], return_index=True)
        order = order[np.sort(best)][:k]
        return positions[order].tolist(), scores[order].tolist()
