"""A completion that is watched while a server writes it, over real HTTP."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from shared import in_thread

from acqo_rl.language_models.openai import OpenAIModel
from acqo_rl.language_models.remote import close
from acqo_rl.roles import StreamingModel

SAY = [{"role": "user", "content": "hello"}]


class Handler(BaseHTTPRequestHandler):
    """Writes one chunk, waits until it was heard, and writes the rest."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.server.status)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        if self.server.odd is not None:
            self.wfile.write(self.server.odd)
        self._write({"choices": [{"index": 0, "delta": {"content": "Li"}, "finish_reason": None}]})
        for _ in range(50 * self.server.drips):
            self.wfile.write(b": still there\n\n")
            time.sleep(0.1)
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
    server.odd, server.drips = None, False
    server.handle_error = lambda *_: None  # a client that has hung up
    with in_thread(server, server.heard):
        yield server


@pytest.fixture
def model(server):
    model = OpenAIModel("m", base_url=f"http://127.0.0.1:{server.server_port}/v1", max_retries=0, timeout=10)
    yield model
    close(model._client)


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


@pytest.mark.parametrize("chunk", [{}, {"choices": None}, {"choices": []}, {"choices": [{"index": 0, "delta": None}]}])
def test_a_chunk_without_text_changes_nothing(model, server, chunk):
    server.odd = f"data: {json.dumps({'id': '1', 'object': 'chat.completion.chunk', **chunk})}\n\n".encode()
    server.heard.set()
    completion = model.stream(SAY, lambda _: None)
    assert (completion.text, completion.problem) == ("Lima.", None)


def test_json_that_is_too_deep_is_a_problem(model, server):
    server.odd = b"data: " + b'{"a":' * 100_000 + b"\n\n"
    server.heard.set()
    assert model.stream(SAY, lambda _: None).problem.startswith("RecursionError")


def test_a_stream_that_never_ends_is_a_problem_after_the_time_out(server):
    server.drips = True
    model = OpenAIModel("m", base_url=f"http://127.0.0.1:{server.server_port}/v1", max_retries=0, timeout=0.5)
    begin, pieces = time.monotonic(), []
    completion = model.stream(SAY, pieces.append)
    assert "TimeoutError" in completion.problem
    assert pieces == ["Li"]
    assert time.monotonic() - begin < 4
    close(model._client)
