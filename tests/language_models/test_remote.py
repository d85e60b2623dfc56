"""Models behind a server, over real HTTP: good answers, slow ones, failing ones and malformed ones."""

from __future__ import annotations

import asyncio
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from stand_ins import strategy

from acqo_rl.api_keys import key_in
from acqo_rl.errors import ConfigError
from acqo_rl.language_models import remote
from acqo_rl.language_models.anthropic import AnthropicModel
from acqo_rl.language_models.load import load_language_model, on_server, without_url
from acqo_rl.language_models.openai import OpenAIModel
from acqo_rl.language_models.remote import close, failed
from acqo_rl.language_models.structured import fields, text
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.types import Query

SCHEMA = fields(search=text())


def say(text):
    return [
        {"role": "system", "content": "Write."},
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "second"},
        {"role": "user", "content": text},
    ]


@pytest.fixture(params=["openai", "anthropic"])
def connect(request, server, monkeypatch):
    """Makes a model of each protocol against the server."""
    monkeypatch.setenv("OPENAI_API_KEY", "key-12345")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-12345")
    made = []

    def connected(**settings):
        settings = {"max_retries": 0, "timeout": 30.0, **settings}
        if request.param == "openai":
            made.append(OpenAIModel("some-model", base_url=f"{server.url}/v1", **settings))
        else:
            made.append(AnthropicModel("some-model", base_url=server.url, **settings))
        return made[-1]

    connected.protocol = request.param
    yield connected
    for model in made:
        close(model._client)


def test_what_is_sent_and_what_comes_back(connect, server):
    [completion] = connect(max_new_tokens=9).generate([say("hello")])
    assert (completion.text, completion.tokens, completion.finished) == ("reply to hello", 7, True)
    [(path, body, headers)] = server.requests
    assert (body["model"], body["max_tokens"]) == ("some-model", 9)
    if connect.protocol == "openai":
        assert (path, headers["authorization"]) == ("/v1/chat/completions", "Bearer key-12345")
        assert (body["messages"], body["temperature"]) == (say("hello"), 0)
    else:
        assert (path, headers["authorization"]) == ("/v1/messages", "Bearer key-12345")
        assert (body["system"], body["messages"]) == ("Write.", say("hello")[1:])


class TestSchemas:
    @staticmethod
    def formats_in(requests):
        found = [body.get("response_format") or body.get("output_config", {}).get("format") for _, body, _ in requests]
        return [form and (form.get("json_schema") or form)["schema"] for form in found]

    def test_a_schema_is_sent_as_the_format_of_the_protocol(self, connect, server):
        assert connect().generate([say("a")], SCHEMA)[0].text == "reply to a"
        [schema] = self.formats_in(server.requests)
        assert schema["required"] == ["search"]
        assert "Length" not in str(schema["properties"]["search"].keys())

    def test_a_server_that_refuses_a_format_is_asked_without_and_not_again(self, connect, server):
        model = connect()
        for _ in range(2):
            assert model.generate([say("no formats")], SCHEMA)[0].text == "reply to no formats"
        assert [schema is None for schema in self.formats_in(server.requests)] == [False, True, True]

    def test_a_call_that_fails_with_and_without_format_says_nothing_about_formats(self, connect, server):
        model = connect()
        assert "too long" in model.generate([say('complain {"error": "the messages are too long"}')], SCHEMA)[0].problem
        model.generate([say("a")], SCHEMA)
        assert [schema is None for schema in self.formats_in(server.requests)] == [False, True, False]


def test_a_block_of_thoughts_is_no_part_of_a_reply(connect):
    reply = "<think>Quito?</think>\\nLima"
    texts = f'"choices": [{{"message": {{"content": "{reply}"}}}}], "content": [{{"type": "text", "text": "Lima"}}]'
    assert connect().generate([say(f"{{{texts}}}")])[0].text == "Lima"


def test_one_failure_is_one_items_problem_position_for_position(connect):
    wishes = ["a", "broken", "malformed", "empty", "no text", "something else", "unknown model", "hang up", "cut", "b"]
    completions = connect().generate([say(wish) for wish in wishes])
    assert [c.text for c in completions] == ["reply to a", *[""] * 7, "reply to cut", "reply to b"]
    assert [c.problem is None for c in completions] == [bool(c.text) for c in completions]
    assert [c.finished for c in completions] == [True, *[False] * 8, True]
    problems = dict(zip(wishes, (c.problem for c in completions), strict=True))
    assert problems["broken"].startswith("InternalServerError")
    assert "out of memory" in problems["broken"]
    assert problems["unknown model"].startswith("NotFoundError")
    assert problems["hang up"].startswith("APIConnectionError")
    assert problems["empty"].startswith("the server returned no text")
    assert all(len(problem) <= 300 for problem in problems.values() if problem)


