"""Which servers run on this machine: what is sent to them does not go through a proxy."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(url: str) -> bool:
    """Whether the host of a URL is this machine: ``localhost``, ``127.0.0.1``, ``[::1]``, ``0.0.0.0`` and their like.

    Proxies of the environment (``HTTP_PROXY``, ``ALL_PROXY``, ...) are elsewhere and cannot reach it.
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
