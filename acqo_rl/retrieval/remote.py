"""Client of ``acqo serve-retriever``; its rankings equal those of the same index loaded in this process."""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acqo_rl.addresses import Address
from acqo_rl.api_keys import key_in
from acqo_rl.errors import IndexMismatchError, SearchError
from acqo_rl.loopback import proxy_note
from acqo_rl.retrieval.engines.location import is_engine
from acqo_rl.retrieval.http_calls import TEMPORARY, connect, retrying
from acqo_rl.retrieval.hybrid import joined_fingerprint
from acqo_rl.retrieval.manifest import DenseSettings, Manifest, read_manifest
from acqo_rl.retrieval.places import is_url, parts_of
from acqo_rl.roles import Retriever
from acqo_rl.surrogates import well_formed
from acqo_rl.types import Passage, Ranking

KEY_VARIABLE = "ACQO_RETRIEVER_KEY"
"""Environment variable with the API key of a retriever server."""


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """Description of an index.

    Attributes:
        kind: ``dense``, ``bm25`` or ``hybrid``.
        fingerprint: see :attr:`acqo_rl.retrieval.manifest.Manifest.fingerprint`.
        corpus_hash: hash of the documents.
        document_count: number of documents.
        encoder: fingerprint of a dense index's encoder, else empty. Scores of indexes with the same encoder are
            comparable.
    """

    kind: str
    fingerprint: str
    corpus_hash: str
    document_count: int
    encoder: str

    @classmethod
    def of(cls, manifest: Manifest) -> IndexInfo:
        """Creates the description from a manifest."""
        settings = manifest.settings
        encoder = settings.encoder_fingerprint if isinstance(settings, DenseSettings) else ""
        return cls(manifest.kind, manifest.fingerprint, manifest.corpus_hash, manifest.document_count, encoder)


def describe(index: str) -> IndexInfo:
    """Describes an index: a folder, a URL, a collection of a search engine, or several of them joined by ``+``.

    Raises:
        ConfigError: a location joined by ``+`` does not exist.
        IndexMismatchError: a folder contains no finished index, or the joined indexes have different corpora.
        SearchError: a server does not respond.
    """
    infos = [_describe(part) for part in parts_of(index)]
    first, *others = infos
    if not others:
        return first
    if len({info.corpus_hash for info in infos}) > 1:
        raise IndexMismatchError(
            f"The indexes of {index} have different corpora (of {' and '.join(str(i.document_count) for i in infos)}"
            " documents); build all of them from the same corpus."
        )
    fingerprint = joined_fingerprint([info.fingerprint for info in infos])
    return IndexInfo("hybrid", fingerprint, first.corpus_hash, first.document_count, "")


def _describe(index: Address) -> IndexInfo:
    if is_engine(index):
        from acqo_rl.retrieval.engines.opening import open_collection

        opened = open_collection(index)
        return IndexInfo(opened.kind, opened.fingerprint, opened.corpus_hash, opened.document_count, opened.encoder)
    if not is_url(index):
        return IndexInfo.of(read_manifest(Path(index)))
    retriever = RemoteRetriever(index)
    try:
        return retriever.info()
    finally:
        retriever.close()


