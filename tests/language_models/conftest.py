"""A real HTTP server on loopback that speaks both chat protocols, well or badly as the last message asks it to."""

import time

import pytest
from json_server import JsonServer


class ChatServer(JsonServer):
    """Keeps what it was asked; its ``url`` is the base of both protocols."""

    def __init__(self):
        super().__init__()
        self.url = f"http://{self.address}"
        self.requests = []
        self.refusal = 422
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
                return handler.send(self.refusal, complaint.encode())
        if what == "status" and (seen == 1 or "once" not in rest):  # NUMBER COMPLAINT
            status, _, complaint = rest.partition(" ")
            return handler.send(int(status), {"error": {"message": complaint}})
        if wish == "repeat the key":
            key = handler.headers.get("authorization") or handler.headers.get("x-api-key")
            return handler.send(401, f"no such key: {key}".encode())
        if wish == "hang up":
            return handler.send(None, None)
        if what == "drip":
            return self.drip(handler)
        make = _anthropic if "messages" in handler.path else _openai
        return handler.send(200, wish.encode() if what.startswith("{") else make(wish))

    def drip(self, handler):
        """Writes a reply that never ends."""
        handler.close_connection = True
        handler.send_response(200)
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b" ")
            time.sleep(0.1)


def _openai(wish):
    message = {"role": "assistant", "content": f"reply to {wish}"}
    reason = "length" if wish == "cut" else "stop"
    return {"choices": [{"message": message, "finish_reason": reason}], "usage": {"completion_tokens": 7}}


def _anthropic(wish):
    reason = "max_tokens" if wish == "cut" else "end_turn"
    content = [{"type": "text", "text": f"reply to {wish}"}]
    return {"content": content, "stop_reason": reason, "usage": {"output_tokens": 7}}


@pytest.fixture
def server():
    """A running server."""
    with ChatServer() as server:
        yield server