@pytest.mark.parametrize("reason", ["max_tokens is too large: 9", "the queue is full"])
@pytest.mark.parametrize(
    "body",
    [
        '{"error": {"code": "bad", "message": "%s"}}',
        '{"error": "%s"}',
        '{"detail": "%s"}',
        '["%s"]',
        "%s, and this is no JSON",
    ],
)
def test_a_complaint_that_stays_is_the_reason_whatever_the_shape_of_its_body(connect, body, reason):
    [completion] = connect(max_new_tokens=9).generate([say(f"complain {body % reason}")])
    assert completion.problem.startswith(f"BadRequestError: status 400: {reason}")


ODD = [
    '{"choices": "text"}',
    '{"choices": {"a": 1}}',
    '{"choices": [{"message": "text"}]}',
    '{"choices": [{"message": {"content": 5}}]}',
    '{"choices": [{"message": {"content": [{"type": "thinking", "thinking": "a"}]}}]}',
    '{"content": "text"}',
    '{"content": [{"type": "text", "text": 5}]}',
    '{"a":' * 100_000,
]


@pytest.mark.parametrize("body", ODD)
def test_json_of_another_shape_is_a_problem(connect, body):
    [odd, good] = connect().generate([say(body), say("a")])
    assert not odd.text
    assert odd.problem
    assert good.text == "reply to a"


@pytest.mark.parametrize("count", ["null", '"7"', "-7", "true", "[7]"])
def test_tokens_that_a_server_does_not_count_are_none(connect, count):
    usage = f'{{"completion_tokens": {count}, "output_tokens": {count}}}'
    texts = '"choices": [{"message": {"content": "Lima"}}], "content": [{"type": "text", "text": "Lima"}]'
    answers = connect().generate([say(f'{{{texts}, "usage": {given}}}') for given in (usage, "null")])
    assert [(a.text, a.tokens, a.problem) for a in answers] == [("Lima", 0, None)] * 2


