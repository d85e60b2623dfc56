"""Encoders on servers, and the loading of encoders by the settings that an index records."""

import os
from collections.abc import Mapping, Sequence
from inspect import signature
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from cachetools import LRUCache

from acqo_rl.errors import ConfigError, IndexMismatchError, SearchError, check_positive
from acqo_rl.files import hash_of
from acqo_rl.language_models.http_clients import key_in
from acqo_rl.language_models.load import on_server
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder, normalised
from acqo_rl.retrieval.http_calls import Server, ServerError
from acqo_rl.roles import Encoder, Vectors
from acqo_rl.text import one_line
from acqo_rl.time_limit import concurrently
from acqo_rl.types import well_formed

SERVERS_VARIABLE = "ACQO_ENCODER_SERVERS"
"""Environment variable with the URLs of the encoder servers that indexes may name, separated by spaces."""


_REFUSED = frozenset({400, 413, 422})
"""HTTP statuses of a batch that is too large, or has a text that is too long."""
_OPENAI = "https://api.openai.com/v1"
_SHORTEST, _LONGEST = 1e-6, 1e6
"""Bounds of an embedding's L2 norm: outside are zeros, NaN, infinity and what a broken model computes."""
_BYTES_PER_TEXT = 2**19
"""Maximum size of an embedding in an answer, written in digits."""
_CONCURRENCY = 4  # calls
_REMEMBERED = 1024
"""Number of queries whose embeddings a shared encoder remembers."""
_PROGRESS_FROM = 8  # batches


