"""Dense encoder on a server with OpenAI's embeddings protocol (OpenAI, vLLM, TEI, Ollama, llama.cpp)."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from acqo_rl.api_keys import key_in
from acqo_rl.errors import ConfigError, IndexMismatchError, SearchError
from acqo_rl.language_models.embedded import cache_folder
from acqo_rl.language_models.load import on_server
from acqo_rl.retrieval.embedding_cache import EmbeddingCache, key_of
from acqo_rl.retrieval.encoder import normalised
from acqo_rl.retrieval.http_calls import TEMPORARY, Server, ServerError
from acqo_rl.roles import Encoder
from acqo_rl.text import one_line
from acqo_rl.types import well_formed

if TYPE_CHECKING:
    from numpy.typing import NDArray

_REFUSED = frozenset({400, 413, 422})
"""HTTP statuses of a batch that is too large, or has a text that is too long."""
_PROBE = "How many dimensions are there?"
_OPENAI = "https://api.openai.com/v1"
_LONGEST_PAUSE, _LONGEST_RETRY_AFTER = 8.0, 120.0  # seconds
_SAME = 0.99
"""Least cosine of two embeddings of one text by one model; servers with half precision differ by less."""
_SHORTEST, _LONGEST = 1e-6, 1e6
"""Bounds of an embedding's L2 norm: outside are zeros, NaN, infinity and what a broken model computes."""
_PROGRESS_FROM = 8  # batches
_CHARACTERS_PER_TOKEN = 4


