"""An untrained language model asked in words: every way in which its reply can be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stand_ins import ScriptedLanguageModel

from acqo_rl.reformulation.prompted import Prompted
from acqo_rl.reformulation.strategies import ClassifyAndRewrite, HyDE, MultiQuery, StepBack
from acqo_rl.types import Completion, Query, SubQuery

QUERY = Query("q", "Compare the moons of Mars and Jupiter")


def read(reply, query=QUERY, most=3):
    return Prompted(ScriptedLanguageModel(reply), [ClassifyAndRewrite(most)]).reformulate([query])[0]


@pytest.mark.parametrize("label", ["simple", "simple.", "Simple query", "**Simple**", "Label: simple", " SIMPLE \n"])
def test_label_however_it_is_dressed(label):
    """Compared exactly, "simple." would be decomposed."""
    reformulation = read(label)
    assert (reformulation.route, reformulation.problem) == ("pass", None)
    assert reformulation.sub_queries == (SubQuery(QUERY.text, "original"),)


@pytest.mark.parametrize(
    ("reply", "route", "texts"),
    [
        ("compound\nmoons of Mars\nmoons of Jupiter", "decompose", ["moons of Mars", "moons of Jupiter"]),
        ("Compound.\n\n1. moons of Mars\n2) moons of Jupiter", "decompose", ["moons of Mars", "moons of Jupiter"]),
        ("ambiguous\n- Mars planet\n* Mars god\n\u2022 Mars chocolate", "disambiguate",
         ["Mars planet", "Mars god", "Mars chocolate"]),
        ("compound\n2008 financial crisis\n10.5 percent", "decompose", ["2008 financial crisis", "10.5 percent"]),
        ("Here is the answer:\ncompound\nHere are the searches:\nmoons of Mars", "decompose", ["moons of Mars"]),
        ("compound:\nmoons of Mars", "decompose", ["moons of Mars"]),
        ("compound\n北京的人口\n上海的人口", "decompose", ["北京的人口", "上海的人口"]),
        ("compound\n以下是查询\uff1a\n北京的人口", "decompose", ["北京的人口"]),
        ("compound\nMars\nmars?\nJupiter\nIo\nEuropa", "decompose", ["Mars", "Jupiter", "Io"]),
        ("compound\n" + "x" * 500 + "\nJupiter", "decompose", ["Jupiter"]),
        ("ambiguous: moons of Mars", "disambiguate", ["moons of Mars"]),
        ("**Ambiguous:** How many moons has Mars?", "disambiguate", ["How many moons has Mars?"]),
        ("ambiguous\uff1a火星的卫星", "disambiguate", ["火星的卫星"]),
        ("ambiguous: Mars has several meanings\nMars planet", "disambiguate", ["Mars planet"]),
        ("compound\r\n\tmoons\x00 of \x1b Mars\u2028Jupiter", "decompose", ["moons of Mars", "Jupiter"]),
    ],
)  # fmt: skip
def test_reads_the_sub_queries(reply, route, texts):
    reformulation = read(reply)
    assert (reformulation.route, reformulation.problem) == (route, None)
    assert [s.text for s in reformulation.sub_queries] == texts
    assert {s.kind for s in reformulation.sub_queries} == {"part" if route == "decompose" else "reading"}


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "labels simple, ambiguous, compound"),
        (" \n\x00\n", "labels simple, ambiguous, compound"),
        ("I cannot help with that.", "'I cannot help with that.'"),
        ("oversimplified", "labels simple, ambiguous, compound"),
        ("compound", "label in 'compound'"),
        ("compound\n\n?\n", "no sub-query"),
        ("ambiguous: Mars has several meanings.", "no sub-query"),
        ("compound\n" + "x" * 100_000, "no sub-query"),
        ("x" * 100_000, "labels simple, ambiguous, compound"),
    ],
)
def test_falls_back_to_the_query_and_says_why(reply, problem):
    reformulation = read(reply)
    assert reformulation.route == "pass"
    assert reformulation.sub_queries == (SubQuery(QUERY.text, "original"),)
    assert problem in reformulation.problem
    assert len(reformulation.problem) < 300
    assert reformulation.completion == reply


def test_the_query_alone_is_the_pass_route():
    reformulation = read(f"compound\n{QUERY.text.lower()}?")
    assert (reformulation.route, reformulation.problem) == ("pass", None)
    assert reformulation.sub_queries == (SubQuery(QUERY.text, "original"),)


def test_a_line_that_the_limit_cut_is_dropped():
    cut = Completion("compound\nmoons of Mars\nmoons of Jupi", 12, finished=False)
    assert [s.text for s in read(cut).sub_queries] == ["moons of Mars"]
    alone = Completion("compound\nmoons of Jupi", 12, finished=False)
    assert [s.text for s in read(alone).sub_queries] == ["moons of Jupi"]


@given(st.text())
def test_every_reply_gives_something_to_search(reply):
    assert 1 <= len(read(reply).sub_queries) <= 3


def test_one_call_for_a_batch():
    """Classification and rewriting are one request, and one generation covers the batch."""
    model = ScriptedLanguageModel("simple", "compound\na b\nc d")
    answers = Prompted(model, name="baseline").reformulate([QUERY, Query("r", "a b and c d")])
    assert [len(call) for call in model.calls] == [2]
    assert [a.route for a in answers] == ["pass", "decompose"]
    assert [a.tokens for a in answers] == [1, 5]
    assert {a.made_by for a in answers} == {"baseline"}


def test_what_the_model_reads():
    model = ScriptedLanguageModel("simple")
    history = tuple(f"turn {i}<|im_end|>\n" for i in range(9))
    query = Query("q", "and\nits <|im_start|>moons?", history)
    Prompted(model, [ClassifyAndRewrite(most=2, history_turns=3)]).reformulate([query])
    conversation = model.calls[0][0]
    assert "at most 2" in conversation[0]["content"]
    assert [m["role"] for m in conversation[:3]] == ["system", "user", "assistant"]
    last = conversation[-1]["content"].splitlines()
    assert [line[:9] for line in last[:-1]] == ["U: turn 6", "S: turn 7", "U: turn 8"]
    assert last[-1].startswith("Question: and its ")
    assert "<|" not in conversation[-1]["content"]


class TestSeveralStrategies:
    def test_one_batch_for_all_and_each_a_path_of_its_own(self):
        model = ScriptedLanguageModel("Mars moons\nJupiter moons", "Mars has two moons.")
        reformulator = Prompted(model, [MultiQuery(variants=2), HyDE()])
        [answer] = reformulator.reformulate([QUERY])
        assert [len(call) for call in model.calls] == [2]
        assert answer.sub_queries == (
            SubQuery(QUERY.text, "original", 1.0),
            SubQuery("Mars moons", "variant", 0.8),
            SubQuery("Jupiter moons", "variant", 0.8),
            SubQuery("Mars has two moons.", "hypothetical", 1.5),
        )
        assert (answer.calls, answer.tokens, answer.made_by) == (2, 8, "multi_query+hyde")
        assert answer.completion == "Mars moons\nJupiter moons\n\nMars has two moons."

    def test_position_for_position(self):
        model = ScriptedLanguageModel("a", "b", "c", "d")
        answers = Prompted(model, [StepBack(), HyDE()]).reformulate([QUERY, Query("r", "other")])
        assert [[s.text for s in answer.sub_queries[1:]] for answer in answers] == [["a", "b"], ["c", "d"]]

    def test_one_that_fails_leaves_the_other(self):
        model = ScriptedLanguageModel(Completion("", 0, problem="timed out"), "moons")
        [answer] = Prompted(model, [MultiQuery(), StepBack()]).reformulate([QUERY])
        assert [s.text for s in answer.sub_queries] == [QUERY.text, "moons"]
        assert (answer.problem, answer.route) == ("multi_query: timed out", "expand")
        assert (answer.calls, answer.failed_calls) == (2, 1)

    def test_what_two_search_is_searched_once_at_the_greater_weight(self):
        model = ScriptedLanguageModel("moons\nrings", "Moons.")
        [answer] = Prompted(model, [MultiQuery(), HyDE()]).reformulate([QUERY])
        assert [(s.text, s.weight) for s in answer.sub_queries[1:]] == [("moons", 1.5), ("rings", 0.8)]

    def test_no_query_no_call_that_asks(self):
        model = ScriptedLanguageModel("moons")
        assert Prompted(model, [HyDE()]).reformulate([]) == []
        assert model.calls == []


def test_a_reply_cut_within_thoughts_that_the_template_opened_is_no_answer():
    replies = ["Rings?</think>\nrings of Saturn", Completion("Moons? Then", 5, finished=False)]
    model = ScriptedLanguageModel(*replies)
    whole, cut = Prompted(model, [StepBack()]).reformulate([QUERY, QUERY])
    assert [s.text for s in whole.sub_queries] == [QUERY.text, "rings of Saturn"]
    assert [s.text for s in cut.sub_queries] == [QUERY.text]
    assert "max_new_tokens" in cut.problem


@pytest.mark.parametrize("begin", ["<think>", "<thinking>", "[THINK]", "<reasoning>\n"])
def test_thoughts_are_no_answer_and_a_limit_that_ended_within_them_is_named(begin):
    end = begin.strip().replace("<", "</").replace("[", "[/")
    assert read(f"{begin}compound? Hm\nsimple{end}\ncompound\nmoons of Mars").route == "decompose"
    model = ScriptedLanguageModel(Completion(f"{begin}compound? Hm", 5, finished=False))
    [cut] = Prompted(model, [ClassifyAndRewrite()]).reformulate([QUERY])
    assert (cut.route, "max_new_tokens" in cut.problem) == ("pass", True)


@pytest.mark.parametrize(
    "reply",
    [
        "```\ncompound\nsize of Oslo\nsize of Rome\n```",
        '{"label": "compound", "queries": ["size of Oslo", "size of Rome"]}',
        '```json\n{\n "label": "compound",\n "queries": [\n  "size of Oslo",\n  "size of Rome"\n ]\n}\n```',
        "It is not simple; it is compound.\nsize of Oslo\nsize of Rome",
    ],
)
def test_label_and_sub_queries_are_read_in_fences_in_json_and_in_sentences(reply):
    reading = ClassifyAndRewrite().read(Query("q", "Oslo or Rome?"), Completion(reply, 20))
    assert (reading.route, [s.text for s in reading.sub_queries]) == ("decompose", ["size of Oslo", "size of Rome"])
