"""A completion that is watched while a server writes it, over real HTTP."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from shared import in_thread

from acqo_rl.language_models.openai import OpenAIModel
from acqo_rl.types import StreamingModel

SAY = [{"role": "user", "content": "hello"}]


class Handler(BaseHTTPRequestHandler):
    """Writes one chunk, waits until it was heard, and writes the rest."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.server.status)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self._write({"choices": [{"index": 0, "delta": {"content": "Li"}, "finish_reason": None}]})
        assert self.server.heard.wait(10)
        self._write({"choices": [{"index": 0, "delta": {"content": "ma."}, "finish_reason": "length"}]})
        self._write({"choices": [], "usage": {"completion_tokens": 2, "prompt_tokens": 1, "total_tokens": 3}})
        self.wfile.write(b"data: [DONE]\n\n")

    def _write(self, chunk):
        row = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", **chunk}
        self.wfile.write(f"data: {json.dumps(row)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.status, server.heard = 200, threading.Event()
    with in_thread(server, server.heard):
        yield server


@pytest.fixture
def model(server):
    model = OpenAIModel("m", base_url=f"http://127.0.0.1:{server.server_port}/v1", max_retries=0, timeout=10)
    yield model
    model._client.close()


def test_pieces_come_as_they_are_written(model, server):
    pieces = []

    def hear(text):
        pieces.append(text)
        server.heard.set()

    assert isinstance(model, StreamingModel)
    completion = model.stream(SAY, hear)
    assert pieces == ["Li", "ma."]
    assert (completion.text, completion.tokens, completion.finished) == ("Lima.", 2, False)


def test_a_failure_is_told(model, server):
    server.status = 500
    server.heard.set()
    completion = model.stream(SAY, lambda _: None)
    assert completion.text == ""
    assert completion.problem.startswith("InternalServerError")
