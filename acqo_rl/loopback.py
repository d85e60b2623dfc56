"""Detects servers on this machine, requests to which must not use a proxy, and proxies that cannot be used."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from acqo_rl.errors import ConfigError

_PROXIES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY")


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


@contextmanager
def checked_proxies() -> Iterator[None]:
    """Reports a proxy in the environment that the HTTP client cannot use.

    Raises:
        ConfigError: the proxy's package is missing, or its URL is malformed.
    """
    try:
        yield
    except (ImportError, ValueError) as error:
        names = [name for name in _PROXIES if os.environ.get(name) or os.environ.get(name.lower())]
        if not names:
            raise
        raise ConfigError(
            f"The proxy in {' or '.join(names)} cannot be used ({error}); install its package, or unset the variable."
        ) from error
