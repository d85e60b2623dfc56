"""Long texts, empty turns and broken emojis are accepted and reported in notes."""

from __future__ import annotations

import json
import threading

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline_stand_ins import ModelByRole
from serving_stand_ins import Parts, Scripted, Words, events, running

from acqo_rl.retrieval.remote import IndexInfo
from acqo_rl.searching.searcher import Timeouts
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.reading import MAX_CONTEXT, as_query, shortened
from acqo_rl.serving.retriever_app import make_retriever_app
from acqo_rl.text import MAX_QUERY, MAX_TURN, MAX_TURNS, one_line

MODEL = {"analyzer": "simple", "synthesis": "Lima.", "grounding": '{"claims": []}'}
PATHS = ["/v1/search", "/v1/reformulate", "/v1/answer"]
HALF, EMOJI = "\ufffd", "\U0001f600"


class Recording(Parts):
    """Records its queries."""

    def __init__(self):
        super().__init__()
        self.queries = []

    def reformulate(self, queries):
        self.queries += queries
        return super().reformulate(queries)


@pytest.fixture
def ask(serving):
    """Sends a body (bytes or JSON); returns the searched texts and the notes."""
    recording = Recording()
    with serving(strategies=Scripted(parts=recording), answer_model=ModelByRole(**MODEL)) as client:

        def asked(path, body):
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            answer = client.post(path, content=content, headers={"Content-Type": "application/json"})
            assert answer.status_code == 200, answer.text
            reply = events(answer.text)[-1][1] if path == "/v1/answer" else answer.json()
            return [variant["text"] for variant in reply["query_rewrite_info"]["variants"]], reply["notes"]

        asked.client, asked.queries = client, recording.queries
        yield asked


def test_reading_has_the_time_limit_of_the_request(serving, monkeypatch):
    """A reader that hangs is given up: there is one place, and the next request gets it."""
    over = threading.Event()

    def hang(history, query):
        if history:
            over.wait(20)
        return ()

    monkeypatch.setattr("acqo_rl.serving.reading.read_history", hang)
    with serving(limits=Limits(concurrency=1), timeouts=Timeouts(total=0.2)) as client:
        for path in ("/v1/search", "/v1/reformulate"):
            refused = client.post(path, json={"query": "Peru", "history": ["a", "b"]})
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
            assert client.post(path, json={"query": "Peru"}).status_code == 200
        over.set()


class TestService:
    def test_a_normal_request_has_no_notes(self, ask):
        history = ["Where is Lima?", "In Peru.", ""]
        assert ask("/v1/reformulate", {"query": "capital of Peru", "history": history}) == (["capital of Peru"], [])

    def test_a_last_turn_that_is_the_query_is_left_out(self, ask):
        turns = ["Where is Lima?", *["In Peru."] * MAX_TURNS, "its capital"]
        history = [{"role": "user" if turn != "In Peru." else "assistant", "content": turn} for turn in turns]
        _, notes = ask("/v1/reformulate", {"query": "Its capital?", "history": history[1:]})
        assert {turn.text for turn in ask.queries[-1].history} == {"In Peru."}
        assert notes == []

    def test_a_long_query_keeps_both_ends(self, ask):
        [text], notes = ask("/v1/reformulate", {"query": f"capital {'x ' * MAX_QUERY} Peru"})
        assert text.startswith("capital x")
        assert text.endswith("x Peru")
        assert MAX_QUERY - 20 < len(text) <= MAX_QUERY
        assert len(notes) == 1

    @pytest.mark.parametrize("path", PATHS)
    def test_long_and_old_turns_are_reported(self, ask, path):
        turns = [f"{i} {'y ' * (MAX_TURN if i in (59, 60) else 1)}end{i}" for i in range(61)]
        history = ["", *turns, " \n", "\u200b", ""]
        _, notes = ask(path, {"query": "its capital", "history": history})
        assert len(notes) == 2
        turns_read = [turn.text for turn in ask.queries[-1].history]
        assert [text.split()[0] for text in turns_read] == [str(i) for i in range(11, 61)]
        assert [text.split()[-1] for text in turns_read] == [f"end{i}" for i in range(11, 61)]
        assert [text for text in turns_read if "..." in text] == turns_read[-2:]
        assert all(MAX_TURN - 20 < len(text) <= MAX_TURN for text in turns_read[-2:])

    @pytest.mark.parametrize(
        ("written", "read"),
        [
            (EMOJI.encode(), EMOJI),
            (b"\\ud83d", HALF),
            (b"\\ude00 x", f"{HALF} x"),
            (b"\xed\xa0\xbd", HALF),
            (b"\\ud83d\\ud83d\\ude00", HALF + EMOJI),
            (b"\xed\xa0\xbd\xed\xb8\x80", EMOJI),
        ],
    )
    def test_a_broken_emoji_is_replaced(self, ask, written, read):
        [text], notes = ask("/v1/reformulate", b'{"query": "capital ' + written + b'"}')
        assert text == f"capital {read}"
        assert len(notes) == (HALF in read)

    def test_a_broken_emoji_in_a_turn_is_replaced(self, ask):
        _, notes = ask(
            "/v1/reformulate", b'{"query": "its capital", "history": [{"role": "user", "content": "a\\ud83d"}]}'
        )
        assert [turn.text for turn in ask.queries[-1].history] == [f"a{HALF}"]
        assert len(notes) == 1


def test_a_long_user_context_is_shortened(serving):
    with serving() as client:
        for path in PATHS[:2]:
            answer = client.post(path, json={"query": "capital of Peru", "user_context": "word " * MAX_CONTEXT})
            assert (answer.status_code, len(answer.json()["notes"])) == (200, 1)


def test_the_retriever_server_replaces_a_broken_emoji():
    words = Words()
    app = make_retriever_app(words, IndexInfo("dense", "f", "c", 3, "e"), Metrics(), Limits())
    with running(app) as url:
        body = b'{"texts": ["capital of Peru \\ud83d"], "k": 1}'
        answer = httpx.post(f"{url}/search", content=body, headers={"Content-Type": "application/json"})
    assert answer.json()["rankings"][0]["doc_ids"] == ["lima"]
    assert words.calls == [[f"capital of Peru {HALF}"]]


TEXTS = st.one_of(st.text(), st.builds(lambda word, times: word * times, st.text(max_size=9), st.integers(0, 2000)))


@given(TEXTS, st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": TEXTS})))
def test_queries_are_within_the_limits_and_reading_is_idempotent(text, history):
    query, notes = as_query(text, history)
    assert len(query.text) <= MAX_QUERY
    assert len(query.history) <= MAX_TURNS
    assert all(0 < len(turn.text) <= MAX_TURN for turn in query.history)
    assert len(notes) == len(set(notes)) <= 6
    again, _ = as_query(query.text, list(map(str, query.history)))
    assert again.text == query.text


@given(TEXTS, st.integers(10, 100))
def test_shortening_is_always_reported(text, most):
    short, notes = shortened(text, most, "The text")
    assert len(short) <= most
    if not notes:
        assert one_line(short) == one_line(text)
