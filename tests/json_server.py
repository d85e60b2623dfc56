"""A stand-in for a server that answers POST requests with JSON, and fails as a test asks it to."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class JsonServer(ThreadingHTTPServer):
    """A subclass answers.

    Attributes:
        faults: one for each coming request; ``None`` for an answer.
        retry_after: seconds in the answers with an error.
        waiting: ends the requests that hang.
    """

    daemon_threads = True
    retry_after = 0.01

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.asked, self.headers_of, self.faults = [], [], []
        self.lock, self.waiting = threading.Lock(), threading.Event()

    def next_fault(self):
        """The fault of this request."""
        with self.lock:
            return self.faults.pop(0) if self.faults else None

    def answer(self, path, body):
        """The status and the body of an answer; without a status, the connection stays silent."""
        raise NotImplementedError

    def handle_error(self, request, client_address):
        """A client that has hung up is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.headers_of.append(self.headers)
        status, answer = self.server.answer(self.path, body)
        if status:
            text = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            if status != 200:
                self.send_header("Retry-After", str(self.server.retry_after))
            self.end_headers()
            self.wfile.write(text)
