"""What every client of a server does when it fails, stalls or sends something else than its protocol."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import tenacity
from engine_cases import UnitEncoder
from shared import in_thread

from acqo_rl.errors import SearchError
from acqo_rl.retrieval.encoders import load_encoder
from acqo_rl.retrieval.http_calls import Server
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.retrieval.rerankers import load_reranker
from acqo_rl.time_limit import TimeLimit, limited

HANG_UP, STALL = 0, 1


@pytest.fixture
def scripted():
    """A server that answers each call with the next status and body, again and again with the last one."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.server.calls += 1
            script = self.server.script
            status, body = script.pop(0) if len(script) > 1 else script[0]
            self.close_connection = status in (HANG_UP, STALL)
            if status == STALL:
                self.server.stalled.wait(5)
            if self.close_connection:
                return
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.calls, server.script, server.stalled = 0, [], threading.Event()
    server.address = f"127.0.0.1:{server.server_port}"
    with in_thread(server, server.stalled):
        yield server


@pytest.fixture
def call(scripted):
    """Calls the server without pauses."""

    def called(seconds=None, **settings):
        server = Server(f"http://{scripted.address}", "A server", None, seconds)
        server._retrying.wait = tenacity.wait_none()
        return server.call("POST", "/a", lambda body: body["value"], **settings)

    return called


GOOD = (200, b'{"value": 7}')


@pytest.mark.parametrize("passing", [(503, b""), (429, b""), (500, b""), (HANG_UP, b"")])
def test_what_may_pass_is_tried_again(call, scripted, passing):
    """Long enough for a training run that outlives a restart of its server."""
    scripted.script = [*[passing] * 25, GOOD]

    assert (call(), scripted.calls) == (7, 26)


def test_a_refusal_is_not_tried_again(call, scripted):
    scripted.script = [(422, b"no such thing")]

    with pytest.raises(SearchError, match="422: no such thing") as caught:
        call()
    assert scripted.calls == 1
    assert "127.0.0.1" not in caught.value.public


@pytest.mark.parametrize("of_request", [False, True])
def test_all_attempts_together_have_a_time_that_of_the_call_or_of_the_request(call, scripted, of_request):
    """A stall ends with it, and what passes quickly is still tried again."""
    scripted.script = [(503, b""), (STALL, b"")]
    begin = time.monotonic()

    with pytest.raises(SearchError, match="ReadTimeout"), limited(TimeLimit(0.3 if of_request else 60)):
        call(seconds=None if of_request else 0.3)
    assert time.monotonic() - begin < 4
    assert scripted.calls == 2


def test_the_first_call_waits_for_a_busy_server_and_not_for_one_that_does_not_run(call, scripted):
    scripted.script = [(503, b""), GOOD, (HANG_UP, b"")]

    assert call(is_first=True) == 7
    with pytest.raises(SearchError):
        call(is_first=True)
    assert scripted.calls == 3


def test_the_server_says_how_long_to_wait(scripted):
    import httpx

    for asked, waited in (("7", 7), ("600", 120)):
        response = httpx.Response(429, headers={"Retry-After": asked}, request=httpx.Request("POST", "http://a"))
        failed = tenacity.Future.construct(1, httpx.HTTPStatusError("", request=response.request, response=response), 1)
        state = tenacity.RetryCallState(None, None, (), {})
        state.outcome = failed
        assert Server("http://a", "A server", None)._retrying.wait(state) == waited


ANSWERS = {
    "null": b"null",
    "fields of null": b'{"result": null, "hits": null, "data": null, "results": null, "rankings": null}',
    "lists of numbers": b'{"result": [1], "responses": [2], "data": [3], "results": [4], "rankings": [5]}',
    "a page": b"<html>Welcome to nginx!</html>",
}
OPENED = {
    "encoder": lambda address: load_encoder({"model": f"openai:m@http://{address}/v1"}, 1.0),
    "reranker": lambda address: load_reranker(f"rerank:m@http://{address}/v1", seconds=1.0).score([("a", "b")]),
    "retriever": lambda address: load_retriever(f"http://{address}", remote_timeout=1.0),
    "engine": lambda address: load_retriever(f"qdrant://{address}/pages", encoder=UnitEncoder()),
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("kind", OPENED)
def test_a_server_with_another_protocol_is_reported(scripted, kind, answer):
    scripted.script = [(200, ANSWERS[answer])]

    with pytest.raises(SearchError):
        OPENED[kind](scripted.address)