class ServerEncoder(Encoder):
    """A model on a server with OpenAI's embeddings protocol (OpenAI, vLLM, TEI, Ollama, llama.cpp).

    Texts are sent in batches, four at a time.

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
        seconds: float | None = None,
    ) -> None:
        """Embeds one text, to learn the dimension.

        The environment variable ``OPENAI_API_KEY`` holds the API key, if the server needs one.

        Args:
            model: ``openai:NAME@URL``, or ``openai:NAME`` for the server in ``OPENAI_BASE_URL``, else that of OpenAI.
            query_prompt: text added before every query.
            passage_prompt: text added before every passage.
            dimensions: dimension to ask for, if the model has several; by default the model's own.
            batch_size: texts per call. A batch that the server refuses is halved.
            seconds: time limit of a call, see :class:`Server`.

        Raises:
            ConfigError: the model or a number is invalid, or packages or the key are missing.
            SearchError: the server does not answer, or its answer is malformed.
        """
        for name, value in (("batch_size", batch_size), ("dimensions", dimensions)):
            check_positive(f"The encoder's {name}", value)
        self._name, url = on_server(model)
        url = url or os.environ.get("OPENAI_BASE_URL") or ""
        key = key_in("OPENAI_API_KEY")
        if not url and not key:
            raise ConfigError("OPENAI_API_KEY is not set; set it, or give the URL of your own server: openai:NAME@URL.")
        self._server = Server(url or _OPENAI, "An encoder server", key, seconds)
        self._batch_size = batch_size
        self.settings: dict[str, Any] = {
            "model": model,
            "query_prompt": query_prompt,
            "passage_prompt": passage_prompt,
            "dimensions": dimensions,
        }
        self.dim = dimensions or 0
        self.dim = len(self._ask(["How many dimensions are there?"], is_first=True)[0])
        self.fingerprint = hash_of(self._name, query_prompt or "", passage_prompt or "", self.dim)

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """L2-normalised embeddings of queries, float32[texts, dim].

        Raises:
            SearchError: the server does not answer or refuses a text.
            IndexMismatchError: the server's embeddings have another dimension now.
        """
        return self._encode(texts, self.settings["query_prompt"])

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        """L2-normalised embeddings of passages, float32[texts, dim]; exceptions as in :meth:`encode_queries`."""
        return self._encode(texts, self.settings["passage_prompt"])

    def _encode(self, texts: Sequence[str], prompt: str | None) -> Vectors:
        """Sends each distinct text once; servers refuse empty texts, so these become a space."""
        from tqdm import tqdm

        sent = [(prompt or "") + (well_formed(text) if one_line(text) else " ") for text in texts]
        distinct = list(dict.fromkeys(sent))
        batches = [distinct[start : start + self._batch_size] for start in range(0, len(distinct), self._batch_size)]
        vectors = [np.empty((0, self.dim), np.float32)]
        answers = concurrently(self._ask, batches, _CONCURRENCY)
        vectors += tqdm(answers, "embedding", len(batches), leave=False, disable=len(batches) < _PROGRESS_FROM)
        rows = {text: row for row, text in enumerate(distinct)}
        return normalised(np.concatenate(vectors))[[rows[text] for text in sent]]

    def _ask(self, texts: Sequence[str], *, is_first: bool = False) -> Vectors:
        """One embedding per text, from one call; from several if the server refuses the batch."""

        def read(answer: Any) -> Vectors:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = np.array([row["embedding"] for row in rows], np.float32)
            if [row["index"] for row in rows] != list(range(len(texts))) or vectors.ndim != 2:
                raise ValueError(f"it does not have one vector of numbers for each of the {len(texts)} texts")
            lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
            if not ((lengths > _SHORTEST) & (lengths < _LONGEST)).all():
                raise ValueError("it has a vector from which no cosine can be computed")
            return vectors

        body: dict[str, Any] = {"model": self._name, "input": list(texts), "encoding_format": "float"}
        if self.settings["dimensions"]:
            body["dimensions"] = self.settings["dimensions"]
        try:
            most = len(texts) * _BYTES_PER_TEXT
            vectors = self._server.call("POST", "/embeddings", read, body, is_first=is_first, most=most)
        except ServerError as error:
            if len(texts) == 1 or error.status not in _REFUSED:
                text = f" the text {texts[0][:80]!r} ({len(texts[0]):,} characters)" if error.status in _REFUSED else ""
                raise SearchError(
                    f"{self.settings['model']} did not embed{text}: {str(error).rstrip('.')}. Check the server, its key"
                    " (OPENAI_API_KEY), the model's name and the length of the texts.",
                    public=error.public,
                ) from error
            half = len(texts) // 2
            return np.concatenate([self._ask(texts[:half]), self._ask(texts[half:])])
        if self.dim not in (0, vectors.shape[1]):
            raise IndexMismatchError(
                f"The encoder {self._name} returned {vectors.shape[1]} dimensions, expected {self.dim}; the server has"
                " another model of this name now, or ignores the setting dimensions. Use the model of the index."
            )
        return vectors


def embed_once(encoder: Encoder) -> None:
    """Makes an encoder that several indexes share embed a query once; calls wait for each other."""
    if "encode_queries" in vars(encoder):
        return
    known: LRUCache[str, Vectors] = LRUCache(_REMEMBERED)
    lock = Lock()
    encode = encoder.encode_queries

    def encode_new(texts: Sequence[str]) -> Vectors:
        with lock:
            vectors = {text: known[text] for text in texts if text in known}
            new = [text for text in dict.fromkeys(texts) if text not in vectors]
            vectors |= zip(new, encode(new), strict=True)
            known.update(vectors)
        return np.array([vectors[text] for text in texts], np.float32).reshape(len(texts), encoder.dim)

    encoder.encode_queries = encode_new  # type: ignore[method-assign]


def is_on_server(model: str) -> bool:
    """Whether an encoder is a model on a server."""
    return model.startswith("openai:")


def load_encoder(settings: Mapping[str, Any], seconds: float | None = None) -> Encoder:
    """Loads an encoder.

    Args:
        settings: ``model`` and other arguments of ``ServerEncoder`` for ``openai:NAME@URL``, else of
            ``SentenceTransformerEncoder``.
        seconds: time limit of a call of a server. By default a call is repeated for about a minute.

    Raises:
        ConfigError: a setting does not apply to the encoder, or it cannot be loaded.
        SearchError: a server does not answer.
    """
    served = is_on_server(settings["model"])
    known = signature(ServerEncoder if served else SentenceTransformerEncoder).parameters
    if unknown := sorted(settings.keys() - known.keys()):
        names = ", ".join(name for name in known if name not in ("model", "seconds", "device"))
        raise ConfigError(f"The encoder {settings['model']} has no setting {', '.join(unknown)}; there are: {names}.")
    return ServerEncoder(**settings, seconds=seconds) if served else SentenceTransformerEncoder(**settings)


def fitting_encoder(
    index: str | Path,
    settings: Mapping[str, Any] | None,
    fingerprint: str,
    encoder: Encoder | None = None,
    seconds: float | None = None,
) -> Encoder:
    """The encoder of an index.

    Args:
        index: the index, for messages.
        settings: as of :func:`load_encoder`, from the manifest of the index; ``None`` if it has none.
        fingerprint: of the encoder with which the index was built.
        encoder: used instead, if it is loaded already.
        seconds: as of :func:`load_encoder`.

    Raises:
        ConfigError: no encoder is known, or the index names a server that the user has not named.
        IndexMismatchError: the encoder is another one.
        SearchError: a server does not answer.
    """
    if encoder is None:
        if settings is None:
            raise ConfigError(f"{index} does not say with which encoder it was built; give the encoder.")
        _check_server(settings["model"], index)
        encoder = load_encoder(settings, seconds)
    if encoder.fingerprint != fingerprint:
        raise IndexMismatchError(
            f"{index} was built with another encoder: {settings or fingerprint}, expected"
            f" {encoder.settings or encoder.fingerprint}. If model, revision, prompts, dtype and max_length"
            " are equal, the files of the model have changed. Build an index with this encoder."
        )
    return encoder


def _check_server(model: str, index: str | Path) -> None:
    url = on_server(model)[1] if is_on_server(model) else None
    named = [*os.environ.get(SERVERS_VARIABLE, "").split(), os.environ.get("OPENAI_BASE_URL", "")]
    if url and _origin(url) not in map(_origin, named):
        raise ConfigError(
            f"{index} names the encoder server {_origin(url)}, to which queries and OPENAI_API_KEY would be sent. If"
            f" you trust this server, set the environment variable {SERVERS_VARIABLE} to {_origin(url)}."
        )


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()
