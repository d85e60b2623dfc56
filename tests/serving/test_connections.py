"""Connections that send no request: they are closed, and the others are served."""

import json
import socket
import time
from contextlib import ExitStack

import httpx
import pytest
from server_process import started
from serving_stand_ins import post, serving
from shared import bm25_folder

from acqo_rl.serving import server
from acqo_rl.types import Document

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


@pytest.mark.slow
def test_300_half_open_connections_and_200_files(tmp_path):
    documents = [Document("oslo", "Oslo", "Oslo is the capital of Norway.")]
    arguments = ("--collections", f"world={bm25_folder(tmp_path, documents)}", "--strategies", "rules")
    with started("serve", *arguments, files=200) as process, ExitStack() as connections:
        url = httpx.URL(process.url)
        for _ in range(300):
            connections.enter_context(half_open(url))
        for _ in range(5):
            assert httpx.get(f"{process.url}/healthz", timeout=2).status_code == 200
        assert httpx.post(f"{process.url}/v1/search", json={"query": "Norway"}, timeout=5).status_code == 200
    assert len("".join(process.lines)) < 20_000
    assert all(json.loads(line) for line in process.lines)
