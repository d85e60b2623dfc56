"""The client of ``scripts/serve_retriever.py``: an index in another process gives the rankings it gives in this one."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acqo_rl.errors import ConfigError, IndexMismatchError, SearchError
from acqo_rl.loopback import is_loopback
from acqo_rl.retrieval.hybrid import joined_fingerprint
from acqo_rl.retrieval.manifest import DenseSettings, Manifest, read_manifest
from acqo_rl.retrieval.places import is_url, parts_of
from acqo_rl.surrogates import well_formed
from acqo_rl.types import Passage, Ranking

if TYPE_CHECKING:
    import httpx
    from tenacity.stop import stop_base

_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses of a server that may answer when it is asked again."""

KEY_VARIABLE = "ACQO_RETRIEVER_KEY"
"""Environment variable with the key that a retriever server wants."""


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """What an index is.

    Attributes:
        kind: ``dense``, ``bm25`` or ``hybrid``.
        fingerprint: see :attr:`acqo_rl.retrieval.manifest.Manifest.fingerprint`.
        corpus_hash: of the documents.
        document_count: number of documents.
        encoder: fingerprint of a dense index's encoder, whose scores compare; else empty.
    """

    kind: str
    fingerprint: str
    corpus_hash: str
    document_count: int
    encoder: str

    @classmethod
    def of(cls, manifest: Manifest) -> IndexInfo:
        """What a manifest says."""
        settings = manifest.settings
        encoder = settings.encoder_fingerprint if isinstance(settings, DenseSettings) else ""
        return cls(manifest.kind, manifest.fingerprint, manifest.corpus_hash, manifest.document_count, encoder)


def describe(index: str) -> IndexInfo:
    """What an index is: a folder, the URL of a retriever server, or several of them joined by ``+``.

    Raises:
        ConfigError: places are joined by ``+``, and one of them does not exist.
        IndexMismatchError: a folder holds no finished index, or the indexes of a hybrid are of different corpora.
        SearchError: a server does not answer.
    """
    infos = [_describe(part) for part in parts_of(index)]
    first, *others = infos
    if not others:
        return first
    if len({info.corpus_hash for info in infos}) > 1:
        raise IndexMismatchError(
            f"The indexes of {index} are of different corpora, of {' and '.join(str(i.document_count) for i in infos)}"
            " documents; build all of them from one."
        )
    fingerprint = joined_fingerprint([info.fingerprint for info in infos])
    return IndexInfo("hybrid", fingerprint, first.corpus_hash, first.document_count, "")


def _describe(index: str) -> IndexInfo:
    if not is_url(index):
        return IndexInfo.of(read_manifest(Path(index)))
    retriever = RemoteRetriever(index)
    try:
        return retriever.info()
    finally:
        retriever.close()


