"""Servers that answer with something else than their protocol: the failure is reported, whatever the answer."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from elastic_stand_in import make_server
from engine_cases import CORPUS, UnitEncoder
from shared import in_thread

from acqo_rl.errors import SearchError
from acqo_rl.retrieval.encoders import load_encoder
from acqo_rl.retrieval.engines.build import build_engine_index
from acqo_rl.retrieval.engines.opening import documents_of
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.retrieval.rerankers import load_reranker

ANSWERS = {
    "nothing": b"",
    "an empty object": b"{}",
    "an empty list": b"[]",
    "null": b"null",
    "a number": b"5",
    "a text": b'"ok"',
    "a list of null": b"[null]",
    "fields of null": b'{"result": null, "hits": null, "data": null, "results": null, "rankings": null}',
    "fields of numbers": b'{"result": 1, "hits": 2, "data": 3, "results": 4, "rankings": 5}',
    "lists of numbers": b'{"result": [1], "responses": [2], "data": [3], "results": [4], "rankings": [5]}',
    "a page": b"<html>Welcome to nginx!</html>",
    "half an object": b'{"result": {"status": "gre',
    "bytes": b"\xff\xfe\x00\x01",
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
            self.send_header("X-Elastic-Product", "Elasticsearch")
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
@pytest.mark.parametrize("engine", ["qdrant", "elasticsearch", "opensearch"])
def test_an_engine_that_is_none_is_reported_when_it_is_opened(server, engine, answer):
    server.answer = ANSWERS[answer]

    with pytest.raises(SearchError):
        load_retriever(f"{engine}://{server.address}/pages", encoder=UnitEncoder())


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


@pytest.mark.parametrize(
    "answer", [b"{}", b"[]", b"null", b'{"responses": [{}]}', b'{"responses": []}', b'{"docs": [1]}']
)
@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
def test_an_engine_that_answers_otherwise_later_is_reported(engine, answer):
    with in_thread(make_server(), threading.Event()) as server:
        index = f"{engine}://127.0.0.1:{server.server_address[1]}/pages"
        build_engine_index(index, CORPUS, UnitEncoder())
        retriever, documents = load_retriever(index, encoder=UnitEncoder()), documents_of(index)
        server.odd_answer = answer

        for call in (
            lambda: retriever.search(["stone"], 3),
            lambda: documents["d1"],
            lambda: len(documents),
            lambda: list(documents),
        ):
            with pytest.raises(SearchError):
                call()


@pytest.mark.parametrize("part", [{"timed_out": True}, {"_shards": {"total": 2, "failed": 1}}])
def test_a_search_of_a_part_of_the_documents_is_reported(part):
    with in_thread(make_server(), threading.Event()) as server:
        index = f"elasticsearch://127.0.0.1:{server.server_address[1]}/pages"
        build_engine_index(index, CORPUS, UnitEncoder())
        retriever = load_retriever(index, encoder=UnitEncoder())
        server.odd_answer = json.dumps({"responses": [{"hits": {"hits": []}, **part}]}).encode()

        with pytest.raises(SearchError):
            retriever.search(["stone"], 3)
