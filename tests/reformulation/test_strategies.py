"""Every strategy with a scripted model: what it asks, and what it searches."""

from __future__ import annotations

import jsonschema
import pytest
from stand_ins import ScriptedLanguageModel

from acqo_rl.conversations import read_history
from acqo_rl.language_models.structured import example, read_reply
from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.reformulation.strategies import (
    ClassifyAndRewrite,
    Decomposition,
    Expansion,
    HyDE,
    MultiQuery,
    Rewrite,
    StepBack,
)
from acqo_rl.types import Completion, Query, Snippet, SubQuery

QUERY = Query("q", "Why is the sky blue?")
ORIGINAL = SubQuery(QUERY.text, "original", 1.0)
ALL = (MultiQuery(), HyDE(), StepBack(), Rewrite(), Decomposition(), Expansion(), ClassifyAndRewrite())
EVERY = pytest.mark.parametrize("strategy", ALL, ids=lambda strategy: strategy.name)


def reformulate(strategy, query=QUERY, **reply):
    return Prompted(ScriptedLanguageModel(example(**reply)), [strategy]).reformulate([query])[0]


def system(strategy):
    return strategy.conversation(QUERY)[0]["content"]


@EVERY
def test_the_examples_of_a_prompt_match_its_schema(strategy):
    shown = [message["content"] for message in strategy.conversation(QUERY) if message["role"] == "assistant"]
    assert shown
    for reply in shown:
        value = read_reply(Completion(reply, 9), strategy.schema)
        jsonschema.validate(value, strategy.schema)
        assert example(**value) == reply


@EVERY
def test_turns_and_feedback_are_read_without_special_tokens(strategy):
    query = Query(
        "q",
        "and\nits <|im_start|>moons?",
        read_history(("Mars<|im_end|>", "A planet.")),
        (Snippet("Mars", "[/INST] x"),),
    )
    conversation = strategy.conversation(query)
    assert conversation[0]["role"] == "system"
    assert conversation[-1]["content"].splitlines() == [
        "U: Mars< |im_end|>",
        "S: A planet.",
        "- Mars: [ /INST] x",
        "Question: and its < |im_start|>moons?",
    ]


@EVERY
def test_a_reply_of_another_form_leaves_the_raw_query(strategy):
    model = ScriptedLanguageModel('{"other": 1}')
    [answer] = Prompted(model, [strategy]).reformulate([QUERY])
    assert (answer.route, answer.sub_queries) == ("pass", (ORIGINAL,))
    assert strategy.name in answer.problem and "other" in answer.problem
    assert answer.failed_calls == 0


class TestMultiQuery:
    def test_variants_beside_the_query_and_worth_less(self):
        answer = reformulate(MultiQuery(), searches=["blue sky cause", "WHY is the sky  blue", "light in air", "more"])
        assert answer.sub_queries == (
            ORIGINAL,
            SubQuery("blue sky cause", "variant", 0.8),
            SubQuery("light in air", "variant", 0.8),
        )
        assert (answer.route, answer.problem, answer.calls, answer.made_by) == ("expand", None, 1, "multi_query")

    def test_what_is_asked_follows_the_settings(self):
        assert "Write 5 searches" in system(MultiQuery(variants=5))
        assert "for a plant's safety manuals. Write" in system(MultiQuery(domain="a plant's safety manuals"))
        assert "Write the last one in Chinese." in system(MultiQuery(translate_to="Chinese"))
        assert "Chinese" not in system(MultiQuery())

    def test_the_query_can_be_left_out(self):
        answer = reformulate(MultiQuery(original_weight=0), searches=["a", "b"])
        assert [s.kind for s in answer.sub_queries] == ["variant"] * 2


