"""Decompositions by template."""

from __future__ import annotations

import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.conversations import read_history
from acqo_rl.reformulation.load import StrategySettings, load_reformulator
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.reformulation.strategies import ClassifyAndRewrite, Decomposition
from acqo_rl.reformulation.templated import Templated
from acqo_rl.types import Query, Snippet, SubQuery

OSLO = Query("1", "Compare rent in Oslo and Rome in 2020")
LIMA = Query("2", "compare rent in Lima and New York in 1990?")
SPLIT = "rent in Oslo in 2020\nRent in Rome in 2020"


def templated(*replies):
    model = ScriptedLanguageModel(*replies)
    return Templated(Prompted(model, [Decomposition()])), model


def asked(model):
    return [c[-1]["content"].removeprefix("Question: ") for call in model.calls for c in call]


def texts(answer):
    return [s.text for s in answer.sub_queries]


def test_a_query_of_a_known_template_is_split_without_a_call():
    reformulator, model = templated(SPLIT)
    [first] = reformulator.reformulate([OSLO])
    [second] = reformulator.reformulate([LIMA])
    assert asked(model) == [OSLO.text]
    assert (first.calls, second.calls, second.tokens, second.completion) == (1, 0, 0, "")
    assert second.sub_queries == (
        SubQuery(LIMA.text, "original"),
        SubQuery("rent in Lima in 1990", "part"),
        SubQuery("Rent in New York in 1990", "part"),
    )
    assert (second.query, second.route, second.made_by) == (LIMA, "decompose", "decomposition")
    assert "template" in second.reasoning
    assert reformulator.reformulate([OSLO])[0].sub_queries == first.sub_queries


@pytest.mark.parametrize(
    "reply",
    [
        "",  # nothing usable
        "rent in Oslo in 2020",  # one part is no split
        "rent in Oslo\nrent in Rome",  # the year is lost
        "rent in Oslo in 2020\nrent in Rome in 2020\nhousing costs",  # holds nothing of the query
        "rent in Oslo, Norway in 2020\nrent in Rome in 2020",  # knows more than the query says
        "rent in Oslo in 2020\nrent in Rome in 2020 and 2021",
    ],
)
def test_a_split_that_does_not_suit_other_names_is_not_kept(reply):
    reformulator, model = templated(reply)
    reformulator.reformulate([OSLO])
    reformulator.reformulate([LIMA])
    assert len(model.calls) == 2


def test_other_routes_are_not_kept():
    model = ScriptedLanguageModel("ambiguous\nOslo rent\nRome rent 2020")
    reformulator = Templated(Prompted(model, [ClassifyAndRewrite()]))
    for query in (OSLO, LIMA):
        assert reformulator.reformulate([query])[0].calls == 1


@pytest.mark.parametrize(
    "other",
    [
        Query("q", LIMA.text, history=read_history(("before",))),
        Query("q", LIMA.text, feedback=(Snippet("t", "x"),)),
        Query("q", "Compare rent in \ue000 and \ue001 in \uf000"),
        Query("q", "Compare wages in Lima and New York in 1990"),
    ],
)
def test_other_queries_have_another_template(other):
    reformulator, model = templated(SPLIT)
    reformulator.reformulate([OSLO])
    reformulator.reformulate([other])
    assert len(model.calls) == 2


def test_by_setting_for_every_strategy_that_splits():
    for name in ("decomposition", "adaptive"):
        for reuse, calls in ((True, 0), (False, 1)):
            model = ScriptedLanguageModel(SPLIT)
            made = load_reformulator(name, "model", StrategySettings(reuse_templates=reuse), language_model=model)
            made.reformulate([OSLO])
            assert made.reformulate([LIMA])[0].calls == calls
