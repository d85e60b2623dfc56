"""Query types and challenges of English questions, by the trained classifier."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.reformulation.lexicon import years_in
from acqo_rl.reformulation.query_types import (
    CHALLENGES,
    LEAST,
    TYPES,
    WEIGHTS,
    challenges_of,
    query_type_of,
    type_probabilities,
)

QUESTIONS = Path(__file__).parents[2] / "benchmarks" / "questions"


@pytest.mark.parametrize("name", ["held_out", "held_out_domains"])
def test_agreement_with_the_labels_of_held_out_questions(name):
    rows = [json.loads(line) for line in (QUESTIONS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sum(row["type"] == (query_type_of(row["text"]) or "unsure") for row in rows) >= 0.88 * len(rows)
    assert sum(set(row["challenges"]) == set(challenges_of(row["text"])) for row in rows) >= 0.86 * len(rows)
    assert WEIGHTS.stat().st_size < 320_000


@pytest.mark.parametrize(
    "text",
    [
        "prefix sum",
        "tissue box",
        "flat tvs",
        "Thailand",
        "Terror of Tiny Town",
        "port 2021 open",
        "Boeing 747 wingspan",
        "iPad 9 pencil support",
    ],
)
def test_a_part_of_a_word_is_no_signal(text):
    assert query_type_of(text) == "simple"
    assert challenges_of(text) == ("simple",)


@pytest.mark.parametrize("text", ["Wo liegt Graz und wie gross ist es?", "¿Dónde está Graz?", "Где находится Грац?"])
def test_a_question_in_another_language_has_no_type(text):
    assert query_type_of(text) is None


@pytest.mark.parametrize(
    ("text", "challenges"),
    [
        ("What is FAISS?", {"simple"}),
        ("which color is the sky", {"simple"}),
        ("What is the latest version of Python?", {"temporal"}),
        ("oil output of 1990", {"temporal"}),
        ("How did inflation in Peru evolve?", {"temporal"}),
        ("Which company acquired the firm that developed BERT?", {"multi_hop"}),
        ("Compare FAISS and Milvus", {"decomposition"}),
        ("Who wrote Dune? Who filmed it?", {"decomposition"}),
        ("cats and dogs and birds", {"decomposition"}),
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


@given(st.text() | st.text().map(lambda text: text * 500))
def test_every_text_has_probabilities_and_challenges(text):
    probabilities = type_probabilities(text)
    assert list(probabilities) == list(TYPES)
    assert sum(probabilities.values()) == pytest.approx(1)
    assert query_type_of(text) in {None, *(name for name, value in probabilities.items() if value >= LEAST)}
    found = challenges_of(text)
    assert found == ("simple",) or (found and set(found) <= set(CHALLENGES))
