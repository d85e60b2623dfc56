"""Long texts, empty turns and broken emojis are accepted and reported in notes."""

import threading

import pytest
from serving_stand_ins import Parts, Scripted, post, serving

from acqo_rl.searching.searcher import Timeouts
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.requests import MAX_CONTEXT
from acqo_rl.text import MAX_QUERY, MAX_TURN

HALF, EMOJI = "\ufffd", "\U0001f600"


def test_reading_has_the_time_limit_of_the_request(monkeypatch):
    """A reader that hangs is given up: there is one place, and the next request gets it."""
    over = threading.Event()

    def hang(history, query):
        if history:
            over.wait(20)
        return ()

    monkeypatch.setattr("acqo_rl.serving.requests.read_history", hang)
    with serving(limits=Limits(concurrency=1), timeouts=Timeouts(total=0.2)) as client:
        for path in ("/v1/search", "/v1/reformulate"):
            refused = post(client, path, history=["a", "b"])
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert post(client, path).status_code == 200
        over.set()


def test_long_and_old_texts_are_reported():
    class Recording(Parts):
        def reformulate(self, queries):
            self.query = queries[-1]
            return super().reformulate(queries)

    parts = Recording()
    turns = [f"{i} {'y ' * (MAX_TURN if i in (59, 60) else 1)}end{i}" for i in range(61)]
    with serving(strategies=Scripted(parts=parts)) as client:
        answer = post(
            client,
            query=f"capital {'x ' * MAX_QUERY} Peru",
            history=["", *turns, " \n", "\u200b", ""],
            user_context="word " * MAX_CONTEXT,
        )
    assert len(answer.json()["notes"]) == 4
    assert parts.query.text.startswith("capital x") and parts.query.text.endswith("x Peru")
    read = [turn.text for turn in parts.query.history]
    assert [(text.split()[0], text.split()[-1]) for text in read] == [(str(i), f"end{i}") for i in range(11, 61)]
    assert [text for text in read if "..." in text] == read[-2:]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (EMOJI.encode(), EMOJI),
        (b"\\ud83d", HALF),
        (b"\xed\xa0\xbd", HALF),
        (b"\xed\xa0\xbd\xed\xb8\x80", EMOJI),
    ],
)
def test_a_broken_emoji_is_replaced(client, written, read):
    body = b'{"query": "capital ' + written + b'", "history": ["a ' + written + b'"]}'
    reply = client.post("/v1/reformulate", content=body, headers={"Content-Type": "application/json"}).json()
    assert reply["query_rewrite_info"]["original_query"] == f"capital {read}"


@pytest.mark.parametrize(
    "body", [b'{"query": "q", "tenant": "a", "tenant": "b"}', b'{"query": "q", "filter": {"a": 1, "a": 2}}']
)
@pytest.mark.parametrize("path", ["/v1/search", "/v1/reformulate", "/v1/answer"])
def test_a_body_with_a_key_twice_is_refused(client, path, body):
    reply = client.post(path, content=body, headers={"Content-Type": "application/json"})
    assert (reply.status_code, "twice" in reply.json()["detail"]) == (400, True)


@pytest.mark.parametrize(
    "given",
    [
        given
        for bad in ("a\0b", "\0", "line\n", "\x1b[31m", "\x7f", "\x85")
        for given in (
            {"tenant": bad},
            {"filter": {"lang": bad}},
            {"filter": {"lang": [bad]}},
            {"knowledge_pool_ids": [bad]},
        )
    ],
)
def test_control_characters_in_what_engines_compare_are_refused(client, given):
    """Engines differ in those that they accept: PostgreSQL has no NUL."""
    assert post(client, **given).status_code == 422
