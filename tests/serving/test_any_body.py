"""Any body of a request: the service answers it or says what is wrong with it, and reports all that it leaves out."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pipeline_stand_ins import ModelByRole
from serving_stand_ins import Parts, Scripted, Searching, collection, events, serving, serving_index

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConversationError
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.text import MAX_TURN, MAX_TURNS, one_line

REFUSED = {400, 404, 409, 413, 422}


class Recording(Parts):
    """Records its queries."""

    def __init__(self):
        super().__init__()
        self.queries = []

    def reformulate(self, queries):
        self.queries += queries
        return super().reformulate(queries)


@pytest.fixture(scope="module")
def service():
    """A client of a running service, and the reformulator that records the queries of the strategy ``parts``."""
    recording = Recording()
    strategies = Scripted(parts=recording, rules=Heuristic())
    model = ModelByRole(analyzer="simple", synthesis="Lima.", grounding='{"claims": []}')
    with serving(
        [collection(retriever=Searching())], strategies=strategies, answer_model=model, cache_size=0
    ) as client:
        yield client, recording


@pytest.fixture(scope="module")
def retriever():
    with serving_index(Searching()) as client:
        yield client


TEXTS = st.one_of(
    st.text(st.characters(), max_size=12),
    st.sampled_from(["capital of Peru", "Compare Peru and Chad", "and its capital?", "thanks", "x " * 2100, "\ud83d"]),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
TURNS = st.one_of(
    TEXTS,
    st.builds(lambda mark, text: mark + text, st.sampled_from(["U: ", "Assistant: "]), TEXTS),
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system", "tool", "x"]), "content": TEXTS}),
    st.tuples(TEXTS, TEXTS),
    VALUES,
)
HISTORIES = st.one_of(st.lists(TURNS, max_size=5), st.text(max_size=3).map(lambda turn: [turn] * 60), VALUES)
FIELDS = {
    "history": HISTORIES,
    "rewriting_strategy": st.one_of(st.sampled_from(["rules", "raw", "parts"]), VALUES),
    "num_variants": st.one_of(st.integers(-1, 6), VALUES),
    "user_context": TEXTS,
    "limit": st.one_of(st.integers(-1, 21), st.sampled_from([2.0, 2.5]), VALUES),
    "knowledge_pool_ids": st.one_of(st.just(["world"]), VALUES),
    "score_threshold": st.one_of(st.floats(0, 1), VALUES),
    "filter": VALUES,
    "tenant": VALUES,
    "mode": st.one_of(st.sampled_from(["pipeline", "auto", "simple", "recursive"]), VALUES),
    "use_query_rewriting": st.one_of(st.booleans(), VALUES),
    "include_rankings": st.booleans(),
    "x": VALUES,
}
SHARED = {"history", "rewriting_strategy", "num_variants", "user_context", "knowledge_pool_ids"}
OF_PATH = {
    "/v1/search": FIELDS.keys() - {"mode", "x"},
    "/v1/reformulate": SHARED | {"filter", "tenant"},
    "/v1/answer": SHARED | {"mode"},
}


@st.composite
def bodies(draw, path):
    """A body whose fields are mostly those of the path, as bytes; some are cut, or have bytes that are not UTF-8."""
    names = draw(st.lists(st.sampled_from(sorted(OF_PATH[path])), max_size=3, unique=True))
    names += draw(st.one_of(st.just([]), st.lists(st.sampled_from(sorted(FIELDS)), max_size=1)))
    body = {"query": draw(st.one_of(TEXTS, TEXTS, TEXTS, VALUES))} | {name: draw(FIELDS[name]) for name in names}
    written = json.dumps(body, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")
    cut = draw(st.one_of(st.just(0), st.just(0), st.just(0), st.integers(0, len(written))))
    return written[: len(written) - cut] + draw(st.sampled_from([b"", b"", b"", b"\xff", b" ", b"{}"]))


def post(client, path, body):
    response = client.post(path, content=body, headers={"Content-Type": "application/json"})
    if response.status_code in REFUSED:
        reasons_of(response)
        return None
    assert response.status_code == 200, response.text
    return response


def reasons_of(response):
    """Checks that a refusal has reasons of the size of a sentence."""
    detail = response.json()["detail"]
    problems = [detail] if isinstance(detail, str) else [problem["msg"] for problem in detail]
    assert problems
    assert all(8 < len(problem) < 1000 for problem in problems), problems


@given(st.sampled_from(sorted(OF_PATH)).flatmap(lambda path: st.tuples(st.just(path), bodies(path))))
def test_any_body_is_answered_or_refused_with_a_reason(service, request_):
    client, _ = service
    path, body = request_
    if (response := post(client, path, body)) is None:
        return
    if path == "/v1/answer":
        *_, (name, answer) = events(response.text)
        assert name == "result", answer
    else:
        answer = response.json()
    assert len(answer["notes"]) == len(set(answer["notes"]))
    if path == "/v1/search":
        assert answer["total_results"] == len(answer["results"]) <= 20


@given(
    st.sampled_from([*sorted(OF_PATH), "/search"]),
    st.one_of(
        st.binary(max_size=40),
        VALUES.map(lambda value: json.dumps(value).encode("utf-16")),
        st.text(max_size=20).map(lambda text: gzip.compress(json.dumps({"query": text, "texts": [text]}).encode())),
        st.tuples(st.sampled_from(["[", '{"a":', '"', "9", "\\ud83d"]), st.integers(1, 9999)).map(
            lambda one: (one[0] * one[1]).encode()
        ),
    ),
    st.fixed_dictionaries(
        {},
        optional={
            "Content-Type": st.one_of(
                st.sampled_from(["application/json", "application/json; charset=latin-1", "text/plain", "x", ";"]),
                st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), max_size=9),
            ),
            "Content-Encoding": st.sampled_from(["gzip", "br", "identity", "x"]),
        },
    ),
)
def test_any_bytes_with_any_headers_are_refused_with_a_reason(service, retriever, path, body, headers):
    client = retriever if path == "/search" else service[0]
    response = client.post(path, content=body, headers=headers)
    assert response.status_code in REFUSED
    reasons_of(response)


@given(TEXTS, HISTORIES)
def test_what_the_strategy_reads_is_what_was_sent_or_the_notes_report_it(service, text, history):
    client, recording = service
    recording.queries.clear()
    body = {"query": text, "history": history, "rewriting_strategy": "parts"}
    response = post(client, "/v1/reformulate", json.dumps(body).encode("utf-8", "surrogatepass"))
    if response is None:
        try:
            assert not one_line(text) or read_history(history) is None
        except ConversationError:
            return
    elif not response.json()["notes"]:
        [query] = recording.queries
        turns = [turn for turn in read_history(history, text) if one_line(turn.text)]
        assert query.text == text
        assert list(query.history) == turns
        assert len(turns) <= MAX_TURNS
        assert all(len(turn.text) <= MAX_TURN for turn in turns)


@given(
    st.fixed_dictionaries(
        {"texts": st.one_of(st.lists(TEXTS, max_size=4), VALUES)},
        optional={"k": st.one_of(st.integers(0, 2001), VALUES), "passages": st.one_of(st.lists(st.integers()), VALUES)},
    )
)
@example({"texts": ["broken", "stall"]})  # Hypothesis also draws constants of the modules that are loaded
def test_the_retriever_server_returns_one_ranking_per_text_or_a_reason(retriever, body):
    response = post(retriever, "/search", json.dumps(body).encode("utf-8", "surrogatepass"))
    if response is not None:
        assert len(response.json()["rankings"]) == len(body["texts"])
