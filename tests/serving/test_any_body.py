"""Any body of a request: the service answers it or says what is wrong with it, and reports all that it leaves out."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serving_stand_ins import Parts, Scripted, serving

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConversationError
from acqo_rl.text import MAX_TURN, MAX_TURNS, one_line
from acqo_rl.types import well_formed


class Recording(Parts):
    """Records its queries."""

    def __init__(self):
        super().__init__()
        self.queries = []

    def reformulate(self, queries):
        self.queries += queries
        return super().reformulate(queries)


@pytest.fixture(scope="module")
def recorded():
    """A client of a running service, and the reformulator that records its queries."""
    recording = Recording()
    with serving(strategies=Scripted(parts=recording), cache_size=0) as client:
        yield client, recording


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


def reasons_of(response):
    """Checks that a refusal has reasons of the size of a sentence."""
    detail = response.json()["detail"]
    problems = [detail] if isinstance(detail, str) else [problem["msg"] for problem in detail]
    assert problems
    assert all(8 < len(problem) < 1000 for problem in problems), problems


@given(TEXTS, HISTORIES)
def test_what_the_strategy_reads_is_what_was_sent_or_the_notes_report_it(recorded, text, history):
    client, recording = recorded
    recording.queries.clear()
    body = {"query": text, "history": history}
    content = json.dumps(body).encode("utf-8", "surrogatepass")
    response = client.post("/v1/reformulate", content=content, headers={"Content-Type": "application/json"})
    if response.status_code == 422:
        reasons_of(response)
        try:
            assert not one_line(text) or read_history(history) is None
        except ConversationError:
            return
    elif not response.json()["notes"]:
        [query] = recording.queries
        turns = [well_formed(turn.text) for turn in read_history(history, text) if one_line(turn.text)]
        assert query.text == well_formed(text)
        assert [turn.text for turn in query.history] == turns
        assert len(turns) <= MAX_TURNS
        assert all(len(turn) <= MAX_TURN for turn in turns)
