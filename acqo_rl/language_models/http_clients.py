"""What all HTTP clients share: URLs, the environment, servers on this machine, and pauses between retries."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from acqo_rl.addresses import Address, whole_of
from acqo_rl.errors import ConfigError

TEMPORARY = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""HTTP statuses after which a retry may succeed."""
_LONGEST_RETRY_AFTER = 120.0  # seconds
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


@contextmanager
def checked_environment() -> Iterator[None]:
    """Reports a proxy or certificates in the environment that an HTTP client cannot use when it is created.

    Raises:
        ConfigError: the proxy's package is missing, its URL is malformed, or the certificates cannot be read.
    """
    try:
        yield
    except Exception as error:  # httpx raises ImportError, OSError, ValueError and an InvalidURL of its own
        given = [name for name in _ENVIRONMENT if os.environ.get(name) or os.environ.get(name.lower())]
        if not given:
            raise
        raise ConfigError(
            f"{' or '.join(given)} in the environment cannot be used ({error}); correct or unset it, or install what it"
            " needs."
        ) from error


def is_busy(error: BaseException) -> bool:
    """Whether a server answered with a status after which a retry may succeed."""
    import httpx

    return isinstance(error, httpx.HTTPStatusError) and error.response.status_code in TEMPORARY


def is_temporary(error: BaseException) -> bool:
    """Whether a retry of a call may succeed: the server is busy, or the connection was lost or timed out."""
    import httpx

    return is_busy(error) or isinstance(error, httpx.TransportError)


def retry_after(state: Any) -> float:
    """Seconds in the ``Retry-After`` header of the last response, at most two minutes; 0 if there is none.

    Args:
        state: of a retried call, from tenacity.
    """
    response = getattr(state.outcome.exception(), "response", None)
    asked = response.headers.get("Retry-After", "") if response is not None else ""
    return min(_LONGEST_RETRY_AFTER, float(asked)) if asked.replace(".", "", 1).isdecimal() and asked.isascii() else 0.0
