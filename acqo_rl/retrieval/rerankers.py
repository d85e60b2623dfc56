"""Rerankers: cross-encoders in this process, and rerank servers."""

import math
from collections.abc import Sequence
from itertools import groupby
from threading import Lock
from typing import Any

from acqo_rl.errors import ConfigError, SearchError
from acqo_rl.language_models.embedded import loading, resolve
from acqo_rl.language_models.http_clients import key_in
from acqo_rl.language_models.load import on_server
from acqo_rl.retrieval.http_calls import Server, ServerError
from acqo_rl.roles import Reranker
from acqo_rl.time_limit import concurrently
from acqo_rl.types import well_formed

CROSS_ENCODER, SERVER = "cross-encoder:", "rerank:"
"""Prefixes of the names of rerankers."""

KEY_VARIABLE = "RERANK_API_KEY"
"""Environment variable with the API key of a rerank server."""

_WRONG_FORM = (400, 422)
"""HTTP statuses of a request in the other form."""

_BATCH = 32
"""Pairs of a batch of a cross-encoder; passages of a call of a server."""

_CONCURRENCY = 4  # calls


def load_reranker(name: str, seconds: float | None = None) -> Reranker:
    """Loads a reranker.

    Args:
        name: ``cross-encoder:NAME`` (folder or Hub id of a cross-encoder of sentence-transformers) or
            ``rerank:NAME@URL`` (a server that answers at ``URL/rerank``).
        seconds: time limit of a call of a server over all attempts; by default about a minute.

    Raises:
        ConfigError: the name has another form, or the model cannot be loaded.
    """
    if name.startswith(CROSS_ENCODER):
        return CrossEncoderReranker(name.removeprefix(CROSS_ENCODER))
    if name.startswith(SERVER):
        return RerankServer(name, seconds)
    raise ConfigError(f"{name!r} is not a reranker; write {CROSS_ENCODER}NAME or {SERVER}NAME@URL.")


class CrossEncoderReranker(Reranker):
    """A cross-encoder of sentence-transformers; it reads query and passage together, up to its maximum length."""

    def __init__(self, name: str) -> None:
        """Loads the model.

        Args:
            name: folder or Hub id. Remote code is never run.

        Raises:
            ConfigError: the model cannot be loaded, or has more than one score per pair.
        """
        self.name = f"{CROSS_ENCODER}{name}"
        from sentence_transformers import CrossEncoder

        with loading("The cross-encoder", name, "Give a folder or an available Hub id."):
            self._model = CrossEncoder(resolve(name), trust_remote_code=False)
        if self._model.num_labels != 1:
            raise ConfigError(f"{name!r} has {self._model.num_labels} scores per pair; give a cross-encoder with one.")
        self._lock = Lock()  # a fast tokenizer cannot be used by two threads at once

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """One logit per pair, in input order.

        Raises:
            SearchError: the model computed NaN or infinity.
        """
        from torch import nn

        asked = [(well_formed(query), well_formed(passage)) for query, passage in pairs]
        if not asked:
            return []
        with self._lock:
            scores = self._model.predict(asked, batch_size=_BATCH, activation_fn=nn.Identity(), show_progress_bar=False)
        if not all(map(math.isfinite, scores)):
            raise SearchError(f"{self.name} computed a score that is NaN or infinity; load it in float32.")
        return [float(score) for score in scores]


class RerankServer(Reranker):
    """A server with a path ``/rerank``: Cohere, Jina, vLLM, llama.cpp, TEI and others. Thread-safe.

    The first call finds the shape of the requests: with ``documents`` (Cohere, Jina, vLLM, llama.cpp), else with
    ``texts`` (TEI).
    """

    def __init__(self, name: str, seconds: float | None = None) -> None:
        """Creates a client without connecting. The environment variable ``RERANK_API_KEY`` holds the API key.

        Args:
            name: ``rerank:NAME@URL``, such as ``rerank:BAAI/bge-reranker-v2-m3@http://localhost:8000/v1``.
            seconds: time limit of a call, see :class:`~acqo_rl.retrieval.http_calls.Server`.

        Raises:
            ConfigError: the name has another form, or the packages of the extra ``remote`` are not installed.
        """
        self._model, url = on_server(name)
        if url is None:
            raise ConfigError(f"{name!r} has no URL; write {SERVER}NAME@URL, such as {SERVER}NAME@http://HOST:PORT/v1.")
        self.name = name
        self._server = Server(url, "A rerank server", key_in(KEY_VARIABLE), seconds)
        self._forms: tuple[str, ...] = ("documents", "texts")

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """One score per pair, in input order; the pairs of a query should be adjacent.

        Raises:
            SearchError: the server does not answer, refuses a call or sends a malformed answer.
        """
        calls = [
            (query, passages[start : start + _BATCH])
            for query, group in groupby(pairs, key=lambda pair: pair[0])
            for passages in [[passage for _, passage in group]]
            for start in range(0, len(passages), _BATCH)
        ]
        answers = concurrently(lambda call: self._call(*call), calls, _CONCURRENCY)
        return [score for scores in answers for score in scores]

    def _call(self, query: str, passages: list[str]) -> list[float]:
        def read(answer: Any) -> list[float]:
            rows = answer["results"] if isinstance(answer, dict) else answer
            scores = {row["index"]: float(row.get("relevance_score", row.get("score"))) for row in rows}
            if len(rows) != len(passages) or not all(map(math.isfinite, scores.values())):
                raise ValueError(f"{len(rows)} scores {list(scores.values())[:5]} for {len(passages)} passages")
            return [scores[position] for position in range(len(passages))]

        body = {"model": self._model, "query": well_formed(query)}
        for form in self._forms:
            try:
                asked = {**body, form: [well_formed(passage) for passage in passages]}
                scores = self._server.call("POST", "/rerank", read, asked)
                break
            except ServerError as error:
                if error.status not in _WRONG_FORM or form == self._forms[-1]:
                    raise
        self._forms = (form,)
        return scores
