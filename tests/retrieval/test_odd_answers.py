"""Servers that answer with something else than their protocol: the failure is reported, whatever the answer."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from engine_cases import UnitEncoder
from shared import in_thread

from acqo_rl.errors import SearchError
from acqo_rl.retrieval.encoders import load_encoder
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.retrieval.rerankers import load_reranker

ANSWERS = {
    "nothing": b"",
    "an empty object": b"{}",
    "null": b"null",
    "fields of null": b'{"result": null, "hits": null, "data": null, "results": null, "rankings": null}',
    "fields of numbers": b'{"result": 1, "hits": 2, "data": 3, "results": 4, "rankings": 5}',
    "lists of numbers": b'{"result": [1], "responses": [2], "data": [3], "results": [4], "rankings": [5]}',
    "a page": b"<html>Welcome to nginx!</html>",
    "half an object": b'{"result": {"status": "gre',
}


@pytest.fixture
def server():
    """A server that answers every request with ``answer``."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(self.server.answer)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(self.server.answer)

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.answer = b""
    server.address = f"127.0.0.1:{server.server_port}"
    with in_thread(server, threading.Event()):
        yield server


@pytest.mark.parametrize("answer", ANSWERS)
def test_an_engine_that_is_none_is_reported_when_it_is_opened(server, answer):
    server.answer = ANSWERS[answer]

    with pytest.raises(SearchError):
        load_retriever(f"qdrant://{server.address}/pages", encoder=UnitEncoder())


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize(
    "open_server",
    [
        lambda address: load_encoder({"model": f"openai:m@http://{address}/v1"}, 1.0).encode_queries(["a"]),
        lambda address: load_reranker(f"rerank:m@http://{address}/v1", seconds=1.0).score([("a", "b")]),
        lambda address: load_retriever(f"http://{address}", remote_timeout=1.0),
    ],
    ids=["encoder", "reranker", "retriever"],
)
def test_other_servers_that_are_none_are_reported(server, open_server, answer, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    server.answer = ANSWERS[answer]

    with pytest.raises(SearchError):
        open_server(server.address)
