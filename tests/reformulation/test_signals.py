"""Signals of English questions: types, challenges, years, clauses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.reformulation.signals import challenges_of, clauses, query_type_of, years_in
from acqo_rl.text import one_line

QUESTIONS = Path(__file__).parents[2] / "benchmarks" / "questions"


@pytest.mark.parametrize(("name", "types", "challenges"), [("seen", 0.88, 0.95), ("held_out", 0.8, 0.88)])
def test_agreement_with_labels(name, types, challenges):
    rows = [json.loads(line) for line in (QUESTIONS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sum(row["type"] == query_type_of(row["text"]) for row in rows) >= types * len(rows)
    assert sum(set(row["challenges"]) == set(challenges_of(row["text"])) for row in rows) >= challenges * len(rows)


@pytest.mark.parametrize(
    ("text", "query_type"),
    [
        ("Python vs. Java", "comparison"),
        ("Traceback: KeyError", "debugging"),
        ("How do I install Docker and nginx with TLS?", "complex"),
        ("How does a heat pump work?", "conceptual"),
        ("How do I tie a bowline?", "how_to"),
        ("Who wrote Hamlet?", "factual"),
        ("height of the Eiffel Tower", "simple"),
        ("SELECT a FROM b WHERE c AND d AND e", "simple"),
        ("", "simple"),
    ],
)
def test_types(text, query_type):
    assert query_type_of(text) == query_type


@pytest.mark.parametrize(
    "text", ["prefix sum", "tissue box", "terror attacks", "flat tvs", "Thailand", "android phone"]
)
def test_a_part_of_a_word_is_no_signal(text):
    assert query_type_of(text) == "simple"
    assert challenges_of(text) == ("simple",)


@pytest.mark.parametrize(
    ("text", "challenges"),
    [
        ("What is FAISS?", {"simple"}),
        ("which color is the sky", {"simple"}),
        ("What is the latest version of Python?", {"temporal"}),
        ("How did inflation in Peru evolve?", {"temporal"}),
        ("How did Einstein change physics?", {"simple"}),
        ("Which company acquired the firm that developed BERT?", {"multi_hop"}),
        ("Who is the spouse of the CEO of Microsoft?", {"multi_hop"}),
        ("Compare FAISS and Milvus", {"decomposition"}),
        ("Who wrote Dune? Who filmed it?", {"decomposition"}),
        ("cats and dogs and birds", {"decomposition"}),
        ("Compare the latest phones", {"temporal", "decomposition"}),
    ],
)
def test_challenges(text, challenges):
    assert set(challenges_of(text)) == challenges


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("inflation in 1990, 2008 and 2020", [1990, 2008, 2020]),
        ("port 2021, error code 1603 and RFC 1918 in 2048 tokens", []),
        ("$2020 or 10.2020", []),
    ],
)
def test_years(text, years):
    assert years_in(text) == years


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Who wrote Emma? And who filmed it?", ["Who wrote Emma", "who filmed it"]),
        ("capital of Peru; currency of Chad", ["capital of Peru", "currency of Chad"]),
        ("Where is Oslo and is it large", ["Where is Oslo", "is it large"]),
        ("I'm filling in a form, what is the code of Peru", ["I'm filling in a form, what is the code of Peru"]),
        ("bread and butter", ["bread and butter"]),
    ],
)
def test_clauses(text, found):
    assert clauses(text) == found


@given(st.text())
def test_every_text_has_challenges_and_simple_stands_alone(text):
    found = challenges_of(one_line(text))
    assert found
    assert ("simple" in found) == (found == ("simple",))
