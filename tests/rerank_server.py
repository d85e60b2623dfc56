"""A rerank server on this machine, in the shape of Cohere or of TEI, that counts the words which two texts share."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def shared_words(query, passage):
    """The share of the query's words that the passage has, less a little for a long passage."""
    asked, read = (set(re.findall(r"\w+", text.lower())) for text in (query, passage))
    return len(asked & read) / max(len(asked), 1) - len(read) / 10_000


class RerankServer(ThreadingHTTPServer):
    """Keeps the bodies of the requests in ``asked``.

    Attributes:
        form: ``documents`` (Cohere, Jina, vLLM, llama.cpp) or ``texts`` (TEI).
        faults: one for each coming request: a status, ``hang``, ``malformed``, or the rows of an answer.
    """

    daemon_threads = True

    def __init__(self, form="documents"):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.name = f"rerank:words@http://127.0.0.1:{self.server_port}/v1"
        self.form, self.asked, self.keys, self.faults = form, [], [], []
        self.lock, self.waiting = threading.Lock(), threading.Event()

    def handle_error(self, request, client_address):
        """A client that has hung up is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body, server = json.loads(self.rfile.read(int(self.headers["Content-Length"]))), self.server
        with server.lock:
            fault = server.faults.pop(0) if server.faults else None
            server.keys.append(self.headers["Authorization"])
            if server.form in body and not fault:
                server.asked.append(body)
        if self.path != "/v1/rerank":
            self.send({"detail": "Not Found"}, 404)
        elif fault == "hang":
            server.waiting.wait(10)
        elif fault == "malformed":
            self.send({"results": [{"index": 7, "relevance_score": 0.5}]})
        elif isinstance(fault, list):
            self.send({"results": [{"index": index, "relevance_score": score} for index, score in fault]})
        elif fault:
            self.send({"message": "not now"}, fault)
        elif server.form not in body:
            self.send({"error": f"missing field `{server.form}`"}, 422)
        else:
            scores = [shared_words(body["query"], passage) for passage in body[server.form]]
            self.send(self.answer(scores))

    def answer(self, scores):
        best = sorted(range(len(scores)), key=lambda i: -scores[i])
        if self.server.form == "texts":
            return [{"index": i, "score": scores[i]} for i in best]
        return {"id": "1", "results": [{"index": i, "relevance_score": scores[i]} for i in best]}

    def send(self, body, status=200):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
