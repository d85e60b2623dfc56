"""Models behind a server, over real HTTP: good answers, slow ones, failing ones and malformed ones."""

import pytest
from stand_ins import strategy

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.load import load_language_model, on_server, without_url
from acqo_rl.language_models.server_model import ANTHROPIC, OPENAI, ServerModel
from acqo_rl.language_models.structured import fields, several, text
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.time_limit import TimeLimit, limited
from acqo_rl.types import Query

SCHEMA = fields(searches=several(text(), 3)).model_json_schema()
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


def say(text):
    return [
        {"role": "system", "content": "Write."},
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "second"},
        {"role": "user", "content": text},
    ]


@pytest.fixture(params=[OPENAI, ANTHROPIC], ids=lambda protocol: protocol.provider)
def connect(request, server, monkeypatch):
    """Makes a model of each protocol against the server."""
    for name in KEYS:
        monkeypatch.setenv(name, "key-12345")
    made = []

    def connected(protocol=request.param, **settings):
        settings = {"base_url": server.url, "max_retries": 0, "timeout": 30.0, **settings}
        made.append(ServerModel("some-model", protocol, **settings))
        return made[-1]

    connected.protocol = request.param
    yield connected
    for model in made:
        model.close()


def test_what_is_sent_and_what_comes_back(connect, server):
    [completion] = connect(max_new_tokens=9, temperature=0.5, seed=3).generate([say("hello")])
    assert (completion.text, completion.tokens, completion.finished) == ("reply to hello", 7, True)
    [(path, body, headers)] = server.requests
    rest = {"model": "some-model", "max_tokens": 9, "temperature": 0.5}
    if connect.protocol is OPENAI:
        assert (path, headers["authorization"]) == ("/chat/completions", "Bearer key-12345")
        assert body == {**rest, "seed": 3, "messages": say("hello")}
    else:
        assert (path, headers["x-api-key"]) == ("/v1/messages", "key-12345")
        assert headers["anthropic-version"]
        assert body == {**rest, "system": "Write.", "messages": say("hello")[1:]}


class TestSchemas:
    @staticmethod
    def formats_in(requests):
        found = [body.get("response_format") or body.get("output_config", {}).get("format") for _, body, _ in requests]
        return [form and (form.get("json_schema") or form)["schema"] for form in found]

    def test_a_schema_is_sent_as_the_format_of_the_protocol(self, connect, server):
        assert connect().generate([say("a")], SCHEMA)[0].text == "reply to a"
        [schema] = self.formats_in(server.requests)
        assert schema["required"] == ["searches"]
        assert "Length" not in str(schema)
        assert ("maxItems" in str(schema)) == (connect.protocol is OPENAI)

    @pytest.mark.parametrize("status", [400, 404, 405, 415, 422, 501])
    def test_a_server_that_refuses_a_format_is_asked_without_and_not_again(self, connect, server, status):
        model = connect()
        server.refusal = status
        for name in ("response_format", "output_config"):
            wish = f"refuse {name}: This model reads no grammar."
            assert [model.generate([say(wish)], SCHEMA)[0].text for _ in range(2)] == [f"reply to {wish}"] * 2
        formats = self.formats_in(server.requests)
        assert sum(schema is not None for schema in formats) == (1 if connect.protocol is OPENAI else 3)

    def test_a_call_that_fails_with_and_without_format_says_nothing_about_formats(self, connect, server):
        model = connect()
        assert "too long" in model.generate([say("status 400 the messages are too long")], SCHEMA)[0].problem
        model.generate([say("a")], SCHEMA)
        assert [schema is None for schema in self.formats_in(server.requests)] == [False, True, False]


def test_one_failure_is_one_items_problem_position_for_position(connect):
    wishes = ["a", "status 500 out of memory", "{malformed", '{"detail": "another"}', "hang up", "cut", "b"]
    completions = connect().generate([say(wish) for wish in wishes])
    assert [c.text for c in completions] == ["reply to a", *[""] * 4, "reply to cut", "reply to b"]
    assert [c.problem is None for c in completions] == [
        c.finished or wish == "cut" for c, wish in zip(completions, wishes, strict=True)
    ]
    problems = dict(zip(wishes, (c.problem for c in completions), strict=True))
    assert "out of memory" in problems[wishes[1]]
    assert problems['{"detail": "another"}'].startswith("the server returned no text")
    assert all(len(problem) <= 300 for problem in problems.values() if problem)


@pytest.mark.parametrize(
    "body",
    ['{"choices": "text"}', '{"choices": {"a": 1}}', '{"choices": [{"message": "text"}]}', '{"error": "busy"}',
     '{"choices": [{"message": {"content": 5}}]}', '{"content": "text"}', '{"content": [{"type": "text", "text": 5}]}',
     '{"choices": [{"message": {"content": [{"type": "thinking", "thinking": "a"}]}}]}', '{"a":' * 100_000],
)  # fmt: skip
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


