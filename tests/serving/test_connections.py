"""Connections that send no request: they are closed, and the others are served."""

import socket
import time

import pytest
from serving_stand_ins import post, serving

from acqo_rl.serving import server

HALF = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "


def half_open(url, begin=HALF):
    connection = socket.create_connection((url.host, url.port), timeout=10)
    connection.sendall(begin)
    return connection


@pytest.mark.parametrize("begin", [b"", HALF, HALF.replace(b"X-Slow: ", b"\r\n") + HALF])
def test_headers_have_a_time_limit(monkeypatch, begin):
    """Also those of the second request of a connection, and bytes that keep coming do not extend it."""
    monkeypatch.setattr(server, "_HEADER_SECONDS", 0.5)
    with serving() as client, half_open(client.base_url, begin) as connection:
        start = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() - start < 5:
                connection.sendall(b"a")
                time.sleep(0.02)
        assert post(client).status_code == 200


@pytest.mark.parametrize("path", ["/v1/search", "/healthz"])
def test_a_request_with_two_lengths_is_refused_and_what_follows_is_not_read(path):
    """A proxy may take another end of it for the beginning of somebody else's request."""
    inner = b"POST /v1/reformulate HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {5 + len(inner)}\r\n".encode()
    with serving() as client:
        with half_open(client.base_url, head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner) as connection:
            received = b"".join(iter(lambda: connection.recv(65_536), b""))
        assert received.startswith(b"HTTP/1.1 400 ")
        assert received.count(b"HTTP/1.1") == 1
