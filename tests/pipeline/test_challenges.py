"""What makes a question hard, by rules; the documents' own examples and their false positives."""

from __future__ import annotations

import pytest

from acqo_rl.pipeline.challenges import find_challenges, years_in


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        # S4-13
        ("What is FAISS?", {"simple"}),
        ("What is the latest version of Python?", {"temporal"}),
        ("Which company acquired the firm that developed BERT?", {"multi_hop"}),
        ("Compare FAISS and Milvus", {"decomposition"}),
        # D4-08: words that only look like a chain
        ("which color is the sky", {"simple"}),
        ("Who is the president that everybody knows?", {"multi_hop"}),
        # S0-37, D1-03
        ("Who is the spouse of the CEO of Microsoft?", {"multi_hop"}),
        ("Where was the director of Jaws born?", {"multi_hop"}),
        ("Who is Obama's wife's father?", {"multi_hop"}),
        ("How does Inflation affect Bond Prices?", {"multi_hop"}),
        ("What is the relationship between sleep and memory?", {"multi_hop"}),
        ("What led to the fall of Rome?", {"multi_hop"}),
        ("compare android and ios", {"decomposition"}),
        ("What are the advantages and disadvantages of GRPO?", {"decomposition"}),
        # S4-10
        ("Who wrote Dune? Who filmed it?", {"decomposition"}),
        ("food and music and weather", {"decomposition"}),
        # several at once (S4-02)
        ("Compare the latest phones", {"temporal", "decomposition"}),
        ("How has AI evolved since 2015?", {"temporal"}),
        # word boundaries
        ("android development in Thailand", {"simple"}),
        ("the electric current in a wire", {"simple"}),
        ("trendy cafes", {"simple"}),
        ("capital of Peru", {"simple"}),
    ],
)
def test_examples(question, expected):
    assert set(find_challenges(question)) == expected


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("the crisis of 2008", [2008]),
        ("from 1999 to 2010, in 2010-2012", [1999, 2010, 2010, 2012]),
        ("2048 tokens and 1920 pixels wide: 1920px", [1920]),
        ("port 2021, RFC 1918, $2000, 2000 km", []),
        ("in 12008 or 2008.5 or v2020", []),
        ("born 1987.", [1987]),
        ("\u0432 2008 \u0433\u043e\u0434\u0443", [2008]),
    ],
)
def test_years_are_no_other_numbers(text, years):
    """D4-06."""
    assert years_in(text) == years


def test_plain_questions_show_no_sign():
    plain = ["who painted Guernica", "height of the Eiffel Tower", "python list sort", "define entropy"]
    assert all(find_challenges(question) == ("simple",) for question in plain)