class CircuitBreaker:
    """After several failures in a row nothing is asked for a while; then one call tries whether all is well again."""

    def __init__(self, failures: int = 5, seconds: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        """Closed at first.

        Args:
            failures: in a row that open it.
            seconds: that it stays open.
            clock: seconds.
        """
        self._most = failures
        self._seconds = seconds
        self._clock = clock
        self._failures = 0
        self._opened = 0.0
        self._lock = threading.Lock()

    def admit(self) -> bool:
        """Whether a call may be made; of those that come after the pause, the first."""
        with self._lock:
            if self._failures < self._most:
                return True
            if self._clock() - self._opened < self._seconds:
                return False
            self._opened = self._clock()
            return True

    def record(self, *, success: bool) -> None:
        """Tells how a call ended."""
        with self._lock:
            self._failures = 0 if success else self._failures + 1
            self._opened = self._clock()


class RemoteRetriever:
    """Searches an index behind a server; a call that fails is made again, and a server that is down is left alone.

    Safe between threads. A failure is raised: it never looks like an empty result.
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
        """Opens a client; asks nothing yet. The server's key, if it wants one, is ``ACQO_RETRIEVER_KEY``.

        Args:
            url: of the server.
            name: recorded in every ranking.
            timeout: seconds for an answer.
            attempts: calls in all; those after a lost connection, a time-out or a passing status wait longer and
                longer, by chance up to ``longest_pause`` seconds, or as long as the server says.
            longest_pause: seconds between two calls at most.
            seconds: for a search with all its attempts; as long as they take by default.
            fingerprint: of the index; an answer from another one is refused.
            cosine: its scores are cosines.
            breaker: its own by default.

        Raises:
            ConfigError: the packages are missing.
        """
        try:
            import httpx
            import tenacity
        except ImportError as error:
            raise ConfigError(
                f"An index behind a server needs the package {error.name}: pip install 'acqo-rl[remote]'."
            ) from error
        self.name = name
        self.fingerprint = fingerprint
        self.cosine = cosine
        self._url = url.rstrip("/")
        key = os.environ.get(KEY_VARIABLE)
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        longest_call = timeout if seconds is None else min(timeout, seconds)
        direct = httpx.HTTPTransport() if is_loopback(self._url) else None  # a transport of its own takes no proxy
        self._client = httpx.Client(base_url=self._url, timeout=longest_call, headers=headers, transport=direct)
        self._closing = weakref.finalize(self, self._client.close)  # nobody else closes what a command opens
        self._breaker = breaker or CircuitBreaker()
        by_chance = tenacity.wait_random_exponential(multiplier=0.1, max=longest_pause)
        self._retrying = tenacity.Retrying(
            stop=tenacity.stop_any(tenacity.stop_after_attempt(attempts), *_stop_in_time(seconds)),
            wait=lambda state: max(by_chance(state), min(_asked_pause(state), longest_pause)),
            retry=tenacity.retry_if_exception(_may_pass),
            reraise=True,
        )

    def search(self, texts: Sequence[str], k: int) -> list[Ranking]:
        """At most ``k`` documents a text, position for position, as the index finds them.

        Raises:
            SearchError: the server does not answer, refuses the call, answers in another form or from another index.
        """
        if not texts:
            return []
        asked: dict[str, Any] = {"texts": [well_formed(text) for text in texts], "k": k}
        if passages := [position for position, text in enumerate(texts) if isinstance(text, Passage)]:
            asked["passages"] = passages
        body = self._call("POST", "/search", json=asked)
        try:
            self._check_index(body["fingerprint"])
            rankings = [
                Ranking(tuple(row["doc_ids"]), tuple(row["scores"]), self.name, text, ceiling=row.get("ceiling"))
                for row, text in zip(body["rankings"], texts, strict=True)
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise SearchError(
                f"{self._url} did not answer as a retriever server does ({error!r}); check the URL and its version."
            ) from error
        return rankings

    def info(self) -> IndexInfo:
        """What the index is.

        Raises:
            SearchError: as :meth:`search`.
        """
        body = self._call("GET", "/info")
        try:
            return IndexInfo(**body)
        except TypeError as error:
            raise SearchError(f"{self._url} is no retriever server of this version ({error}).") from error

    def close(self) -> None:
        """Closes the connections."""
        self._closing()

    def _check_index(self, answered: str) -> None:
        if self.fingerprint not in ("", answered):
            raise SearchError(
                f"{self._url} now serves another index ({answered[:12]}, wanted {self.fingerprint[:12]}): serve"
                " that one again, or start this process anew."
            )

    def _call(self, method: str, path: str, **body: Any) -> Any:
        import httpx

        try:
            return self._retrying(self._once, method, path, body)
        except httpx.HTTPStatusError as error:
            raise SearchError(
                f"{self._url} answered {error.response.status_code}: {error.response.text[:200]}"
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise SearchError(
                f"{self._url} gave no answer ({type(error).__name__}: {error}): see that the retriever server runs."
            ) from error

    def _once(self, method: str, path: str, body: dict[str, Any]) -> Any:
        if not self._breaker.admit():
            raise SearchError(f"{self._url} failed several times in a row and is left alone for some seconds.")
        passing = True
        try:
            response = self._client.request(method, path, **body)
            passing = response.status_code in _PASSING and response.status_code != 429  # busy is not down
        finally:
            self._breaker.record(success=not passing)
        response.raise_for_status()
        return response.json()


def _may_pass(error: BaseException) -> bool:
    import httpx

    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in _PASSING
    return isinstance(error, httpx.TransportError)


def _stop_in_time(seconds: float | None) -> list[stop_base]:
    from tenacity import stop_before_delay

    return [] if seconds is None else [stop_before_delay(seconds)]


def _asked_pause(state: Any) -> float:
    """Seconds that the server's last answer asks to wait."""
    response: httpx.Response | None = getattr(state.outcome.exception(), "response", None)
    asked = response.headers.get("Retry-After", "") if response is not None else ""
    return float(asked) if asked.isdigit() else 0.0
