"""A real HTTP server on loopback that speaks both chat protocols, well or badly as the last message asks it to."""

from __future__ import annotations

import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class ChatServer(ThreadingHTTPServer):
    """Keeps what it was asked; its ``url`` is the base of both protocols."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.requests = []
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()

    def handle_error(self, request, client_address):
        """A client that has hung up is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        server = self.server
        with server.lock:
            server.requests.append((self.path, body, {k.lower(): v for k, v in self.headers.items()}))
            server.at_once += 1
            server.most_at_once = max(server.most_at_once, server.at_once)
            seen = sum(b["messages"][-1] == body["messages"][-1] for _, b, _ in server.requests)
        try:
            self.answer(body, "anthropic" if "system" in body else "openai", seen)
        finally:
            with server.lock:
                server.at_once -= 1

    def answer(self, body, protocol, seen):
        wish = body["messages"][-1]["content"]
        if wish.startswith("slow"):
            time.sleep(float(wish.split()[1]))
        if wish == "busy once" and seen == 1:
            return self.send(
                429, {"error": {"type": "rate_limit_error", "message": "too many"}}, {"retry-after-ms": "5"}
            )
        if wish == "broken":
            return self.send(500, {"error": {"type": "api_error", "message": "out of memory"}}, {"retry-after-ms": "5"})
        if wish == "unknown model":
            return self.send(404, {"error": {"type": "not_found_error", "message": "no such model"}})
        if wish == "newer model" and (refused := {"max_tokens", "temperature"} & set(body)):
            name = max(refused)
            advice = (
                "Use 'max_completion_tokens' instead." if name == "max_tokens" else "Only the default is supported."
            )
            return self.send(400, {"error": {"message": f"Unsupported parameter: '{name}'. {advice}", "param": name}})
        if wish.startswith("refuse "):
            name, complaint = wish.removeprefix("refuse ").split(": ", 1)
            if name in body:
                return self.send(422, complaint if complaint[0] in "[{" else {"error": {"message": complaint}})
        if wish.startswith("no system role, ") and any(message["role"] == "system" for message in body["messages"]):
            status, complaint = wish.removeprefix("no system role, ").split(": ", 1)
            return self.send(int(status), {"object": "error", "message": complaint, "code": int(status)})
        if body.get("stream"):
            return self.send(200, _STREAMED, {"Content-Type": "text/event-stream"})
        if wish == "no formats" and {"response_format", "output_config"} & set(body):
            return self.send(400, {"error": {"message": "This model reads no grammar."}})
        if wish.startswith("complain "):
            return self.send(400, wish.removeprefix("complain "))
        if wish == "malformed":
            return self.send(200, "{this is no JSON")
        if wish == "something else":
            return self.send(200, {"detail": "another protocol"})
        if wish.startswith("drip"):
            return self.drip()
        if wish.startswith("{"):
            return self.send(200, wish)
        if wish == "repeat the key":
            key = self.headers.get("authorization") or self.headers.get("x-api-key")
            return self.send(401, {"error": {"type": "authentication_error", "message": f"no such key: {key}"}})
        if wish == "hang up":
            self.close_connection = True
            return self.connection.shutdown(socket.SHUT_RDWR)
        text = {"empty": None, "no text": ""}.get(wish, f"reply to {wish}")
        return self.send(200, {"openai": _openai, "anthropic": _anthropic}[protocol](text, wish == "cut"))

    def drip(self):
        """A byte now and then."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "100")
        self.end_headers()
        for _ in range(100):
            self.wfile.write(b" ")
            time.sleep(0.1)

    def send(self, status, content, headers=()):
        body = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **dict(headers),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


_STREAMED = (
    'data: {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m",'
    ' "choices": [{"index": 0, "delta": {"content": "reply"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
)


def _openai(text, cut):
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "length" if cut else "stop"}
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    choices = [] if text is None else [choice]
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": choices, "usage": usage}


def _anthropic(text, cut):
    return {
        "id": "1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [] if text is None else [{"type": "text", "text": text}],
        "stop_reason": "max_tokens" if cut else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 7},
    }


@pytest.fixture
def server():
    """A running server."""
    with ChatServer() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()
