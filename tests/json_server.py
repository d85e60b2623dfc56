"""A stand-in for a server that answers requests with JSON, and fails as a test asks it to."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class JsonServer(ThreadingHTTPServer):
    """A server in a thread of its own, within ``with``; a subclass answers.

    Attributes:
        faults: one for each coming request; ``None`` for an answer.
        waiting: ends the requests that hang.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = f"127.0.0.1:{self.server_port}"
        self.url = f"http://{self.address}/v1"
        self.asked = []
        self.headers_of = []
        self.faults = []
        self.lock = threading.Lock()
        self.waiting = threading.Event()

    def __enter__(self):
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.waiting.set()
        self.shutdown()
        self.server_close()
        self._thread.join()

    def next_fault(self):
        """The fault of this request."""
        with self.lock:
            return self.faults.pop(0) if self.faults else None

    def answer(self, path, body):
        """The status and the body of an answer; without a status, the connection is closed."""
        raise NotImplementedError

    def respond(self, handler, body):
        """Answers a request."""
        handler.send(*self.answer(handler.path, body))

    def handle_error(self, request, client_address):
        """A client that has hung up is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Type") == "application/x-ndjson":
            body = [json.loads(line) for line in content.splitlines()]
        else:
            body = json.loads(content or b"null")
        self.server.headers_of.append(self.headers)
        self.server.respond(self, body)

    do_GET = do_POST

    def send(self, status, answer):
        """Sends JSON, or bytes as they are."""
        self.close_connection = not status
        if status:
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            if status != 200:
                self.send_header("Retry-After", "0.01")
            self.end_headers()
            self.wfile.write(content)