class TestWhatAServerTakes:
    @pytest.fixture
    def model(self, server):
        model = OpenAIModel("m", base_url=f"{server.url}/v1", max_new_tokens=9, seed=3, max_retries=0)
        yield model
        close(model._client)

    def test_a_newer_model_gets_the_limit_under_its_new_name_and_is_not_asked_wrongly_again(self, model, server):
        assert [model.generate([say("newer model")])[0].text for _ in range(2)] == ["reply to newer model"] * 2
        sent = [{k: v for k, v in body.items() if k not in ("model", "messages")} for _, body, _ in server.requests]
        assert sent[0] == {"max_tokens": 9, "temperature": 0, "seed": 3}
        assert sent[-2:] == [{"max_completion_tokens": 9, "seed": 3}] * 2

    @pytest.mark.parametrize(
        "complaint",
        ["Unsupported parameter: '{}' is not supported with this model.", "{}: Input should be greater than 0"],
    )
    @pytest.mark.parametrize("name", ["temperature", "seed", "max_tokens", "stream_options"])
    def test_whatever_a_server_refuses_is_left_out_and_the_reply_comes(self, model, server, complaint, name):
        wish = f"refuse {name}: {complaint.format(name)}"
        said = []
        for _ in range(2):
            assert model.generate([say(wish)])[0].text == f"reply to {wish}"
            assert model.stream(say(wish), said.append).text == "reply"
        assert said == ["reply"] * 2
        refused = [name in body for _, body, _ in server.requests]
        assert sum(refused) == 1
        assert (server.requests[-1][1].get("max_completion_tokens") == 9) == (name == "max_tokens")

    @pytest.mark.parametrize(
        "body",
        ['{"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}',
         '{"message": {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}}',
         '{"detail": "Unsupported parameter: seed"}', '{"error": "seed is not supported"}',
         '[{"error": {"message": "Unknown name \\"seed\\": cannot find field."}}]',
         '{"errors": [{"code": "unsupported", "param": "seed"}]}', "{seed is not supported, and this is no JSON"],
    )  # fmt: skip
    def test_a_complaint_is_read_whatever_the_shape_of_its_body(self, model, server, body):
        wish = f"refuse seed: {body}"
        assert model.generate([say(wish)])[0].text == f"reply to {wish}"
        assert ["seed" in sent for _, sent, _ in server.requests] == [True, False]

    @pytest.mark.parametrize(
        "complaint",
        ["System role not supported", "Only user and assistant roles are supported!",
         "Conversation roles must alternate user/assistant/user/assistant/...",
         "After the optional system message, conversation roles must alternate",
         "Developer instruction is not enabled for models/m", "This model doesn't support system messages."],
    )  # fmt: skip
    @pytest.mark.parametrize("status", [400, 500])
    def test_a_server_without_a_system_role_gets_its_text_in_the_users_turn(self, model, server, status, complaint):
        wish = f"no system role, {status}: {complaint}"
        for _ in range(2):
            assert model.generate([say(wish)])[0].text == f"reply to {wish}"
        sent = [body["messages"] for _, body, _ in server.requests]
        assert [messages[0]["role"] for messages in sent] == ["system", "user", "user"]
        assert sent[-1] == [{"role": "user", "content": "Write.\n\nfirst"}, *say(wish)[2:]]

    def test_a_complaint_about_roles_that_stays_ends_the_call(self, model, server):
        assert "no role" in model.generate([say('complain {"error": "the system message has no role"}')])[0].problem
        assert len(server.requests) == 2

    @pytest.mark.parametrize(
        ("choice", "reason"),
        [('{"finish_reason": "stop", "message": {"content": null, "refusal": "I must not."}}', "I must not."),
         ('{"finish_reason": "content_filter", "message": {"content": ""}}', "content_filter")],
    )  # fmt: skip
    def test_a_refusal_is_the_reason(self, model, choice, reason):
        problem = model.generate([say(f'{{"choices": [{choice}]}}')])[0].problem
        assert reason in problem
        assert "Choice(" not in problem

    def test_what_was_refused_is_known_at_every_temperature(self, model, server):
        other = model.at_temperature(0.3)
        model.generate([say("newer model")])
        for warm in (other, model.at_temperature(0.7)):
            assert warm.generate([say("newer model")])[0].text == "reply to newer model"
        sent = [set(body) - {"model", "messages"} for _, body, _ in server.requests]
        assert len(sent) == 5
        assert sent[-3:] == [{"max_completion_tokens", "seed"}] * 3

    def test_thoughts_without_an_answer_are_the_reason(self, model):
        body = '{"choices": [{"finish_reason": "stop", "message": {"content": "", "reasoning_content": "Hm"}}]}'
        assert model.generate([say(body)])[0].problem.startswith("the server returned no text")

    def test_an_answer_in_parts_is_read_without_its_thoughts(self, model):
        parts = '[{"type": "thinking", "thinking": []}, {"type": "text", "text": "Li"}, {"type": "text", "text": "ma"}]'
        assert model.generate([say(f'{{"choices": [{{"message": {{"content": {parts}}}}}]}}')])[0].text == "Lima"

    def test_an_answer_that_its_thoughts_left_no_room_for_says_which_limit_to_raise(self, model):
        body = '{"choices": [{"finish_reason": "length", "message": {"content": null, "reasoning_content": "Hm"}}]}'
        assert "max_new_tokens" in model.generate([say(body)])[0].problem


def test_a_key_that_the_server_repeats_is_not_told(connect, monkeypatch):
    [answer] = connect().generate([say("repeat the key")])
    assert "no such key" in answer.problem
    assert "key-12345" not in answer.problem


@pytest.mark.parametrize("written", ["key-12345\r\n", " key-12345 "])
def test_white_space_around_a_key_is_not_sent(connect, server, monkeypatch, written):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, written)
    assert connect().generate([say("a")])[0].text == "reply to a"
    assert server.requests[0][2]["authorization"] == "Bearer key-12345"


def test_a_password_in_an_address_is_refused():
    with pytest.raises(ConfigError, match="_API_KEY"):
        load_language_model("openai:m@http://user:secret@localhost/v1", max_new_tokens=5)


@pytest.mark.parametrize("address", ["notaurl", "localhost:8000/v1", "ftp://host/v1", "http://", "http://[1/v1"])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_what_is_no_address_is_refused(provider, address):
    with pytest.raises(ConfigError, match="no URL"):
        load_language_model(f"{provider}:m@{address}", max_new_tokens=5)


def test_a_slow_answer_is_a_problem_after_the_time_out(connect):
    begin = time.monotonic()
    slow, quick = connect(timeout=0.5).generate([say("slow 5"), say("a")])
    assert "TimeoutError" in slow.problem
    assert quick.text == "reply to a"
    assert time.monotonic() - begin < 4


def test_an_answer_that_never_ends_is_a_problem_after_the_time_out(connect, server):
    """The server is never silent for long; all attempts together have twice the time of one."""
    begin = time.monotonic()
    dripping, quick = connect(timeout=0.5, max_retries=1).generate([say("drip"), say("a")])
    assert "TimeoutError" in dripping.problem
    assert quick.text == "reply to a"
    assert 1 < time.monotonic() - begin < 8


