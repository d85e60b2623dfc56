"""Pasted code is not split at its signs."""

from __future__ import annotations

import pytest

from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.splitting import parts_of
from acqo_rl.types import Query


@pytest.mark.parametrize(
    "text",
    [
        "Why does x = y; z = w fail?",
        "What does x += 1; y -= 1; do?",
        "x=1; y=2; which is bigger?",
        "let a = 1; let b = 2; which is bigger?",
        "how do I fix `int x = 1; int y = 2;`?",
        'fn main() { println!("Hello and Bye"); } what language is this',
        'public static void main(String[] args) { String a = "Peru"; String b = "Chile"; }\nwhat language is this',
        "x = [1, 2, 3]; print(x)\nwhat is the output and why?",
        "open(path); read(path); what is missing and who closes it?",
    ],
)
def test_a_question_about_code_is_searched_as_it_stands(text):
    assert parts_of(text) == ()
    [answer] = Heuristic().reformulate([Query("q", text)])
    assert [sub_query.text for sub_query in answer.sub_queries] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "capital of Peru; population of Chile",
        "who wrote Emma (1815); who wrote Persuasion",
        "what is E=mc2; who found it?",
        "price of A4 paper (80g); price of envelopes?",
    ],
)
def test_questions_separated_by_semicolons_are_still_split(text):
    assert len(parts_of(text)) == 2
