"""A language model that accepts calls and never answers, on a real server: it costs the answers that asked it, only."""

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from json_server import JsonServer
from serving_stand_ins import events, post, serving

from acqo_rl.language_models.local import TransformersModel
from acqo_rl.language_models.server_model import ServerModel
from acqo_rl.serving.batching import BatchedModel, Batcher
from acqo_rl.serving.limits import Limits

PLACES = 4
ASK = json.dumps({"query": "capital of Peru"}).encode()
JSON = {"Content-Type": "application/json"}
HEAD = b"POST /v1/answer HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(ASK)


class HangingModel(JsonServer):
    """Counts the calls that have not been given up."""

    def __init__(self):
        super().__init__()
        self.called = threading.Semaphore(0)
        self.open = 0

    def respond(self, handler, body):
        with self.lock:
            self.open += 1
        self.called.release()
        handler.connection.recv(1)  # returns when the client closes the connection
        handler.close_connection = True
        with self.lock:
            self.open -= 1


@pytest.fixture
def hanging():
    with HangingModel() as server:
        yield server


@pytest.fixture
def start(hanging):
    def start(**settings):
        model = ServerModel("m", base_url=hanging.url, timeout=60)
        return serving(answer_model=model, limits=Limits(concurrency=PLACES), **settings)

    return start


@contextmanager
def asking(client, hanging):
    """The connection of a request for an answer, after the model was asked."""
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=10) as connection:
        connection.sendall(HEAD + ASK)
        assert hanging.called.acquire(timeout=10)
        yield


def until(condition):
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_searches_have_other_places_than_answers(start, hanging):
    with start() as client, ExitStack() as clients:
        for _ in range(PLACES):
            clients.enter_context(asking(client, hanging))
        assert [post(client).status_code for _ in range(2 * PLACES)] == [200] * 2 * PLACES


def test_a_client_that_leaves_frees_its_place_and_ends_the_call(start, hanging):
    """All of them can ask the model, so none waits for the place of one that has left."""
    with start() as client:
        for _ in range(5 * PLACES):
            with asking(client, hanging):
                pass
        until(lambda: hanging.open == 0)
        until(lambda: "acqo_http_requests_in_flight 0.0" in client.get("/metrics").text)


def test_the_time_limit_ends_a_call_that_is_running(start, hanging):
    begin = time.monotonic()
    with start(answer_timeout=1.0) as client:
        *_, (name, result) = events(post(client, "/v1/answer").text)
        assert time.monotonic() - begin < 5
        assert (name, result["answer"]) == ("result", "")
        assert result["passages"]
        assert result["failures"]
        until(lambda: hanging.open == 0)


def test_a_stream_that_is_running_at_shutdown_ends_with_an_error_event(hanging):
    model = ServerModel("m", base_url=hanging.url, timeout=60)
    with ThreadPoolExecutor(1) as pool:
        with serving(answer_model=model, shutdown_seconds=1) as client:
            stream = pool.submit(httpx.post, f"{client.base_url}/v1/answer", content=ASK, headers=JSON, timeout=20)
            assert hanging.called.acquire(timeout=10)
        *_, (name, problem) = events(stream.result(20).text)
    assert (name, *problem) == ("error", "detail")
    until(lambda: hanging.open == 0)


def test_a_local_model_ends_within_a_step_and_is_asked_no_more_when_its_client_leaves(tiny_model):
    """The next client does not wait for it."""
    model = TransformersModel.from_pretrained(str(tiny_model), max_new_tokens=100_000)
    steps = []
    begun = threading.Event()
    forward = model.model.forward

    def step(*args, **settings):
        steps.append(time.monotonic())
        if len(steps) > 5:
            begun.set()
        return forward(*args, **settings)

    model.model.forward = step
    with serving(answer_model=BatchedModel(model, Batcher), limits=Limits(concurrency=1)) as client:
        address = (client.base_url.host, client.base_url.port)
        with socket.create_connection(address, timeout=10) as connection:
            connection.sendall(HEAD + ASK)
            assert begun.wait(20)
        left = time.monotonic()
        until(lambda: "acqo_http_requests_in_flight 0.0" in client.get("/metrics").text)
        until(lambda: time.monotonic() - steps[-1] > 0.5)
        assert steps[-1] - left < 1
