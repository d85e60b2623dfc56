"""A server with OpenAI's embeddings protocol that embeds with a real encoder, and fails as a test asks it to."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np


class EmbeddingServer(ThreadingHTTPServer):
    """Keeps the texts of each request in ``asked``.

    Attributes:
        faults: one for each coming request: a status, ``hang``, ``malformed`` or the rows of an answer; ``None`` for an
            answer.
        retry_after: seconds in the answers of the faults.
        longest: most characters of a text, and most texts of a request; others are refused.
        dimensions: of the answers, if the request names none.
    """

    daemon_threads = True

    def __init__(self, encoder):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.encoder = encoder
        self.asked, self.headers_of, self.faults = [], [], []
        self.retry_after, self.longest, self.dimensions = 0.01, (10_000, 100), None
        self.lock, self.waiting = threading.Lock(), threading.Event()

    def handle_error(self, request, client_address):
        """A client that has hung up is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.asked.append(body["input"])
            server.headers_of.append(self.headers)
            fault = server.faults.pop(0) if server.faults else None
        if fault == "hang":
            server.waiting.wait(10)
        elif fault == "malformed":
            self.send({"object": "list", "data": [{"index": 0, "embedding": [0.5, "a"]}]})
        elif isinstance(fault, list):
            rows = [{"object": "embedding", "index": i, "embedding": [value] * 384} for i, value in fault]
            self.send({"object": "list", "model": body["model"], "data": rows})
        elif fault:
            self.send({"error": {"message": "not now"}}, fault)
        elif len(body["input"]) > server.longest[1] or max(map(len, body["input"])) > server.longest[0]:
            self.send({"error": {"message": "too long"}}, 413 if len(body["input"]) > server.longest[1] else 400)
        else:
            self.send({"object": "list", "model": body["model"], "data": self.rows(body)})

    def rows(self, body):
        server = self.server
        with server.lock:
            vectors = server.encoder.encode_queries(body["input"])
        vectors = vectors[:, : body.get("dimensions") or server.dimensions]
        as_sent = _base64 if body.get("encoding_format") == "base64" else np.ndarray.tolist
        rows = [{"object": "embedding", "index": i, "embedding": as_sent(v)} for i, v in enumerate(vectors)]
        return rows[::-1]  # the index tells the order

    def send(self, body, status=200):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        if status != 200:
            self.send_header("Retry-After", str(self.server.retry_after))
        self.end_headers()
        self.wfile.write(text)


def _base64(vector):
    return base64.b64encode(np.ascontiguousarray(vector).tobytes()).decode()
