"""A pronoun that stands for nothing takes no name from the conversation."""

from __future__ import annotations

import pytest

from acqo_rl.conversations import read_history
from acqo_rl.reformulation.classify import route_of
from acqo_rl.types import Query

TALK = ("Who is Marie Curie?", "A physicist.")


@pytest.mark.parametrize(
    "question",
    [
        "Is it raining in Berlin today?",
        "Does it snow in Madrid?",
        "How cold is it in Oslo in January?",
        "What time is it in Tokyo?",
        "Is it safe to eat raw eggs?",
        "How long does it take to boil an egg?",
        "How much does it cost to rent a car in Lund?",
        "Is it possible to learn Greek in a year?",
        "Is it worth buying a heat pump?",
        "Is it true that Vikings had horns?",
        "Was it Newton who discovered gravity?",
        "Is there a direct train from Rome to Bari?",
        "How many lakes are there in Finland?",
        "What is the film Them about?",
    ],
)
def test_a_pronoun_that_stands_for_nothing_leans_on_nothing(question):
    assert route_of(Query("q", question, read_history(TALK))) == "pass"


@pytest.mark.parametrize(
    "question",
    [
        "Is it easy to install?",
        "Is it safe to eat raw?",
        "Is it safe to swim there?",
        "Is it possible to visit them?",
        "Is it used to treat asthma?",
        "Is it legal in Texas?",
        "How long does it take to climb it?",
        "How much does it cost?",
        "Is there a museum there?",
        "Is the metro there open at night?",
    ],
)
def test_a_pronoun_with_a_meaning_leans_on_the_conversation(question):
    assert route_of(Query("q", question, read_history(TALK))) == "disambiguate"


def test_two_deeds_of_a_choice_are_searched_apart():
    assert route_of(Query("q", "Is it cheaper to rent or buy a flat in Porto?", read_history(TALK))) == "decompose"
