"""Decompositions by the form of a query (S0-36)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import ScriptedLanguageModel

from acqo_rl.reformulation.cached import reformulation_cache
from acqo_rl.reformulation.forms import ByForm, form_of
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.load import StrategySettings, load_reformulator
from acqo_rl.types import Query, Reformulation, Snippet, SubQuery


class Scripted:
    """Splits every query into the given parts, and keeps what it was asked."""

    name = "scripted"

    def __init__(self, *parts, route="decompose", kind="part", **told):
        self.subs = tuple(SubQuery(part, kind, 0.5) for part in parts)
        self.route, self.told, self.asked = route, told, []

    def reformulate(self, queries):
        self.asked += [query.text for query in queries]
        subs = [(SubQuery(query.text, "original"), *self.subs) for query in queries]
        return [
            Reformulation(q, self.route, s, self.name, "text", 9, calls=1, **self.told)
            for q, s in zip(queries, subs, strict=True)
        ]


def by_form(inner):
    return ByForm(inner, reformulation_cache())


def ask(reformulator, *texts):
    return [reformulator.reformulate([Query(str(i), text)])[0] for i, text in enumerate(texts)]


def test_other_names_and_numbers_are_split_alike_without_a_call():
    inner = Scripted("population of Oslo in 1999", "population of New York in 1999")
    first, other = ask(
        by_form(inner),
        "Compare the populations of Oslo and New York in 1999",
        "compare the populations of Lima and Quito in 2,024?",
    )
    assert inner.asked == ["Compare the populations of Oslo and New York in 1999"]
    assert [s.text for s in other.sub_queries] == [
        "compare the populations of Lima and Quito in 2,024?",
        "population of Lima in 2,024",
        "population of Quito in 2,024",
    ]
    assert [(s.kind, s.weight) for s in other.sub_queries] == [(s.kind, s.weight) for s in first.sub_queries]
    assert (first.calls, other.calls, other.tokens, other.completion, other.query.id) == (1, 0, 0, "", "1")
    assert "earlier query" in other.reasoning and not first.reasoning


@pytest.mark.parametrize(
    "inner",
    [
        Scripted("population of Oslo", "population of Rome"),  # a name of its own
        Scripted("population of Oslo", "population of Oslo"),  # Bergen is in no part
        Scripted("Oslo in 2024", "Bergen"),  # a number of its own
        Scripted("Oslo", "Bergen", route="disambiguate"),
        Scripted("Oslo", "Bergen", kind="hypothetical"),
        Scripted("Oslo", "Bergen", problem="cut"),
    ],
    ids=["name", "unused", "number", "reading", "document", "problem"],
)
def test_what_fits_its_query_alone_is_not_kept(inner):
    ask(by_form(inner), "Compare Oslo and Bergen", "Compare Lima and Quito")
    assert len(inner.asked) == 2


@pytest.mark.parametrize(
    "query",
    [
        Query("q", "compare the two"),
        Query("q", "Compare Lima and {0}"),
        Query("q", "Compare Lima and Quito", history=("U: of Peru",)),
        Query("q", "Compare Lima and Quito", feedback=(Snippet("Lima", "x"),)),
    ],
    ids=["no name", "a slot", "history", "feedback"],
)
def test_what_has_no_form(query):
    assert form_of(query) is None


def test_the_same_name_twice_is_another_form_than_two_names():
    forms = [form_of(Query("q", f"Compare Oslo and {other}")) for other in ("Oslo", "Bergen")]
    assert forms[0].key != forms[1].key
    assert forms[1].values == ("Oslo", "Bergen")


@given(st.lists(st.sampled_from(["Oslo", "New York", "York", "Rome", "Lima"]), min_size=2, max_size=2, unique=True))
def test_equals_the_rules_where_they_split_by_form(names):
    """The rules, asked themselves, split as what they said of other names."""
    one, other = names
    text = f"Compare the population of {one} and {other}"
    [_, filled] = ask(by_form(Heuristic()), "Compare the population of Peru and Chad", text)
    [made] = Heuristic().reformulate([Query("1", text)])
    assert filled.sub_queries == made.sub_queries
    assert filled.reasoning


def test_by_a_setting():
    model = ScriptedLanguageModel("1. population of Oslo\n2. population of Bergen")
    settings = StrategySettings(reuse_forms=True)
    reformulator, _, _ = load_reformulator("decomposition", "m", settings, language_model=model)
    ask(reformulator, "Compare the populations of Oslo and Bergen", "Compare the populations of Lima and Quito")
    assert len(model.calls) == 1