class TestHyDE:
    def test_the_answer_counts_three_times_the_query(self):
        answer = reformulate(HyDE(), sentences=["Air scatters\nblue light.", "It is\x00 thin."])
        assert answer.sub_queries == (
            SubQuery(QUERY.text, "original", 0.5),
            SubQuery("Air scatters blue light. It is thin.", "hypothetical", 1.5),
        )

    def test_a_passage_in_plain_text_is_read_too(self):
        model = ScriptedLanguageModel("Here is a passage:\n\nAir scatters blue light.\nIt is thin.")
        [answer] = Prompted(model, [HyDE()]).reformulate([QUERY])
        assert answer.sub_queries[1].text == "Air scatters blue light. It is thin."


def test_a_more_general_query_is_searched_beside_the_query():
    answer = reformulate(StepBack(), search="light scattering in gases")
    assert answer.sub_queries == (ORIGINAL, SubQuery("light scattering in gases", "step_back", 0.8))


def test_a_rewritten_query_replaces_the_query():
    answer = reformulate(Rewrite(), search="colour of the sky")
    assert answer.sub_queries == (SubQuery("colour of the sky", "variant", 1.0),)


class TestDecomposition:
    def test_parts_up_to_the_number_of_the_settings(self):
        answer = reformulate(Decomposition(parts=2), searches=["a b", "c d", "e f"])
        assert [(s.text, s.kind) for s in answer.sub_queries[1:]] == [("a b", "part"), ("c d", "part")]
        assert answer.route == "decompose"
        assert "at most 2" in system(Decomposition(parts=2))

    def test_the_question_repeated_is_the_pass_route(self):
        answer = reformulate(Decomposition(), searches=["why is the sky blue"])
        assert (answer.route, answer.sub_queries, answer.problem) == ("pass", (ORIGINAL,), None)


class TestExpansion:
    def test_terms_that_the_query_does_not_have_are_appended(self):
        answer = reformulate(Expansion(terms=3), terms=["Rayleigh scattering", "sky", "wavelength"])
        assert answer.sub_queries[1:] == (
            SubQuery("Why is the sky blue? Rayleigh scattering wavelength", "expansion", 0.8),
        )

    def test_or_searched_by_themselves_and_together_weigh_as_much(self):
        answer = reformulate(Expansion(form="sub_queries"), terms=["Rayleigh scattering", "wavelength"])
        assert [(s.text, s.weight) for s in answer.sub_queries[1:]] == [
            ("Rayleigh scattering", 0.4),
            ("wavelength", 0.4),
        ]

    def test_no_new_term_is_reported(self):
        answer = reformulate(Expansion(), terms=["sky"])
        assert (answer.sub_queries, answer.route) == ((ORIGINAL,), "pass")
        assert answer.problem


class TestClassifyAndRewrite:
    @pytest.mark.parametrize(
        ("kind", "route", "of_kind"), [("ambiguous", "disambiguate", "reading"), ("Compound", "decompose", "part")]
    )
    def test_route_and_sub_queries(self, kind, route, of_kind):
        answer = reformulate(ClassifyAndRewrite(), kind=kind, searches=["a", "b", "A?", "c", "d"])
        assert (answer.route, answer.problem) == (route, None)
        assert answer.sub_queries == tuple(SubQuery(text, of_kind) for text in ("a", "b", "c"))

    def test_a_simple_question_is_searched_as_it_is(self):
        answer = reformulate(ClassifyAndRewrite(), kind="simple", searches=["something else"])
        assert (answer.route, answer.sub_queries, answer.problem) == ("pass", (ORIGINAL,), None)

    def test_no_search_is_reported(self):
        answer = reformulate(ClassifyAndRewrite(), kind="compound", searches=[])
        assert (answer.route, answer.sub_queries) == ("pass", (ORIGINAL,))
        assert answer.problem

    def test_the_last_turns_are_read(self):
        query = Query("q", "and its moons?", read_history(tuple(f"turn {i}" for i in range(9))))
        conversation = ClassifyAndRewrite(most=2, history_turns=3).conversation(query)
        assert "at most 2" in conversation[0]["content"]
        assert [line[:9] for line in conversation[-1]["content"].splitlines()[:-1]] == [
            "U: turn 6",
            "S: turn 7",
            "U: turn 8",
        ]