class CircuitBreaker:
    """Circuit breaker: after several consecutive failures it blocks calls for a while, then admits one trial call."""

    def __init__(self, failures: int = 5, seconds: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        """Creates a closed circuit breaker, which admits calls.

        Args:
            failures: number of consecutive failures that open it.
            seconds: time for which it stays open and blocks calls.
            clock: returns the current time in seconds.
        """
        self._max_failures = failures
        self._seconds = seconds
        self._clock = clock
        self._failures = 0
        self._opened = 0.0
        self._lock = threading.Lock()

    def admit(self) -> bool:
        """Whether a call may be made. After the pause, one call per ``seconds`` is admitted until one succeeds."""
        with self._lock:
            if self._failures < self._max_failures:
                return True
            if self._clock() - self._opened < self._seconds:
                return False
            self._opened = self._clock()
            return True

    def record(self, *, success: bool) -> None:
        """Records whether a call succeeded."""
        with self._lock:
            self._failures = 0 if success else self._failures + 1
            self._opened = self._clock()


class RemoteRetriever(Retriever):
    """Searches an index on a server, with retries and a circuit breaker. Thread-safe.

    A failure always raises an exception and never returns an empty result.
    """

    def __init__(
        self,
        url: str,
        *,
        name: str = "remote",
        timeout: float = 30.0,
        attempts: int = 4,
        longest_pause: float = 5.0,
        seconds: float | None = None,
        fingerprint: str = "",
        cosine: bool = False,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        """Creates a client without connecting. The environment variable ``ACQO_RETRIEVER_KEY`` holds the API key.

        Args:
            url: URL of the server.
            name: recorded in every ranking.
            timeout: seconds to wait for one response.
            attempts: maximum number of calls per search. A call is retried after a lost connection, a time-out or a
                temporary status. The pauses grow exponentially with jitter and respect ``Retry-After``.
            longest_pause: maximum seconds between two attempts.
            seconds: time limit of a search over all attempts; no limit by default.
            fingerprint: expected fingerprint of the index; responses from another index raise an error.
            cosine: whether the scores are cosines.
            breaker: circuit breaker; by default each client has its own.

        Raises:
            MissingPackageError: the packages of the extra ``remote`` are not installed.
        """
        self.name = name
        self.fingerprint = fingerprint
        self.cosine = cosine
        self._url = Address(url).removesuffix("/")
        longest_call = timeout if seconds is None else min(timeout, seconds)
        self._client = connect(self._url, key_in(KEY_VARIABLE), longest_call, "A retriever server")
        self._closing = weakref.finalize(self, self._client.close)  # commands do not close their retrievers
        self._breaker = breaker or CircuitBreaker()
        self._retrying = retrying(attempts, longest_pause, seconds)

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """Returns one ranking of at most ``k`` documents per text, in input order.

        Raises:
            SearchError: the server does not respond, rejects the call, sends an invalid response or serves another
                index.
        """
        if not texts:
            return []
        asked: dict[str, Any] = {"texts": [well_formed(text) for text in texts], "k": k}
        if passages := [place for place, text in enumerate(texts) if isinstance(text, Passage)]:
            asked["passages"] = passages
        body = self._call("POST", "/search", json=asked)
        try:
            self._check_index(body["fingerprint"])
            rankings = [
                self._ranking(row["doc_ids"], row["scores"], row.get("ceiling"), text)
                for row, text in zip(body["rankings"], texts, strict=True)
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise SearchError(
                f"{self._url} sent an invalid response ({error!r}); check that it is a retriever server of this"
                " version."
            ) from error
        return rankings

    def info(self) -> IndexInfo:
        """Returns the description of the index.

        Raises:
            SearchError: as in :meth:`search`.
        """
        body = self._call("GET", "/info")
        try:
            return IndexInfo(**body)
        except TypeError as error:
            raise SearchError(
                f"{self._url} is not a retriever server of this version ({error}); check the URL and the version."
            ) from error

    def close(self) -> None:
        """Closes the connections."""
        self._closing()

    def _ranking(self, doc_ids: list[str], scores: list[float], ceiling: float | None, text: str) -> Ranking:
        if not all(isinstance(doc_id, str) for doc_id in doc_ids) or not all(map(math.isfinite, scores)):
            raise ValueError(f"ids {doc_ids[:3]} and scores {scores[:3]} are not texts and finite numbers")
        if len(doc_ids) != len(scores):
            raise ValueError(f"{len(doc_ids)} documents with {len(scores)} scores")
        return Ranking(tuple(doc_ids), tuple(scores), self.name, text, ceiling=ceiling)

    def _check_index(self, answered: str) -> None:
        if self.fingerprint not in ("", answered):
            raise SearchError(
                f"{self._url} now serves another index ({answered[:12]}, expected {self.fingerprint[:12]}). Serve the"
                " expected index again, or restart this process."
            )

    def _call(self, method: str, path: str, **body: Any) -> Any:
        import httpx

        try:
            return self._retrying(self._once, method, path, body)
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            raise SearchError(
                f"{self._url} answered {status}: {error.response.text[:200]}{proxy_note(error)}",
                public=f"An index server answered {status}.",
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise SearchError(
                f"{self._url} did not respond ({type(error).__name__}: {error}); check that the retriever server is"
                f" running.{proxy_note(error)}"
            ) from error

    def _once(self, method: str, path: str, body: dict[str, Any]) -> Any:
        if not self._breaker.admit():
            reason = "failed several times in a row; calls are paused for some seconds."
            raise SearchError(f"{self._url} {reason}", public=f"An index server {reason}")
        is_down = True
        try:
            response = self._client.request(method, path, **body)
            # 429 means that the server is busy, not down
            is_down = response.status_code in TEMPORARY and response.status_code != 429
        finally:
            self._breaker.record(success=not is_down)
        response.raise_for_status()
        return response.json()