class ServerEncoder(Encoder):
    """A model on a server, in batches, with retries and a cache on disk.

    Every response is kept at once, so a failure or an interruption loses none of the embeddings that were received.

    Attributes:
        dim: embedding dimension.
        settings: constructor arguments that determine the embeddings; ``ServerEncoder(**settings)`` creates an equal
            encoder.
        fingerprint: hash of the model's name, the prompts and the dimension. The URL does not count, because the same
            model may move to another server.
    """

    def __init__(
        self,
        model: str,
        *,
        query_prompt: str | None = None,
        passage_prompt: str | None = None,
        dimensions: int | None = None,
        batch_size: int = 32,
        concurrency: int = 4,
        timeout: float = 30.0,
        max_retries: int = 20,
        cache: Path | None = None,
    ) -> None:
        """Embeds one text, to learn the dimension and to check that the model is the one of the cache.

        The environment variable ``OPENAI_API_KEY`` holds the API key, if the server needs one.

        Args:
            model: ``openai:NAME@URL``, or ``openai:NAME`` for the server in ``OPENAI_BASE_URL``, else that of OpenAI.
            query_prompt: text added before every query.
            passage_prompt: text added before every passage.
            dimensions: dimension to ask for, if the model has several; by default the model's own.
            batch_size: texts per call. A batch that the server refuses is halved.
            concurrency: maximum number of concurrent calls.
            timeout: time limit of a call in seconds; each retry has the same limit.
            max_retries: retries of a call after a time-out, a lost connection or a temporary status. The pauses follow
                ``Retry-After`` up to two minutes, else grow to eight seconds; 20 retries take about a minute.
            cache: file of the embeddings; by default ``embeddings.sqlite`` in the cache folder of this package.

        Raises:
            ConfigError: the model or a number is invalid, or packages or the key are missing.
            IndexMismatchError: the model of this name embeds otherwise than when the cache was written.
            SearchError: the server does not answer, or its answer is malformed.
        """
        for name, value in (("batch_size", batch_size), ("dimensions", dimensions), ("concurrency", concurrency)):
            if value is not None and value < 1:
                raise ConfigError(f"The encoder's {name} is {value}; it must be at least 1.")
        self._name, url = on_server(model)
        url = url or os.environ.get("OPENAI_BASE_URL") or ""
        key = key_in("OPENAI_API_KEY")
        if not url and not key:
            raise ConfigError("OPENAI_API_KEY is not set; set it, or give the URL of your own server: openai:NAME@URL.")
        self._server = Server(
            url or _OPENAI,
            "An encoder server",
            key,
            timeout=timeout,
            attempts=max_retries + 1,
            longest_pause=_LONGEST_PAUSE,
            longest_retry_after=_LONGEST_RETRY_AFTER,
        )
        self._dimensions = dimensions
        self._batch_size = batch_size
        self._concurrency = concurrency
        self._cache = EmbeddingCache(cache or cache_folder() / "embeddings.sqlite")
        self.settings: dict[str, Any] = {
            "model": model,
            "query_prompt": query_prompt,
            "passage_prompt": passage_prompt,
            "dimensions": dimensions,
        }
        self.dim = dimensions or 0
        self.dim = self._recognise()
        identity = [self._name, query_prompt or "", passage_prompt or "", self.dim]
        self.fingerprint = hashlib.sha256(json.dumps(identity).encode()).hexdigest()

    def cost_of(self, passages: Sequence[str]) -> str:
        """How many of the passages the cache does not hold, with a rough number of tokens of all and of the longest."""
        missing = self._missing(self._sent(passages, self.settings["passage_prompt"]))
        lengths = [len(text) / _CHARACTERS_PER_TOKEN for text in missing]
        counted = f"{len(missing):,} of {len(passages):,} passages, about {sum(lengths) / 1000:,.0f} thousand tokens"
        return f"{counted}, the longest about {max(lengths):,.0f}" if lengths else counted

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """L2-normalised embeddings of queries, float32[texts, dim].

        Raises:
            SearchError: the server does not answer or refuses a text.
            IndexMismatchError: the server's embeddings have another dimension now.
        """
        return normalised(self._embeddings(self._sent(texts, self.settings["query_prompt"])))

    def encode_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """L2-normalised embeddings of passages, float32[texts, dim]; exceptions as in :meth:`encode_queries`."""
        return normalised(self._embeddings(self._sent(texts, self.settings["passage_prompt"])))

    def _sent(self, texts: Sequence[str], prompt: str | None) -> list[str]:
        """The texts with their prompt; servers refuse empty ones, so these become a space."""
        return [(prompt or "") + (well_formed(text) if one_line(text) else " ") for text in texts]

    def _missing(self, texts: Sequence[str]) -> list[str]:
        keys = {self._key(text): text for text in texts}
        known = self._cache.read(list(keys))
        return [text for key, text in keys.items() if key not in known]

    def _key(self, text: str) -> bytes:
        return key_of(self._name, self._dimensions, text)

    def _embeddings(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._embed(self._missing(texts))
        keys = [self._key(text) for text in texts]
        found = self._cache.read(list(dict.fromkeys(keys)))
        return np.stack([found[key] for key in keys]) if keys else np.empty((0, self.dim), np.float32)

    def _embed(self, texts: Sequence[str]) -> None:
        from tqdm import tqdm

        starts = range(0, len(texts), self._batch_size)
        batches = [texts[start : start + self._batch_size] for start in starts]
        if len(batches) == 1:
            self._ask(batches[0])
            return
        quiet = len(batches) < _PROGRESS_FROM
        with (
            ThreadPoolExecutor(self._concurrency) as pool,
            tqdm(total=len(texts), desc="embedding", unit=" texts", leave=False, disable=quiet) as bar,
        ):
            asked = {pool.submit(self._ask, batch): len(batch) for batch in batches}
            try:
                for done in as_completed(asked):
                    done.result()
                    bar.update(asked[done])
            except BaseException:
                pool.shutdown(cancel_futures=True)  # waits for the calls in flight, whose embeddings are kept
                raise

    def _ask(self, texts: Sequence[str]) -> None:
        """Embeds the texts with one call and keeps the embeddings; halves a batch that is refused."""
        try:
            vectors = self._call(texts)
        except ServerError as error:
            if len(texts) == 1 or error.status not in _REFUSED:
                raise self._failure(error, texts) from error
            for half in (texts[: len(texts) // 2], texts[len(texts) // 2 :]):
                self._ask(half)
        else:
            self._cache.write({self._key(text): v for text, v in zip(texts, vectors, strict=True)})

    def _call(self, texts: Sequence[str], *, is_first: bool = False) -> list[NDArray[np.float32]]:
        def read(answer: Any) -> list[NDArray[np.float32]]:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = [np.asarray(row["embedding"], np.float32) for row in rows]
            if [row["index"] for row in rows] != list(range(len(texts))) or any(v.ndim != 1 for v in vectors):
                raise ValueError(f"it does not have one vector of numbers for each of the {len(texts)} texts")
            if odd := [length for length in map(_length, vectors) if not _SHORTEST < length < _LONGEST]:
                raise ValueError(f"it has a vector of length {odd[0]:g}, from which no cosine can be computed")
            return vectors

        body: dict[str, Any] = {"model": self._name, "input": list(texts), "encoding_format": "float"}
        if self._dimensions:
            body["dimensions"] = self._dimensions
        vectors = self._server.call("POST", "/embeddings", read, body, is_first=is_first)
        if wrong := [len(vector) for vector in vectors if self.dim not in (0, len(vector))]:
            raise IndexMismatchError(
                f"The encoder {self._name} returned {wrong[0]} dimensions, expected {self.dim}; the server has another"
                " model of this name now, or ignores the setting dimensions. Use the model of the index."
            )
        return vectors

    def _failure(self, error: ServerError, texts: Sequence[str]) -> SearchError:
        text = f" the text {texts[0][:80]!r} ({len(texts[0]):,} characters)" if error.status in _REFUSED else ""
        return SearchError(
            f"{self.settings['model']} did not embed{text}: {str(error).rstrip('.')}. Check the server, its key"
            " (OPENAI_API_KEY), the model's name and the length of the texts; what was embedded before is kept.",
            public=error.public,
        )

    def _first_answer(self) -> list[NDArray[np.float32]]:
        """The answer to the first request; a server that does not run is reported before work begins."""
        try:
            return self._call([_PROBE], is_first=True)
        except ServerError as error:
            if error.is_down or error.status not in TEMPORARY:
                raise
            return self._call([_PROBE])

    def _recognise(self) -> int:
        """The dimension of the server's embeddings.

        Raises:
            IndexMismatchError: the model of this name embeds otherwise than when the cache was written.
        """
        try:
            [vector] = self._first_answer()
        except ServerError as error:
            raise self._failure(error, [_PROBE]) from error
        key = self._key(_PROBE)
        known = self._cache.read([key]).get(key, vector)
        if len(known) != len(vector) or _cosine(known, vector) < _SAME:
            raise IndexMismatchError(
                f"{self.settings['model']} embeds texts otherwise than before, so the server has another model of this"
                f" name now. Give the model another name, or delete {self._cache.path} and build the indexes again."
            )
        self._cache.write({key: vector})
        return len(vector)


def _length(vector: NDArray[np.float32]) -> float:
    return float(np.linalg.norm(vector.astype(np.float64)))


def _cosine(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    [first, second] = normalised(np.stack([one, other]))
    return float(first @ second)
