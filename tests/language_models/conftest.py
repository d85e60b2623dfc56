"""A real HTTP server on loopback that speaks both chat protocols, well or badly as the last message asks it to."""

import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from shared import in_thread


class ChatServer(ThreadingHTTPServer):
    """Keeps what it was asked; its ``url`` is the base of both protocols."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.requests = []
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()
        self.heard = threading.Event()

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
            self.answer(body, body["messages"][-1]["content"], seen)
        finally:
            with server.lock:
                server.at_once -= 1

    def answer(self, body, wish, seen):
        what, _, rest = wish.partition(" ")
        if what == "slow":
            time.sleep(float(rest.split()[0]))
        if what == "refuse":  # SETTING: COMPLAINT
            name, complaint = rest.split(": ", 1)
            roles = {message["role"] for message in body["messages"]}
            if name in body.keys() | roles:
                return self.send(422, complaint)
        if what == "status" and (seen == 1 or "once" not in rest):  # NUMBER COMPLAINT
            status, _, complaint = rest.partition(" ")
            return self.send(int(status), json.dumps({"error": {"message": complaint}}))
        if wish == "repeat the key":
            key = self.headers.get("authorization") or self.headers.get("x-api-key")
            return self.send(401, f"no such key: {key}")
        if wish == "hang up":
            self.close_connection = True
            return self.connection.shutdown(socket.SHUT_RDWR)
        if what == "drip":
            return self.stream([b" "] * 100, pause=0.1)
        make = _anthropic if "messages" in self.path else _openai
        if body.get("stream"):
            return self.stream([f"data: {json.dumps(piece)}\n\n".encode() for piece in make(wish, stream=True)])
        return self.send(200, wish if what.startswith("{") else json.dumps(make(wish)))

    def stream(self, pieces, pause=0.0):
        """Writes the first piece, waits until it was heard, and writes the rest."""
        self.close_connection = True
        self.send_response(200)
        self.end_headers()
        for number, piece in enumerate(pieces):
            if number == 1 and not pause:
                assert self.server.heard.wait(10)
            self.wfile.write(piece)
            time.sleep(pause)

    def send(self, status, content):
        body = content.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _openai(wish, *, stream=False):
    usage, reason = {"completion_tokens": 7}, "length" if wish == "cut" else "stop"
    if not stream:
        message = {"role": "assistant", "content": f"reply to {wish}"}
        return {"choices": [{"message": message, "finish_reason": reason}], "usage": usage}
    deltas = [{"content": "reply"}, {}, None, {"content": f" to {wish}"}]
    pieces = [{"choices": [{"delta": delta, "finish_reason": None}]} for delta in deltas]
    pieces += [{"error": {"message": "out of memory"}}] if wish == "break" else []
    end = [] if wish == "break off" else [{"choices": [{"delta": {}, "finish_reason": reason}]}]
    return [*pieces, *end, {"choices": [], "usage": usage}]


def _anthropic(wish, *, stream=False):
    usage, reason = {"output_tokens": 7}, "max_tokens" if wish == "cut" else "end_turn"
    if not stream:
        return {"content": [{"type": "text", "text": f"reply to {wish}"}], "stop_reason": reason, "usage": usage}
    pieces = [
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": t}} for t in ("reply", f" to {wish}")
    ]
    start = {"type": "message_start", "message": {"content": [], "usage": {"output_tokens": 1}}}
    error = [{"type": "error", "error": {"message": "out of memory"}}] if wish == "break" else []
    end = [] if wish == "break off" else [{"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}]
    return [pieces[0], start, {"type": "ping"}, pieces[1], *error, *end]


@pytest.fixture
def server():
    """A running server."""
    server = ChatServer()
    with in_thread(server, server.heard):
        yield server
