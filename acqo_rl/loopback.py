"""Detects servers on this machine; requests to them must not use a proxy."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


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
