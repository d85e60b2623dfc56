"""acqo serve as a process: a service and an index."""

import json
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from forked import run_command
from json_server import JsonServer
from server_process import started
from shared import bm25_folder

from acqo_rl.cli import command, module_of
from acqo_rl.errors import ConfigError
from acqo_rl.types import Document

KEY, QUERY = "a-very-secret-key", "the capital of Peru and of Chad"
DOCUMENTS = [
    Document(name, name, f"{city} is the capital of {name}.") for name, city in (("Peru", "Lima"), ("Chad", "Ndjamena"))
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve")
    bm25_folder(folder, DOCUMENTS)
    return folder


class SlowModel(JsonServer):
    """An OpenAI-compatible server that answers when ``waiting`` is set."""

    def answer(self, path, body):
        self.asked.append(body)
        assert self.waiting.wait(30)
        message = {"role": "assistant", "content": '["the capital of Peru", "the capital of Chad"]'}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return 200, {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


@pytest.fixture
def slow_model():
    with SlowModel() as server:
        yield server


@pytest.mark.slow
def test_requests_in_progress_are_finished_and_logged(folder, slow_model):
    """SIGTERM arrives while a model writes; log lines are JSON with the request id and without secrets."""
    slow_model.waiting.set()  # for the first search of the process
    arguments = ("--collections", f"world={folder},{folder}/index", "--strategies", "multi_query")
    more = ("--model", f"openai:m@{slow_model.url}", "--timeouts.reformulation", "20", "--timeouts.search", "30")
    with started("serve", *arguments, *more, ACQO_API_KEYS=f"{KEY},other", OPENAI_API_KEY="model-secret") as server:
        slow_model.waiting.clear()
        slow_model.asked.clear()
        headers = {"X-API-Key": KEY, "X-Request-ID": "request-7"}
        with httpx.Client(base_url=server.url, timeout=40) as client, ThreadPoolExecutor(1) as pool:
            assert client.post("/v1/search", json={"query": QUERY}).status_code == 401
            flying = pool.submit(client.post, "/v1/search", json={"query": QUERY}, headers=headers)
            while not slow_model.asked and not flying.done():
                time.sleep(0.05)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            with pytest.raises(httpx.TransportError):
                httpx.get(f"{server.url}/healthz", timeout=5)
            slow_model.waiting.set()
            answer = flying.result(30)
        assert server.process.wait(30) in (0, -signal.SIGTERM)
        server.end()
    assert answer.status_code == 200
    assert [v["text"] for v in answer.json()["query_rewrite_info"]["variants"]][1:] == [
        "the capital of Peru",
        "the capital of Chad",
    ]
    assert answer.headers["x-request-id"] == "request-7"
    rows = [json.loads(line) for line in server.lines]
    mine = {row["event"]: row for row in rows if row.get("request_id") == "request-7"}
    assert mine["request_completed"]["status"] == 200
    rewriting = mine["query_rewriting_completed"]
    assert (rewriting["strategy"], rewriting["num_variants"]) == ("multi_query", 3)
    assert rewriting["original_query_length"] == len(QUERY)
    assert rewriting["rewriting_duration_ms"] > 0
    for secret in (KEY, "model-secret", "capital"):
        assert not [line for line in server.lines if secret in line]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--collections", "world"), "NAME=DATA,INDEX"),
        (("--collections", "a=x,y", "--retriever", "z"), "either"),
        ((), "either"),
    ],
)
def test_errors_name_the_setting(arguments, message):
    done = run_command("serve", *arguments, status=2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cors_origins", "app.example.org"),
        ("cors_origins", "https://*.example.org"),
        ("root_path", "https://example.org/a"),
        ("allowed_hosts", "https://example.org"),
    ],
)
def test_a_value_outside_its_range_is_named(name, value):
    with pytest.raises(ConfigError, match=rf"{name}\S* is '?{re.escape(value)}"):
        command.parse(module_of("serve").main, ["--retriever", "x", f"--{name}", value])
