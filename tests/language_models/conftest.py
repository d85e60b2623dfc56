"""A real HTTP server on loopback that speaks both chat protocols, well or badly as the last message asks it to."""

import json
import time

import pytest
from json_server import JsonServer


class ChatServer(JsonServer):
    """Keeps what it was asked; its ``url`` is the base of both protocols."""

    def __init__(self):
        super().__init__()
        self.url = f"http://{self.address}"
        self.requests = []
        self.at_once = self.most_at_once = 0

    def respond(self, handler, body):
        wish = body["messages"][-1]["content"]
        with self.lock:
            self.requests.append((handler.path, body, {k.lower(): v for k, v in handler.headers.items()}))
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            seen = sum(b["messages"][-1] == body["messages"][-1] for _, b, _ in self.requests)
        try:
            self.answer(handler, body, wish, seen)
        finally:
            with self.lock:
                self.at_once -= 1

    def answer(self, handler, body, wish, seen):
        what, _, rest = wish.removeprefix("Question: ").partition(" ")
        if what == "slow":
            time.sleep(float(rest.split()[0]))
        if what == "refuse":  # SETTING: COMPLAINT
            name, complaint = rest.split(": ", 1)
            roles = {message["role"] for message in body["messages"]}
            if name in body.keys() | roles:
                return handler.send(422, complaint.encode())
        if what == "status" and (seen == 1 or "once" not in rest):  # NUMBER COMPLAINT
            status, _, complaint = rest.partition(" ")
            return handler.send(int(status), {"error": {"message": complaint}})
        if wish == "repeat the key":
            key = handler.headers.get("authorization") or handler.headers.get("x-api-key")
            return handler.send(401, f"no such key: {key}".encode())
        if wish == "hang up":
            return handler.send(None, None)
        if what == "drip":
            return self.stream(handler, [b" "] * 100, pause=0.1)
        make = _anthropic if "messages" in handler.path else _openai
        if body.get("stream"):
            pieces = [f"data: {json.dumps(piece)}\n\n".encode() for piece in make(wish, stream=True)]
            return self.stream(handler, pieces)
        return handler.send(200, wish.encode() if what.startswith("{") else make(wish))

    def stream(self, handler, pieces, pause=0.0):
        """Writes the first piece, waits until it was heard, and writes the rest."""
        handler.close_connection = True
        handler.send_response(200)
        handler.end_headers()
        for number, piece in enumerate(pieces):
            if number == 1 and not pause:
                assert self.waiting.wait(10)
            handler.wfile.write(piece)
            time.sleep(pause)


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
    with ChatServer() as server:
        yield server
