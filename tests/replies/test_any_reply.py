"""Every reader of replies on pieces of replies in any order: none fails, and each keeps its word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.pipeline.decomposition import read_sub_questions
from acqo_rl.pipeline.synthesis import read_claims
from acqo_rl.reformulation.strategies import ClassifyAndRewrite, Decomposition, Expansion, HyDE, MultiQuery, StepBack
from acqo_rl.replies.answers import read_answer
from acqo_rl.replies.fields import (
    read_fields,
    read_ids,
    read_items,
    read_search,
    read_share,
    read_text,
    read_truth,
)
from acqo_rl.replies.lists import entries_of
from acqo_rl.replies.thoughts import Spoken
from acqo_rl.text import MAX_CHARACTERS, normalised
from acqo_rl.thoughts import without_thoughts
from acqo_rl.types import Completion, Query

PIECES = [
    "<think>", "</think>", "<|channel|>analysis<|message|>", "<|channel|>final<|message|>", "analysis",
    "assistantfinal", "{", "}", "[", "]", '"', "'", ",", ":", "\n", "\n\n", " ", "SUB1: ", "SUB2: ",
    "DEPENDS: ", "1. ", "2) ", "- ", "**", "`", "```json\n", "Query 1: ", "Requ\u00eate n\u00b0 2 : ",
    "\u67e5\u8be21\uff1a", "a", "rent in Oslo", "none", "null", "true", "(", ")", "\u2014", "\u2192", "\u201c",
    "\u201d", "\u00ab", "\u00bb", "\x00", "\ud800", "\u202e", "9" * 30, "Answer: ", "Sure! ", "Here are ",
    "answerable: ", "grounded", "claims", "claim", "source", "|", "#", "\\", "<li>", "</li>", "<answer>", "?",
]  # fmt: skip
REPLIES = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=40).map("".join)
QUERY = Query("q", "Who owns it?")


@given(REPLIES)
def test_every_reader(reply):
    entries = entries_of(reply)
    assert len(set(map(normalised, entries))) == len(entries)
    assert all(0 < len(entry) <= MAX_CHARACTERS for entry in entries)
    for value in read_fields(reply).values():
        read_truth(value), read_text(value), read_items(value), read_ids(value)
        assert len(read_search(value)) <= MAX_CHARACTERS
    assert read_share(reply, "grounded") is None or 0 <= read_share(reply, "grounded") <= 1
    read_claims(reply, [])
    read_answer(reply, QUERY.text)
    parts = read_sub_questions(reply, QUERY)
    assert 1 <= len(parts) <= 4
    assert {i for part in parts for i in part.depends_on} <= {part.id for part in parts}


@given(REPLIES, st.booleans())
def test_every_strategy(reply, finished):
    for strategy in (ClassifyAndRewrite(), Decomposition(), Expansion(), HyDE(), MultiQuery(), StepBack()):
        reading = strategy.read(QUERY, Completion(reply, 9, finished))
        assert bool(reading.sub_queries) or reading.route == "pass"


@given(REPLIES, st.integers(1, 9))
def test_a_reply_that_is_heard_in_pieces_ends_as_it_is_read(reply, size):
    streamed = []
    spoken = Spoken(streamed.append)
    for start in range(0, len(reply), size):
        spoken.write(reply[start : start + size])
    spoken.end()
    said = without_thoughts(reply)
    assert not said.strip() or "".join(streamed).endswith(said)
