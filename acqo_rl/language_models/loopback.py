"""Detects servers on this machine, requests to which must not use a proxy, and names proxies that fail."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from acqo_rl.addresses import Address, whole_of
from acqo_rl.errors import AcqoError, ConfigError

_PROXIES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_OF_PROXIES = frozenset({403, 407, 502, 503, 504})
"""HTTP statuses that a proxy may answer with in place of the server."""


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
    except AcqoError:
        raise
    except Exception as error:  # httpx raises ImportError, OSError, ValueError and an InvalidURL of its own
        variables = _CERTIFICATES if isinstance(error, OSError) else _PROXIES
        given = {name: os.environ.get(name) or os.environ.get(name.lower()) for name in variables}
        if not any(given.values()):
            raise
        names = " or ".join(f"{name}={Address(value)}" for name, value in given.items() if value)
        raise ConfigError(
            f"{names} in the environment cannot be used ({error}); correct or unset the variable, or install what it"
            " needs."
        ) from error


def proxy_note(error: BaseException | None) -> str:
    """A sentence on the proxy of a failed HTTP call; empty if there was none, or if the server itself answered.

    Args:
        error: exception of a client, or of a library that uses one.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # pymilvus raises exceptions that are their own cause
        seen.add(id(error))
        with suppress(RuntimeError):  # httpx: the request is unknown
            if (request := getattr(error, "request", None)) is not None:
                status = getattr(getattr(error, "response", None), "status_code", None)
                return _note(str(request.url)) if status is None or status in _OF_PROXIES else ""
        error = getattr(error, "source", None) or error.__cause__ or error.__context__
    return ""


def _note(url: str) -> str:
    parts, proxies = urlsplit(url), getproxies()
    name = parts.scheme if parts.scheme in proxies else "all"
    if name not in proxies or is_loopback(url) or proxy_bypass(parts.hostname or ""):
        return ""
    proxy = urlsplit(proxies[name] if "://" in proxies[name] else f"//{proxies[name]}").netloc.rpartition("@")[2]
    return (
        f" The call went through the proxy {proxy} of {name.upper()}_PROXY; check that proxy, or add"
        f" {parts.hostname} to NO_PROXY."
    )
