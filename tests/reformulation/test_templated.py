"""Decompositions by template."""

import pytest
from stand_ins import ScriptedLanguageModel, strategy

from acqo_rl.conversations import read_history
from acqo_rl.language_models.structured import example
from acqo_rl.reformulation.load import load_reformulator
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.reformulation.templated import Templated
from acqo_rl.types import Query, Snippet, SubQuery

OSLO = Query("1", "Compare rent in Oslo and Rome in 2020")
LIMA = Query("2", "compare rent in Lima and New York in 1990?")
PARTS = ["rent in Oslo in 2020", "Rent in Rome in 2020"]
SPLIT = example(searches=PARTS)


def calls(reply, *queries, name="decomposition"):
    """The number of model calls for queries that are reformulated one after another."""
    model = ScriptedLanguageModel(reply)
    reformulator = Templated(Prompted(model, [strategy(name)]))
    for query in queries:
        reformulator.reformulate([query])
    return len(model.calls)


def test_a_query_of_a_known_template_is_split_without_a_call():
    reformulator = Templated(Prompted(ScriptedLanguageModel(SPLIT), [strategy("decomposition")]))
    [first] = reformulator.reformulate([OSLO])
    [second] = reformulator.reformulate([LIMA])
    assert (first.calls, second.calls, second.tokens, second.completion) == (1, 0, 0, "")
    assert second.sub_queries == (
        SubQuery(LIMA.text, "original"),
        SubQuery("rent in Lima in 1990", "part"),
        SubQuery("Rent in New York in 1990", "part"),
    )
    assert (second.query, second.route, second.made_by) == (LIMA, "decompose", "decomposition")
    assert reformulator.reformulate([OSLO])[0].sub_queries == first.sub_queries


@pytest.mark.parametrize(
    "parts",
    [
        [],
        PARTS[:1],
        ["rent in Oslo", "rent in Rome"],  # without the year
        [*PARTS, "housing costs"],  # a part without a name
        ["rent in Oslo, Norway in 2020", "rent in Rome in 2020"],  # another name
        [PARTS[0], f"{PARTS[1]} and 2021"],
    ],
)
def test_a_split_that_does_not_suit_other_names_is_not_kept(parts):
    assert calls(example(searches=parts), OSLO, LIMA) == 2


def test_only_splits_are_kept():
    reply = example(kind="ambiguous", searches=["rent in Oslo in 2020", "rent in Rome in 2020"])
    assert calls(reply, OSLO, LIMA, name="prompted") == 2


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
    assert calls(SPLIT, OSLO, other) == 2


@pytest.mark.parametrize("name", ["decomposition", "adaptive"])
@pytest.mark.parametrize(("reuse", "calls"), [(True, 0), (False, 1)])
def test_templates_are_used_by_setting(name, reuse, calls):
    settings = StrategySettings(reuse_templates=reuse)
    made = load_reformulator(name, "model", settings, language_model=ScriptedLanguageModel(SPLIT))
    made.reformulate([OSLO])
    assert made.reformulate([LIMA])[0].calls == calls
