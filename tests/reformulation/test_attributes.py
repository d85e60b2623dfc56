"""Queries for several attributes are split; statements and names that look similar are not."""

from __future__ import annotations

import pytest

from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.reformulation.splitting import parts_of
from acqo_rl.reformulation.with_rules import with_rules
from acqo_rl.types import Query

STATEMENTS = [
    "Coffee and tea reduce the risk of stroke",
    "Garlic and onions lower blood pressure in the elderly",
    "Bees and wasps live in colonies",
    "Parrots and crows solve puzzles for food",
    "Age and diet affect outcomes of surgery",
    "Mutations in BRCA1 and BRCA2 are found in cancer of the breast",
    "Sleep and exercise improve memory in older adults?",
    "Kenya and Ethiopia produce most of the coffee in Africa",
    "Turing and Church proved the limits of computation",
    "IL-6 and TNF promote inflammation of joints",
    "Tea and coffee were taxed in the colonies",
    "The risk of stroke and death increases with age",
    "Rapid access to care compared with standard care reduces mortality",
    "Metformin vs placebo reduces weight",
    "Statins lower cholesterol; fibrates and niacin raise HDL.",
    "Interleukin 6 and TNF alpha promote inflammation; statins and aspirin reduce it",
]
NOUN_PHRASES = [
    "heat and mass transfer in pipes",
    "day and night temperatures on Mars",
    "What are the day and night temperatures on Mars?",
    "background and foreground color of a button",
    "cost and benefit analysis of vaccines",
    "bow and arrow hunting in Alaska",
    "trial and execution of Louis XVI",
    "Who is the founder and CEO of Tesla?",
    "What is the pride and joy of London?",
    "What is the give and take of marriage?",
    "Lund and Malmo",
    "Dutch and Flemish painters of the Golden Age",
]


@pytest.mark.parametrize("text", STATEMENTS + NOUN_PHRASES)
def test_what_asks_for_no_attributes_is_left_whole(text):
    assert parts_of(text) == ()


@pytest.mark.parametrize("rules", [Heuristic(), with_rules(PassThrough(), None)])
def test_statements_are_searched_as_they_stand_also_behind_a_policy(rules):
    answers = rules.reformulate([Query(str(i), text) for i, text in enumerate(STATEMENTS)])
    assert [answer.route for answer in answers] == ["pass"] * len(STATEMENTS)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("dosage and side effects of amoxicillin", ["dosage of amoxicillin", "side effects of amoxicillin"]),
        ("history and rules of curling", ["history of curling", "rules of curling"]),
        ("the length and depth of the Suez Canal", ["length of the Suez Canal", "depth of the Suez Canal"]),
        ("What are the sights and sounds of Porto?", ["sights of Porto", "sounds of Porto"]),
        ("What is the range and the return policy for the Leaf?", ["range for the Leaf", "return policy for the Leaf"]),
        ("the tides and sea routes of Malabo?", ["tides of Malabo", "sea routes of Malabo"]),
        ("Could you tell me local customs and major ports of Chad", ["local customs of Chad", "major ports of Chad"]),
        ("Lund and Malmo populations", ["Lund populations", "Malmo populations"]),
        ("Largest firms: Lund and Malmo", ["Largest firms: Lund", "Largest firms: Malmo"]),
        ("lund vs malmo population", ["lund population", "malmo population"]),
        ("lentils vs chickpeas protein", ["lentils protein", "chickpeas protein"]),
        ("Kotlin and Java side by side", ["Kotlin", "Java"]),
    ],
)
def test_attributes_that_are_asked_for_are_taken_apart(text, parts):
    assert parts_of(text) == tuple(parts)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "compare the climate and the population of kenya and uganda",
            ("climate and the population of kenya", "climate and the population of uganda"),
        ),
        (
            "compare the price and quality of apples and oranges",
            ("price and quality of apples", "price and quality of oranges"),
        ),
        (
            "compare the area, climate and population of kenya, chad and mali",
            tuple(f"area, climate and population of {name}" for name in ("kenya", "chad", "mali")),
        ),
    ],
)
def test_several_attributes_of_several_things_are_compared_thing_by_thing(text, parts):
    assert parts_of(text) == parts
