"""Calls of servers with JSON answers, with retries of temporary failures."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from acqo_rl import time_limit
from acqo_rl.addresses import Address
from acqo_rl.errors import MissingPackageError, SearchError
from acqo_rl.language_models.loopback import checked_environment, checked_url, is_loopback, proxy_note

if TYPE_CHECKING:
    import httpx
    import tenacity

T = TypeVar("T")

TEMPORARY = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which a retry may succeed."""

_OPENING_SECONDS = 5.0
_SHORTEST_TIME = 0.001  # seconds; 0 is no time limit for httpx


class ServerError(SearchError):
    """A server did not answer, or answered with an error.

    Attributes:
        status: HTTP status; ``None`` if there was no answer.
        is_down: whether no connection could be made.
    """

    def __init__(self, *args: object, public: str, status: int | None = None, is_down: bool = False) -> None:
        super().__init__(*args, public=public)
        self.status = status
        self.is_down = is_down


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


class Server:
    """A server. Thread-safe.

    Attributes:
        url: its base URL.
    """

    def __init__(
        self,
        url: str,
        what: str,
        key: str | None,
        *,
        timeout: float = 30.0,
        attempts: int = 4,
        longest_pause: float = 5.0,
        longest_retry_after: float | None = None,
        seconds: float | None = None,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        """Creates a client without connecting; it uses no proxy for a server on this machine.

        Args:
            url: base URL; a user and a password in it are sent by HTTP basic authentication.
            what: kind of the server, for messages.
            key: API key, sent as a bearer token.
            timeout: seconds to wait for one response.
            attempts: maximum number of attempts per call. A call is retried after a lost connection, a time-out or a
                temporary status. The pauses grow exponentially with jitter and respect ``Retry-After``.
            longest_pause: maximum seconds between two attempts.
            longest_retry_after: maximum seconds of ``Retry-After`` that are respected; ``longest_pause`` by default.
            seconds: time limit of a call over all attempts; no limit by default.
            breaker: blocks calls after several failures.

        Raises:
            MissingPackageError: the packages of the extra ``remote`` are not installed.
            ConfigError: the URL is invalid, or a proxy in the environment cannot be used.
        """
        try:
            import httpx
            import tenacity  # noqa: F401
        except ImportError as error:
            raise MissingPackageError(
                f"{what} needs the package {error.name}; run: pip install 'acqo-rl[remote]'"
            ) from error
        self.url = Address(url).removesuffix("/")
        self._what = what
        self._timeout = timeout if seconds is None else min(timeout, seconds)
        self._breaker = breaker
        self._retrying = _retrying(attempts, longest_pause, longest_retry_after or longest_pause, seconds)
        checked_url(self.url, httpx.URL)
        base = httpx.URL(self.url.whole())
        login = (base.username, base.password) if base.userinfo else None
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        with checked_environment():
            direct = httpx.HTTPTransport() if is_loopback(url) else None  # an explicit transport ignores proxies
            self._client = httpx.Client(
                base_url=base.copy_with(userinfo=b""), auth=login, headers=headers, transport=direct
            )
        self._closing = weakref.finalize(self, self._client.close)  # commands do not close their clients

    def call(
        self,
        method: str,
        path: str,
        read: Callable[[Any], T],
        body: Any = None,
        *,
        is_first: bool = False,
    ) -> T:
        """The answer to a call.

        Args:
            method: HTTP method.
            path: below the base URL.
            read: turns the JSON of the answer into the result.
            body: JSON of the request.
            is_first: give up after some seconds, so that a server that does not run is reported before work begins.

        Raises:
            ServerError: the server does not respond, rejects the call or sends an answer that cannot be read.
        """
        import httpx
        import tenacity

        retrying = self._retrying
        if is_first:
            stop: Any = retrying.stop
            retrying = retrying.copy(stop=stop | tenacity.stop_before_delay(_OPENING_SECONDS))
        try:
            return read(retrying(self._once, method, path, body).json())
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            raise ServerError(
                f"{self.url} answered {status}: {error.response.text[:200]}{proxy_note(error)}",
                public=f"{self._what} answered {status}.",
                status=status,
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ServerError(
                f"{self.url} did not respond ({type(error).__name__}: {error}); check that it is running."
                f"{proxy_note(error)}",
                public=f"{self._what} did not respond.",
                is_down=isinstance(error, httpx.ConnectError),
            ) from error
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise ServerError(
                f"{self.url} sent an answer that cannot be read ({error!r}); check that it is the right server, of a"
                " version that fits.",
                public=f"{self._what} sent an answer that cannot be read.",
            ) from error

    def close(self) -> None:
        """Closes the connections."""
        self._closing()

    def _once(self, method: str, path: str, body: Any) -> httpx.Response:
        if self._breaker and not self._breaker.admit():
            reason = "failed several times in a row; calls are paused for some seconds."
            raise ServerError(f"{self.url} {reason}", public=f"{self._what} {reason}")
        timeout = max(_SHORTEST_TIME, min(self._timeout, time_limit.current().seconds))
        is_down = True
        try:
            response = self._client.request(method, path, json=body, timeout=timeout)
            # 429 means that the server is busy, not down
            is_down = response.status_code in TEMPORARY and response.status_code != 429
        finally:
            if self._breaker:
                self._breaker.record(success=not is_down)
        return response.raise_for_status()


def _retrying(
    attempts: int, longest_pause: float, longest_retry_after: float, seconds: float | None
) -> tenacity.Retrying:
    """Repeats a call after a lost connection, a time-out or a temporary status; arguments as of :class:`Server`."""
    import tenacity

    with_jitter = tenacity.wait_random_exponential(multiplier=0.1, max=longest_pause)
    in_time = [] if seconds is None else [tenacity.stop_before_delay(seconds)]
    return tenacity.Retrying(
        stop=tenacity.stop_any(tenacity.stop_after_attempt(attempts), *in_time),
        wait=lambda state: max(with_jitter(state), min(_retry_after(state), longest_retry_after)),
        retry=tenacity.retry_if_exception(_is_temporary),
        reraise=True,
    )


def _is_temporary(error: BaseException) -> bool:
    import httpx

    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in TEMPORARY
    return isinstance(error, httpx.TransportError)


def _retry_after(state: Any) -> float:
    """Seconds in the ``Retry-After`` header of the last response; 0 if there is none."""
    response: httpx.Response | None = getattr(state.outcome.exception(), "response", None)
    asked = response.headers.get("Retry-After", "") if response is not None else ""
    return float(asked) if asked.replace(".", "", 1).isdecimal() and asked.isascii() else 0.0
