"""A follow-up that names only what is new becomes the question before it, about the new thing."""

from __future__ import annotations

import pytest

from acqo_rl.conversations import read_history
from acqo_rl.reformulation.ellipsis import completed
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.lexicon import common_lexicon
from acqo_rl.types import Query, SubQuery

CAPITAL = ("What is the capital of Chile?", "Santiago.")
POPULATION = ("What was the population of Oslo in 2020?", "700,000")


@pytest.mark.parametrize(
    ("talk", "text", "question"),
    [
        (CAPITAL, "and Peru?", "What is the capital of Peru"),
        (CAPITAL, "what about Peru?", "What is the capital of Peru"),
        (CAPITAL, "OK, and how about Cape Verde then?", "What is the capital of Cape Verde"),
        (CAPITAL, "And of Peru?", "What is the capital of Peru"),
        (CAPITAL, "and peru", "What is the capital of peru"),
        (CAPITAL, "And the currency?", "What is the currency of Chile"),
        ((*CAPITAL, "and Peru?", "Lima.", "OK"), "and Mali?", ""),
        ((*CAPITAL, "and Peru?", "Lima."), "and the currency?", "What is the currency of Peru"),
        (("what is the capital of chile", "santiago"), "how about peru", "what is the capital of peru"),
        (("How large is Oslo?", "It is large."), "What about Bergen?", "How large is Bergen"),
        (("When was the Eiffel Tower built?", "1889"), "And the Louvre?", "When was the Louvre built"),
        (("When was the Eiffel Tower built?", "1889"), "what about Big Ben", "When was Big Ben built"),
        (("Is it cold in Oslo?", "Yes."), "and tomorrow?", "Is it cold in Oslo tomorrow"),
        (("How do I cook rice?", "Boil it."), "And pasta?", "How do I cook pasta"),
        (("Tell me about Oslo.",), "And Bergen?", "Tell me about Bergen"),
        (POPULATION, "And in 2010?", "What was the population of Oslo in 2010"),
        (POPULATION, "And of Bergen?", "What was the population of Bergen in 2020"),
        (("How large was Oslo?", "Large."), "And in 1900?", "How large was Oslo in 1900"),
        # what is asked of the new thing is not known
        (CAPITAL, "And who wrote Faust?", ""),
        (CAPITAL, "and its currency?", ""),
        (CAPITAL, "What about his wife?", ""),
        (CAPITAL, "Peru?", ""),
        (CAPITAL, "And is Peru large?", ""),
        (("Did Haydn know Mozart?", "Yes."), "And Bach?", ""),
        (("Oslo is nice.", "It is."), "And Bergen?", ""),
        (("I'm writing a page on Oslo", "Good."), "What about Bergen", ""),
        (CAPITAL, "What about the countries with speakers", ""),
        (("How are you?", "Fine."), "and bergen?", ""),
        ((), "and Peru?", ""),
    ],
)
def test_what_a_follow_up_asks(talk, text, question):
    assert completed(text, read_history(talk), common_lexicon()) == question


@pytest.mark.parametrize("needs_reference", [False, True])
def test_the_rules_search_the_completed_question(needs_reference):
    rules = Heuristic(needs_reference=needs_reference)
    [made] = rules.reformulate([Query("q", "and Peru?", read_history(CAPITAL))])
    assert made.route == "disambiguate"
    assert made.sub_queries == (SubQuery("What is the capital of Peru", "reading"),)
