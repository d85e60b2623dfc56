"""What every client of a server does when it fails, stalls or sends something else than its protocol."""

import gzip
import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest
import tenacity
from json_server import JsonServer

from acqo_rl.errors import SearchError
from acqo_rl.language_models.server_model import ServerModel
from acqo_rl.retrieval.encoders import load_encoder
from acqo_rl.retrieval.http_calls import Server
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.retrieval.remote import RemoteRetriever
from acqo_rl.retrieval.rerankers import load_reranker
from acqo_rl.time_limit import TimeLimit, limited
from acqo_rl.types import Completion

HANG_UP, STALL = 0, 1


class Scripted(JsonServer):
    """Answers each call with the next status and body, again and again with the last one."""

    def answer(self, path, body):
        self.asked.append(path)
        status, content = self.faults.pop(0) if len(self.faults) > 1 else self.faults[0]
        return (None, self.waiting.wait(5)) if status == STALL else (status, content)


@pytest.fixture
def scripted():
    with Scripted() as server:
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
    scripted.faults = [*[passing] * 25, GOOD]

    assert (call(), len(scripted.asked)) == (7, 26)


def test_a_refusal_is_not_tried_again(call, scripted):
    scripted.faults = [(422, b"no such thing")]

    with pytest.raises(SearchError, match="422: no such thing") as caught:
        call()
    assert len(scripted.asked) == 1
    assert "127.0.0.1" not in caught.value.public


@pytest.mark.parametrize("of_request", [False, True])
def test_all_attempts_together_have_a_time_that_of_the_call_or_of_the_request(call, scripted, of_request):
    """A stall ends with it, and what passes quickly is still tried again."""
    scripted.faults = [(503, b""), (STALL, b"")]
    begin = time.monotonic()

    with pytest.raises(SearchError, match="TimeoutError"), limited(TimeLimit(0.3 if of_request else 60)):
        call(seconds=None if of_request else 0.3)
    assert time.monotonic() - begin < 4
    assert len(scripted.asked) == 2


def test_the_first_call_waits_for_a_busy_server_and_not_for_one_that_does_not_run(call, scripted):
    scripted.faults = [(503, b""), GOOD, (HANG_UP, b"")]

    assert call(is_first=True) == 7
    with pytest.raises(SearchError):
        call(is_first=True)
    assert len(scripted.asked) == 3


def test_the_server_says_how_long_to_wait(scripted):
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


def of_template(address):
    template = {"url": f"http://{address}", "search": {"body": "{text}"}, "answer": {"hits": "data", "id": "id"}}
    with TemporaryDirectory() as folder:
        (Path(folder) / "search.yaml").write_text(json.dumps(template), encoding="utf-8")
        return load_retriever(f"http+json:{folder}/search.yaml?timeout=1", remote_timeout=1.0)


OPENED = {
    "encoder": lambda address: load_encoder({"model": f"openai:m@http://{address}/v1"}, 1.0),
    "reranker": lambda address: load_reranker(f"rerank:m@http://{address}/v1", seconds=1.0).score([("a", "b")]),
    "retriever": lambda address: load_retriever(f"http://{address}", remote_timeout=1.0),
    "engine": lambda address: of_template(address).search(["a"], 1),
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("kind", OPENED)
def test_a_server_with_another_protocol_is_reported(scripted, kind, answer):
    scripted.faults = [(200, ANSWERS[answer])]

    with pytest.raises(SearchError):
        OPENED[kind](scripted.address)


class Endless(JsonServer):
    """Sends answers that do not end: header or body byte by byte, or bodies without end, perhaps compressed."""

    def respond(self, handler, _):
        handler.close_connection = True
        head, part, pause = self.sends
        with suppress(OSError):
            handler.wfile.write(head)
            for _ in range(self.parts):
                handler.wfile.write(part)
                self.waiting.wait(pause)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
ENDLESS = {
    "drips its head": (HEAD + b"X-Slow: ", b"a", 0.2),
    "drips its body": (HEAD + b"\r\n", b" ", 0.2),
    "sends without end": (HEAD + b"\r\n", b"[" * 2**16, 0),
    "sends zeros, compressed": (HEAD + b"Content-Encoding: gzip\r\n\r\n", gzip.compress(bytes(2**24)), 0),
}
CLIENTS = {
    "model": lambda at: ServerModel("m", base_url=f"http://{at}/v1", timeout=1.0, max_retries=0).generate(
        [[{"role": "user", "content": "a"}]]
    ),
    "encoder": OPENED["encoder"],
    "reranker": lambda at: load_reranker(f"rerank:m@http://{at}/v1", seconds=1.0).score([("a", "b"), ("c", "d")]),
    "index": lambda at: RemoteRetriever(f"http://{at}", seconds=1.0).search(["a"], 1),
    "engine": lambda at: of_template(at).search(["a"], 1),
}


@pytest.mark.parametrize("of_request", [False, True])
@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("sends", ENDLESS)
def test_an_answer_without_end_has_the_time_and_the_bytes_of_a_call(kind, sends, of_request):
    begin = time.monotonic()
    with Endless() as server:
        server.sends = ENDLESS[sends]
        server.parts = 100 if "drips" in sends else 10_000
        with limited(TimeLimit(0.3 if of_request and "drips" in sends else None)):
            try:
                [failure] = CLIENTS[kind](server.address)
            except SearchError as error:
                failure = Completion("", 0, problem=str(error))
    assert ("time limit" if "drips" in sends else "more than") in failure.problem
    assert time.monotonic() - begin < 15


@pytest.mark.parametrize("sends", ["drips its head", "drips its body"])
def test_a_call_without_a_time_limit_ends_too(monkeypatch, sends):
    monkeypatch.setattr("acqo_rl.retrieval.http_calls._LONGEST_ATTEMPT", 0.5)
    begin = time.monotonic()
    with Endless() as server:
        server.sends, server.parts = ENDLESS[sends], 100
        with pytest.raises(SearchError):
            load_retriever(f"http://{server.address}")
    assert time.monotonic() - begin < 15


def test_a_call_ends_at_once_when_nobody_waits_for_it_any_more():
    limit = TimeLimit()
    with Endless() as server, limited(limit), ThreadPoolExecutor() as pool:
        server.sends = ENDLESS["drips its body"]
        server.parts = 100
        reranker = load_reranker(f"rerank:m@http://{server.address}/v1")
        call = pool.submit(copy_context().run, reranker.score, [("a", "b"), ("c", "d")])
        time.sleep(0.3)
        begin = time.monotonic()
        limit.stop()
        with pytest.raises(SearchError):
            call.result()
        assert time.monotonic() - begin < 4
