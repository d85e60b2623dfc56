"""HTTP clients of all servers: URLs, keys, proxies, limits of time and of bytes, retries of temporary failures."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import weakref
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError
from functools import cache
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from acqo_rl import time_limit
from acqo_rl.addresses import Address, hide, whole_of
from acqo_rl.errors import ConfigError, missing_package

if TYPE_CHECKING:
    import httpx
    import tenacity

T = TypeVar("T")

TEMPORARY = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which a retry may succeed."""
PATIENT_ATTEMPTS = 30
"""Attempts of about a minute."""
_LONGEST_PAUSE, _LONGEST_RETRY_AFTER = 5.0, 120.0  # seconds
_LONGEST_EXCHANGE = 600.0  # seconds
_LEAST_BYTES = 4 * 2**20
"""Maximum size of an answer to a call that does not ask for much."""
_COMPRESSED = ("", "identity", "gzip", "deflate")
"""Forms of an answer; other compressions can make a few bytes several gigabytes at once."""
TOO_LATE = "the time limit ended this call"
_ENVIRONMENT = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


def is_loopback(url: str) -> bool:
    """Whether the host of a URL is this machine, such as ``localhost``, ``127.0.0.1``, ``[::1]`` or ``0.0.0.0``.

    A proxy set in the environment (``HTTP_PROXY``, ``ALL_PROXY``, ...) may run elsewhere and could not reach it.
    """
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
        if host == "localhost" or host.endswith(".localhost"):
            return True
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def checked_url(url: str, parse: Callable[[str], object] = urlsplit) -> None:
    """Checks the URL of a server.

    Args:
        url: the URL.
        parse: the function of the HTTP client that parses URLs.

    Raises:
        ConfigError: the client cannot parse it, or it has no host or another scheme than http and https.
    """
    whole = whole_of(url)
    try:
        parse(whole)
        parts = urlsplit(whole)
        if parts.scheme not in ("http", "https") or not (parts.hostname or "").strip():
            raise ValueError("it must begin with http://HOST or https://HOST")
    except Exception as error:  # an InvalidURL of the client, which is no ValueError
        raise ConfigError(
            f"{Address(url)!r} is no URL of a server ({error}); give one such as http://HOST:8000."
        ) from error


def key_in(variable: str) -> str | None:
    """The API key in an environment variable, without white space around it; ``None`` if there is none.

    It is masked in all later messages.

    Raises:
        ConfigError: it contains a character that cannot be sent in a header.
    """
    key = os.environ.get(variable, "").strip()
    odd = next((c for c in key if not (c.isascii() and c.isprintable())), None)
    if odd is not None:
        raise ConfigError(
            f"{variable} contains the character {odd!r}, which is not possible in an API key; copy the key again."
        )
    hide(key)
    return key or None