def test_retries_end(connect, server):
    [completion] = connect(max_retries=1).generate([say("broken")])
    assert completion.problem
    assert len(server.requests) == 2


@pytest.mark.parametrize("concurrency", [1, 3])
def test_calls_at_the_same_time_are_bounded(connect, server, concurrency):
    completions = connect(concurrency=concurrency).generate([say(f"slow 0.1 {i}") for i in range(6)])
    assert [c.text for c in completions] == [f"reply to slow 0.1 {i}" for i in range(6)]
    assert server.most_at_once == concurrency


def test_a_server_that_is_not_there(connect, server):
    model = connect()
    server.shutdown()
    server.server_close()
    problem = model.generate([say("a")])[0].problem
    assert problem.startswith("APIConnectionError")
    assert server.url in problem


def test_strategies_of_a_query_are_asked_at_the_same_time(connect, server):
    query = Query("q", "slow 0.3")
    reformulator = Prompted(connect(), [strategy("multi_query"), strategy("hyde")])
    reformulator.reformulate([query])
    assert len(server.requests) == 2
    assert {body["messages"][-1]["content"] for _, body, _ in server.requests} == {"Question: slow 0.3"}


class TestNames:
    def test_a_server_of_ones_own_needs_no_key(self, server, monkeypatch):
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        model = load_language_model(f"openai:org/name@{server.url}/v1", max_new_tokens=9, temperature=0.7, seed=3)
        assert model.generate([say("a")])[0].text == "reply to a"
        body = server.requests[0][1]
        assert (body["model"], body["temperature"], body["seed"]) == ("org/name", 0.7, 3)
        for asked in (model.at_temperature(0.3), model):
            asked.generate([say("a")])
        assert [(body["temperature"], body["seed"]) for _, body, _ in server.requests[1:]] == [(0.3, 3), (0.7, 3)]
        close(model._client)

    @pytest.mark.parametrize(("name", "key"), [("openai:gpt", "OPENAI_API_KEY"), ("anthropic:x", "ANTHROPIC_API_KEY")])
    def test_a_missing_key_is_named(self, name, key, monkeypatch):
        monkeypatch.delenv(key, raising=False)
        with pytest.raises(ConfigError, match=f"{key} is not set"):
            load_language_model(name, max_new_tokens=9)

    @pytest.mark.parametrize("package", ["openai", "anthropic"])
    def test_a_missing_package_is_named(self, package, monkeypatch):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ConfigError, match=rf"acqo-rl\[{package}\]"):
            load_language_model(f"{package}:name", max_new_tokens=9)

    @pytest.mark.parametrize("model", ["@cf/meta/llama", "claude@20250929", "a@b@c", "qwen3:4b"])
    def test_a_name_may_contain_the_sign_before_the_url(self, model):
        assert on_server(f"openai:{model}@https://host/v1") == (model, "https://host/v1")
        assert without_url(f"openai:{model}@https://host/v1") == without_url(f"openai:{model}") == f"openai:{model}"

    @pytest.mark.parametrize("name", ["openai:", "openai:@http://localhost", "openai:@localhost", "anthropic:"])
    def test_no_name(self, name):
        with pytest.raises(ConfigError, match="NAME@URL"):
            load_language_model(name, max_new_tokens=9)


def test_a_server_on_this_machine_is_not_asked_through_a_proxy(dead_proxy, connect, server):
    assert [c.text for c in connect().generate([say("hello")])] == ["reply to hello"]


@pytest.mark.parametrize("make", [OpenAIModel, AnthropicModel])
def test_other_servers_are_asked_through_the_proxy_of_the_environment(server, monkeypatch, make):
    """The server plays the proxy: it is asked with the whole address."""
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, server.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-12345")
    model = make("some-model", base_url="http://models.example", max_retries=0)
    assert [c.text for c in model.generate([say("hello")])] == ["reply to hello"]
    assert server.requests[0][0].startswith("http://models.example/")
    close(model._client)


def test_a_placeholder_of_a_key_is_not_masked_in_reasons(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret-1")
    assert (key_in("OPENAI_API_KEY"), key_in("ANTHROPIC_API_KEY")) == ("x", "sk-secret-1")
    assert failed("exceeded the context: sk-secret-1").problem == "exceeded the context: ***"


def test_concurrent_first_calls_of_a_process_share_one_event_loop(monkeypatch):
    """A connection that one call opened may be used by the next call, which needs the same loop."""
    new_loop = asyncio.new_event_loop

    def slow():
        time.sleep(0.1)
        return new_loop()

    async def running():
        return asyncio.get_running_loop()

    monkeypatch.setattr(asyncio, "new_event_loop", slow)
    remote._started_loop.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: remote.wait_for(running()), range(8)))) == 1
