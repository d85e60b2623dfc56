"""What each prompt must say for its strategy to be that strategy."""

from __future__ import annotations

import re

import pytest

from acqo_rl.reformulation.model_classifier import _CHALLENGES, _TYPES
from acqo_rl.reformulation.strategies import (
    ClassifyAndRewrite,
    Decomposition,
    Expansion,
    HyDE,
    MultiQuery,
    Rewrite,
    StepBack,
)
from acqo_rl.types import Query


def instructions(strategy):
    return strategy.conversation(Query("q", "Why?"))[0]["content"]


@pytest.mark.parametrize(
    ("strategy", "parts"),
    [
        (MultiQuery(4, "a hospital", "Chinese"),
         ["write 4 searches", "for a hospital", "keep its meaning and its language", "another angle", "other words",
          "property or number", "situation", "complete in itself", "one a line", "last one in chinese"]),
        (HyDE("law"), ["passage", "about law", "answers the last question", "in its language", "2 to 4", "facts"]),
        (StepBack(), ["more general", "principle", "mechanism", "wider topic", "in its language", "one line"]),
        (Decomposition(3), ["at most 3", "one a line", "asks one thing", "complete in itself", "keep the language",
                            "repeated as it is"]),
        (Expansion(5), ["at most 5", "synonyms", "technical terms", "abbreviations",
                        "its language", "one term a line"]),
        (Rewrite(), ["the one search", "in its language", "spelling", "earlier turns", "first search found"]),
        (ClassifyAndRewrite(2), ["first line, one word", "\nsimple - ", "\nambiguous - ", "\ncompound - ",
                                 "several meanings", "asks several things", "one complete search a line", "at most 2"]),
    ],
    ids=lambda value: getattr(value, "name", None),
)  # fmt: skip
def test_a_strategy_asks_for_all_that_it_needs(strategy, parts):
    asked = instructions(strategy).lower()
    assert [part for part in parts if part not in asked] == []
    assert "{" not in asked


def test_the_classifier_names_and_defines_every_label():
    for prompt, labels in (
        (_TYPES, ["factual", "how_to", "comparison", "debugging", "conceptual", "complex", "simple"]),
        (_CHALLENGES, ["temporal", "multi_hop", "decomposition", "simple"]),
    ):
        assert re.findall(r"^(\w+) - \w", prompt, re.M) == labels
