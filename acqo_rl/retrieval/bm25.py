"""Sparse retrieval with BM25 (bm25s); :mod:`acqo_rl.retrieval.tokens` tokenizes the texts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from acqo_rl.errors import ConfigError, DataError, check_positive
from acqo_rl.retrieval.fields import FolderRetriever, Mask
from acqo_rl.retrieval.tokens import make_tokenizer
from acqo_rl.roles import Vectors
from acqo_rl.types import Ranking

_PROGRESS_FROM = 50_000  # documents


class Bm25Retriever(FolderRetriever):
    """BM25 (Lucene variant). Documents with equal scores keep the order of the corpus."""

    name = "bm25"

    def __init__(
        self,
        index: Any,
        doc_ids: Sequence[str],
        *,
        language: str = "english",
        fingerprint: str = "",
    ) -> None:
        """Creates a retriever for an existing index; see also ``build`` and ``load``.

        Args:
            index: ``bm25s.BM25`` over ``len(doc_ids)`` documents.
            doc_ids: one id per document of the index, in the same order.
            language: language of stemmer and stop words; must be the one that the index was built with.
            fingerprint: fingerprint of the index, see :attr:`acqo_rl.retrieval.manifest.Manifest.fingerprint`.
        """
        self.fingerprint = fingerprint
        self._index = index
        self._doc_ids = doc_ids
        self._tokenize = make_tokenizer(language)

    @classmethod
    def build(
        cls,
        texts: Sequence[str],
        doc_ids: Sequence[str],
        *,
        language: str = "english",
        k1: float = 1.5,
        b: float = 0.75,
    ) -> Bm25Retriever:
        """Builds an index of the texts.

        Args:
            texts: one text per document.
            doc_ids: one id per text, in the same order.
            language: one of :func:`acqo_rl.retrieval.tokens.languages`.
            k1: term frequency saturation, at least 0.
            b: strength of the document length normalisation, 0 to 1.

        Raises:
            ConfigError: the language is unknown, or a parameter is out of range.
            DataError: no text contains a word.
        """
        import bm25s
        from tqdm import tqdm

        if k1 < 0 or not 0 <= b <= 1:
            raise ConfigError(f"BM25 has k1={k1} and b={b}; k1 must be at least 0 and b between 0 and 1.")
        tokenize = make_tokenizer(language)
        vocabulary: dict[str, int] = {}
        token_ids = [
            [vocabulary.setdefault(token, len(vocabulary)) for token in tokenize(text)]
            for text in tqdm(texts, desc="tokenizing", unit=" documents", leave=False, delay=2)
        ]
        if not vocabulary:
            raise DataError(f"None of the {len(texts)} documents contains a word to index; check the corpus.")
        index = bm25s.BM25(k1=k1, b=b, backend="auto")
        index.index((token_ids, vocabulary), show_progress=len(texts) >= _PROGRESS_FROM)
        return cls(index, doc_ids, language=language)

    def save(self, folder: Path) -> None:
        """Writes the arrays and the vocabulary, but not the document ids."""
        self._index.save(folder, show_progress=False)

    @classmethod
    def load(
        cls,
        folder: Path,
        doc_ids: Sequence[str],
        *,
        language: str = "english",
        fingerprint: str = "",
    ) -> Bm25Retriever:
        """Loads an index written by ``save``.

        Raises:
            ValueError: its parts do not fit together.
        """
        import bm25s

        own = {"backend": "auto", "method": "lucene", "dtype": "float32", "int_dtype": "int32"}
        index = bm25s.BM25.load(folder, show_progress=False, **own)
        ends, places, scores = (index.scores[name] for name in ("indptr", "indices", "data"))
        words = sorted(place for word, place in index.vocab_dict.items() if word)
        if not (
            [array.dtype.kind for array in (ends, places, scores)] == ["i", "i", "f"]
            and words == list(range(len(ends) - 1))
            and all(type(place) is int for place in words)
            and index.scores["num_docs"] == len(doc_ids)
            and ends[0] == 0
            and ends[-1] == len(places) == len(scores)
            and (np.diff(ends) >= 0).all()
            and np.isin(np.flatnonzero(np.diff(places) <= 0) + 1, ends).all()
            and 0 <= places.min() <= places.max() < len(doc_ids)
            and 0 < scores.min() <= scores.max() <= math.log1p(len(doc_ids))
        ):
            raise ValueError("words, documents and scores do not fit together")
        return cls(index, doc_ids, language=language, fingerprint=fingerprint)

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """Returns at most ``k`` documents per text that share a word with it, in input order.

        Raises:
            ConfigError: ``k`` is less than 1, or the index has tenants and none is named.
        """
        check_positive("k", k)
        selected = self.selected()
        rankings = {text: self._search_one(text, k, selected) for text in dict.fromkeys(texts)}
        return [rankings[text] for text in texts]

    def _search_one(self, text: str, k: int, selected: Mask | None) -> Ranking:
        tokens = self._tokenize(text)
        token_ids = self._index.get_tokens_ids(tokens)
        if not token_ids:
            return Ranking((), (), self.name, text)
        scores = self._index.get_scores_from_ids(token_ids)
        if selected is not None:
            scores[~selected] = 0
        best = _best(scores, k)
        doc_ids = tuple(self._doc_ids[i] for i in best)
        return Ranking(doc_ids, tuple(scores[best].tolist()), self.name, text, ceiling=self._ceiling(tokens))

    def _ceiling(self, tokens: Sequence[str]) -> float:
        """Upper bound of a document's score: the sum of the tokens' idf, including unknown words.

        In the Lucene variant, a term contributes its idf times a factor below 1.
        """
        ends = self._index.scores["indptr"]
        count = len(self._doc_ids)
        ids = (self._index.vocab_dict.get(token) for token in tokens)
        frequencies = (0 if i is None else int(ends[i + 1] - ends[i]) for i in ids)
        return sum(math.log(1 + (count - f + 0.5) / (f + 0.5)) for f in frequencies)


def _best(scores: Vectors, k: int) -> NDArray[np.intp]:
    """Positions of the ``k`` highest scores above 0, by descending score, then by position."""
    matched = np.flatnonzero(scores > 0)
    if len(matched) > k:
        threshold = np.partition(scores[matched], -k)[-k]
        matched = matched[scores[matched] >= threshold]
    return matched[np.argsort(-scores[matched], kind="stable")][:k]