class Connections:
    """Connections to a server. Thread-safe; they are closed with the last reference, or by :meth:`close`.

    All calls run on one event loop. So a call ends as a whole: a server that sends its answer byte by byte, or never
    ends it, cannot outlive the time limit.
    """

    def __init__(self, url: str, what: str, pause: float, headers: Mapping[str, str]) -> None:
        """Opens a client without connecting; it uses no proxy for a server on this machine.

        Args:
            url: base URL of the server; a user and a password in it are sent by HTTP basic authentication.
            what: kind of the server, for messages.
            pause: time limit in seconds for connecting, and for a pause between bytes.
            headers: of all calls.

        Raises:
            MissingPackageError: the packages of the extra ``remote`` are not installed.
            ConfigError: the URL is invalid, or a proxy or certificates in the environment cannot be used.
        """
        self._client = _open_client(url, what, timeout=pause, headers={"Accept-Encoding": "gzip, deflate", **headers})
        self.close = weakref.finalize(self, _close, self._client)
        self.close.atexit = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine that makes calls; it ends with the time limit of the request.

        Raises:
            TimeoutError: the time limit has ended it.
        """
        running = asyncio.run_coroutine_threadsafe(work, _loop())
        try:
            with time_limit.current().ending(running.cancel):  # when nobody waits for the request any more
                return running.result()
        except (CancelledError, TimeoutError):
            raise TimeoutError(TOO_LATE) from None
        finally:
            running.cancel()

    async def send(self, method: str, path: str, body: Any, most: int = 0) -> httpx.Response:
        """The answer to one call.

        Args:
            method: HTTP method.
            path: below the base URL.
            body: JSON of the request; bytes are sent as they are, as JSON lines.
            most: maximum number of bytes of the answer, if the call asks for more than a few megabytes.

        Raises:
            httpx.HTTPError: the server does not answer, or answers with an error.
            TimeoutError: the answer is not complete within the time limit of the request, or in ten minutes.
            ValueError: the answer has too many bytes, or a compression that was not asked for.
        """
        import httpx

        most = max(most, _LEAST_BYTES)
        parts: list[bytes] = []
        size = 0
        seconds = min(_LONGEST_EXCHANGE, time_limit.current().seconds)
        content: dict[str, Any] = {"json": body}
        if isinstance(body, bytes):
            content = {"content": body, "headers": {"Content-Type": "application/x-ndjson"}}
        async with asyncio.timeout(seconds), self._client.stream(method, path, **content) as response:
            if (compression := response.headers.get("Content-Encoding", "")) not in _COMPRESSED:
                raise ValueError(f"the compression of the answer is {compression!r}")
            async for part in response.aiter_bytes():
                size += len(part)
                if size > most:
                    raise ValueError(f"the answer has more than {most:,} bytes")
                parts.append(part)
        kept = {name: response.headers[name] for name in ("Retry-After",) if name in response.headers}
        whole = httpx.Response(response.status_code, headers=kept, content=b"".join(parts), request=response.request)
        return whole.raise_for_status()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="acqo-calls", daemon=True).start()
    return loop


def _close(client: httpx.AsyncClient) -> None:
    asyncio.run_coroutine_threadsafe(client.aclose(), _loop())


def _open_client(url: str, what: str, **options: Any) -> httpx.AsyncClient:
    try:
        import httpx
        import tenacity  # noqa: F401
    except ImportError as error:
        raise missing_package(what, error, "remote") from error
    checked_url(url, httpx.URL)
    base = httpx.URL(whole_of(url))
    options |= {"base_url": base.copy_with(userinfo=b"")}
    options |= {"auth": (base.username, base.password)} if base.userinfo else {}
    limits = httpx.Limits(max_keepalive_connections=100)  # the callers limit the number of calls
    try:
        # An explicit transport ignores proxies.
        direct = httpx.AsyncHTTPTransport(limits=limits) if is_loopback(url) else None
        return httpx.AsyncClient(transport=direct, limits=limits, **options)
    except Exception as error:  # httpx raises ImportError, OSError, ValueError and an InvalidURL of its own
        given = [name for name in _ENVIRONMENT if os.environ.get(name) or os.environ.get(name.lower())]
        if not given:
            raise
        raise ConfigError(
            f"{' or '.join(given)} in the environment cannot be used ({error}); correct or unset it, or install what it"
            " needs."
        ) from error


def make_retrying(
    is_temporary: Callable[[BaseException], bool],
    seconds: float | None = None,
    attempts: int = PATIENT_ATTEMPTS,
    *,
    is_async: bool = False,
) -> Any:
    """Repeats calls after temporary failures, within the time limit of the request.

    The pauses grow with jitter and respect ``Retry-After`` up to two minutes.

    Args:
        is_temporary: whether a retry may succeed after an exception.
        seconds: time limit of a call over all attempts.
        attempts: maximum number of attempts.
        is_async: whether the calls are coroutines.

    Returns:
        ``Retrying`` or ``AsyncRetrying`` of tenacity.
    """
    import tenacity

    stops: list[Any] = [
        tenacity.stop_after_attempt(attempts),
        lambda state: state.upcoming_sleep >= time_limit.current().seconds,
    ]
    if seconds is not None:
        stops.append(tenacity.stop_before_delay(seconds))
    with_jitter = tenacity.wait_random_exponential(multiplier=0.5, max=_LONGEST_PAUSE)
    return (tenacity.AsyncRetrying if is_async else tenacity.Retrying)(
        stop=tenacity.stop_any(*stops),
        wait=lambda state: max(with_jitter(state), _retry_after(state)),
        retry=tenacity.retry_if_exception(is_temporary),
        reraise=True,
    )


def is_busy(error: BaseException) -> bool:
    """Whether a server answered with a status after which a retry may succeed."""
    import httpx

    return isinstance(error, httpx.HTTPStatusError) and error.response.status_code in TEMPORARY


def is_temporary(error: BaseException) -> bool:
    """Whether a retry of a call may succeed: the server is busy, or the connection was lost or timed out."""
    import httpx

    return is_busy(error) or isinstance(error, httpx.TransportError)


def _retry_after(state: tenacity.RetryCallState) -> float:
    """Seconds in the ``Retry-After`` header of the last response, at most two minutes; 0 if there is none."""
    response = getattr(state.outcome.exception(), "response", None) if state.outcome else None
    asked = response.headers.get("Retry-After", "") if response is not None else ""
    return min(_LONGEST_RETRY_AFTER, float(asked)) if asked.replace(".", "", 1).isdecimal() and asked.isascii() else 0.0
