"""Everyday questions: what counts as a good rewrite."""

from __future__ import annotations

import pytest

from acqo_rl.reformulation.everyday import EverydayQuestion, everyday_questions, is_right
from acqo_rl.types import Query, Reformulation, SubQuery

TWO = EverydayQuestion(Query("1", "rent in Porto and Lund"), "list", "decompose", (("rent", "Porto"), ("rent", "Lund")))
READINGS = EverydayQuestion(Query("2", "nebra"), "bare", "disambiguate", (("town",), ("disc", "sky")))
PASSED = EverydayQuestion(Query("3", "rent in Porto"), "simple", "pass", ())


def answer(question, route, *texts):
    return Reformulation(question.query, route, tuple(SubQuery(text, "part") for text in texts), "test")


@pytest.mark.parametrize(
    ("question", "route", "texts", "right"),
    [
        (TWO, "decompose", ["Rent in porto?", "the rent in Lund"], True),
        (TWO, "decompose", ["rent in Lund", "anything", "rent in Porto"], True),
        (TWO, "decompose", ["rent in Porto and Lund", "rent in Lund"], False),  # the first holds a word of the second
        (TWO, "decompose", ["Porto", "rent in Lund"], False),  # the shared word is missing
        (TWO, "decompose", ["parent in Porto", "rent in Lund"], False),  # words, not letters
        (TWO, "decompose", ["rent in Porto"], False),
        (TWO, "disambiguate", ["rent in Porto", "rent in Lund"], False),
        (READINGS, "disambiguate", ["nebra town", "nebra sky disc"], True),
        (READINGS, "disambiguate", ["nebra town", "nebra disc"], False),
        (READINGS, "pass", ["nebra town", "nebra sky disc"], False),
        (PASSED, "pass", ["rent in Porto"], True),
        (PASSED, "decompose", ["rent in Porto"], False),
    ],
)
def test_what_is_right(question, route, texts, right):
    assert is_right(question, answer(question, route, *texts)) is right


def test_two_equal_needs_want_two_sub_queries():
    twice = EverydayQuestion(TWO.query, "list", "decompose", (("rent",), ("rent",)))
    assert not is_right(twice, answer(twice, "decompose", "rent in Porto"))
    assert is_right(twice, answer(twice, "decompose", "rent in Porto", "rent in Lund"))


def test_the_questions_are_a_hundred_of_every_route():
    questions = everyday_questions()
    assert len({question.query.text for question in questions}) == 100
    assert {question.route for question in questions} == {"pass", "disambiguate", "decompose"}
    assert all(bool(question.needs) == (question.route != "pass") for question in questions)