@pytest.mark.parametrize(
    ("choice", "said", "problem"),
    [
        ('"message": {"content": "<think>Quito?</think>\\nLima"}', "Lima", None),
        ('"message": {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "Li"}]}', "Li", None),
        ('"message": {"content": null, "refusal": "I must not."}', "", "I must not."),
        ('"finish_reason": "content_filter", "message": {"content": ""}', "", "content_filter"),
        ('"finish_reason": "length", "message": {"content": null, "reasoning": "Hm"}', "", "max_new_tokens"),
    ],
)
def test_only_the_answer_of_a_reply_is_its_text(server, choice, said, problem):
    model = ServerModel("m", base_url=server.url, max_retries=0)
    [completion] = model.generate([say(f'{{"choices": [{{{choice}}}]}}')])
    assert completion.text == said
    assert (problem or "") in (completion.problem or "")
    model.close()


class TestWhatAServerTakes:
    """What it refuses is left out, at every temperature, and is not sent again."""

    @pytest.mark.parametrize(
        ("protocol", "name"),
        [(ANTHROPIC, "temperature"), *((OPENAI, name) for name in OPENAI.optional)],
    )
    def test_a_setting_that_the_complaint_names_is_left_out(self, connect, server, protocol, name):
        model = connect(protocol, seed=3, max_new_tokens=9)
        wish = f'refuse {name}: [{{"loc": ["body", "{name}"], "msg": "Extra inputs are not permitted"}}]'
        for one in (model, model.with_sampling(0.3, 9)):
            assert one.generate([say(wish)])[0].text == f"reply to {wish}"
        bodies = [body for _, body, _ in server.requests]
        assert sum(name in body for body in bodies) == 1
        assert (bodies[-1].get("max_completion_tokens") == 9) == (name == "max_tokens")

    @pytest.mark.parametrize("complaint", ["System role not supported", "Conversation roles must alternate"])
    def test_a_server_without_a_system_role_gets_its_text_in_the_users_turn(self, connect, server, complaint):
        wish = f"refuse system: {complaint}"
        model = connect(OPENAI)
        assert [model.generate([say(wish)])[0].text for _ in range(2)] == [f"reply to {wish}"] * 2
        sent = [body["messages"] for _, body, _ in server.requests]
        assert [messages[0]["role"] for messages in sent] == ["system", "user", "user"]
        assert sent[-1] == [{"role": "user", "content": "Write.\n\nfirst"}, *say(wish)[2:]]

    def test_a_complaint_that_stays_ends_the_call(self, connect, server):
        assert "no role" in connect().generate([say("status 400 the system message has no role")])[0].problem
        assert len(server.requests) <= 2


def test_a_key_that_the_server_repeats_is_not_told(connect):
    [answer] = connect().generate([say("repeat the key")])
    assert "no such key" in answer.problem
    assert "key-12345" not in answer.problem


def test_a_key_that_cannot_be_sent_is_refused_by_its_name(connect, monkeypatch):
    for key in ("schl\u00fcssel", "one\ntwo"):
        for name in KEYS:
            monkeypatch.setenv(name, key)
        with pytest.raises(ConfigError, match="_API_KEY"):
            connect()


def test_a_missing_key_of_a_provider_is_named(monkeypatch):
    for provider in ("openai", "anthropic"):
        monkeypatch.delenv(f"{provider.upper()}_API_KEY", raising=False)
        with pytest.raises(ConfigError, match=f"{provider.upper()}_API_KEY is not set"):
            load_language_model(f"{provider}:m", max_new_tokens=9)


def test_what_may_pass_is_tried_again_and_retries_end(connect, server):
    model = connect(max_retries=1)
    assert model.generate([say("status 429 once")])[0].text == "reply to status 429 once"
    assert model.generate([say("status 503 busy")])[0].problem
    assert len(server.requests) == 4


def test_calls_that_ended_before_the_request_are_kept(connect):
    with limited(TimeLimit(1.0)):
        slow, quick = connect().generate([say("slow 5"), say("a")])
    assert "Timeout" in slow.problem
    assert quick.text == "reply to a"


@pytest.mark.parametrize("concurrency", [1, 3])
def test_calls_at_the_same_time_are_bounded(connect, server, concurrency):
    completions = connect(concurrency=concurrency).generate([say(f"slow 0.1 {i}") for i in range(6)])
    assert [c.text for c in completions] == [f"reply to slow 0.1 {i}" for i in range(6)]
    assert server.most_at_once == concurrency


def test_strategies_of_a_query_are_asked_at_the_same_time(connect, server):
    Prompted(connect(), [strategy("multi_query"), strategy("hyde")]).reformulate([Query("q", "slow 0.3")])
    assert len(server.requests) == server.most_at_once == 2
    assert {body["messages"][-1]["content"] for _, body, _ in server.requests} == {"Question: slow 0.3"}


@pytest.mark.parametrize("model", ["@cf/meta/llama", "claude@20250929", "a@b@c", "qwen3:4b"])
def test_a_name_may_contain_the_sign_before_the_url(model):
    assert on_server(f"openai:{model}@https://host/v1") == (model, "https://host/v1")
    assert without_url(f"openai:{model}@https://host/v1") == without_url(f"openai:{model}") == f"openai:{model}"


@pytest.mark.parametrize("name", ["openai:", "openai:@http://localhost", "openai:@localhost", "anthropic:"])
def test_a_server_without_a_model_is_refused(name):
    with pytest.raises(ConfigError, match="NAME@URL"):
        load_language_model(name, max_new_tokens=9)
