"""Decompositions by template."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import ScriptedLanguageModel

from acqo_rl.conversations import read_history
from acqo_rl.reformulation.cached import reformulation_cache
from acqo_rl.reformulation.load import StrategySettings, load_reformulator
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.reformulation.strategies import ClassifyAndRewrite, Decomposition
from acqo_rl.reformulation.templated import Templated, template_of
from acqo_rl.types import Query, Snippet, SubQuery

OSLO = Query("1", "Compare rent in Oslo and Rome in 2020")
LIMA = Query("2", "compare rent in Lima and New York in 1990?")
SPLIT = "rent in Oslo in 2020\nRent in Rome in 2020"


def templated(*replies, cache=None, cache_key="m"):
    model = ScriptedLanguageModel(*replies)
    return Templated(Prompted(model, [Decomposition()]), cache_key, cache or reformulation_cache()), model


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


def test_within_a_batch_the_first_of_each_template_is_asked():
    reformulator, model = templated(SPLIT, "who\nwhat")
    plain = Query("3", "why is the sky blue")
    answers = reformulator.reformulate([OSLO, LIMA, plain, OSLO])
    assert [len(call) for call in model.calls] == [2]
    assert asked(model) == [OSLO.text, plain.text]
    assert [a.calls for a in answers] == [1, 0, 1, 0]
    assert [a.query for a in answers] == [OSLO, LIMA, plain, OSLO]


def test_what_cannot_be_kept_is_asked_again_for_the_others_of_its_batch():
    reformulator, model = templated("rent in Norway\nrent in Italy", "rent in Lima in 1990\nrent in New York in 1990")
    answers = reformulator.reformulate([OSLO, LIMA])
    assert [len(call) for call in model.calls] == [1, 1]
    assert texts(answers[1])[1:] == ["rent in Lima in 1990", "rent in New York in 1990"]
    assert reformulator.reformulate([OSLO])[0].calls == 0


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
    reformulator = Templated(Prompted(model, [ClassifyAndRewrite()]), "m", reformulation_cache())
    for query in (OSLO, LIMA):
        assert reformulator.reformulate([query])[0].calls == 1


def test_templates_of_another_model_are_others():
    cache = reformulation_cache()
    templated(SPLIT, cache=cache)[0].reformulate([OSLO])
    assert templated(SPLIT, cache=cache, cache_key="n")[0].reformulate([LIMA])[0].calls == 1
    assert templated(SPLIT, cache=cache)[0].reformulate([LIMA])[0].calls == 0


@pytest.mark.parametrize(
    "query",
    [
        Query("q", "why is the sky blue"),
        Query("q", "Compare Oslo and Rome", history=read_history(("before",))),
        Query("q", "Compare Oslo and Rome", feedback=(Snippet("t", "x"),)),
        Query("q", "Compare Oslo and \u27e80\u27e9"),
    ],
)
def test_what_has_no_template(query):
    assert template_of(query) is None


def test_templates_by_hand():
    first, second, third = "\u27e80\u27e9", "\u27e81\u27e9", "\u27e82\u27e9"
    assert template_of(OSLO).text == template_of(LIMA).text == f"compare rent in {first} and {second} in {third}"
    assert template_of(LIMA).values == ("Lima", "New York", "1990")
    assert template_of(Query("q", "Is Rome older than York or New York?")).text.endswith(f"{second} or {third}")


@given(st.text(alphabet="ABab 1990\u27e8\u27e9.,'", max_size=40))
def test_values_go_back_where_they_were(text):
    template = template_of(Query("q", text))
    if template:
        once = " ".join(text.split())
        assert template.put_in(template.take_out(once)) == once


def test_by_setting_for_every_strategy_that_splits():
    for name in ("decomposition", "adaptive"):
        for reuse, calls in ((True, 0), (False, 1)):
            model = ScriptedLanguageModel(SPLIT)
            made = load_reformulator(name, "model", StrategySettings(reuse_templates=reuse), language_model=model)
            made.reformulate([OSLO])
            assert made.reformulate([LIMA])[0].calls == calls
