"""The classifier on labelled questions: accuracy, confusions, and what they cost."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from by_hand import evaluation

from acqo_rl.evaluation.labelled import classifier_content, classifier_tables, everyday_table, judge, judge_rules
from acqo_rl.reformulation.everyday import EverydayQuestion, well_rewritten
from acqo_rl.reformulation.labelled import LabelledQuestion
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.types import Query


def question(text, query_type, route="pass", challenges=("simple",)):
    return LabelledQuestion(Query(text, text), "en", query_type, route, challenges)


@pytest.fixture
def judged():
    """Two of four types and three of four routes as the rules have them; one question wants more than they see."""
    return judge(
        "four",
        [
            question("Who wrote Hamlet?", "factual"),
            question("museums in Oslo and Rome", "comparison", "pass"),
            question("toaster", "debugging"),
            question("Lima", "simple", challenges=("temporal", "multi_hop")),
        ],
    )


def by_title(judged, group=()):
    return {table.title: table for table in classifier_tables([judged], group, "nDCG@10")}


def test_accuracy_by_hand(judged):
    assert [judged.accuracy(what)[0] for what in ("query_type", "route", "challenges")] == [0.5, 0.75, 0.5]
    assert judged.confused("query_type") == {("comparison", "simple"): 1, ("debugging", "simple"): 1}
    assert judged.confused("route") == {("pass", "decompose"): 1}
    assert judged.unsure() == 0
    rows = by_title(judged)["Classifier: accuracy"].rows
    assert [row[:3] for row in rows] == [("four", what, "4") for what in ("query_type", "route", "challenges")]
    assert rows[0][3].startswith("50.0% [15.0%, 85.0%]")
    content = classifier_content([judged])["four"]
    assert content["query_type"]["confusion"]["debugging"]["simple"] == 1
    assert content["query_type"]["precision"]["debugging"] is None
    assert json.dumps(content, allow_nan=False)


def test_matrix_has_a_row_a_label_and_a_column_a_prediction(judged):
    table = by_title(judged)["Classifier: query type, four questions"]
    assert table.header == ("", "comparison", "debugging", "factual", "simple", "found")
    assert {row[0]: row[1:] for row in table.rows}["debugging"] == ("0", "0", "0", "1", "0.0%")
    assert {len(row) for row in table.rows} == {6}


def test_what_a_wrong_type_costs_is_measured_with_the_strategies_of_this_comparison(judged):
    """Two of the queries are comparisons to the rules: decomposing them gained .2 on average, for one more search."""
    texts = ["Compare A and B", "Who is it", "C vs D"]
    raw = named(evaluation("raw", [0.1, 0.9, 0.3]), texts)
    split = named(evaluation("decomposition", [0.4, 0.0, 0.4], searches=2), texts)
    row = by_title(judged, [raw, split])["What a wrong type costs"].rows[0]
    assert row == ("comparison", "simple", "1", "decomposition", "raw", "-1", "-1.00", "+0.200", "2")
    unmeasured = by_title(judged, [raw])["What a wrong type costs"].rows
    assert [row[-3:] for row in unmeasured] == [("-", "-", "0")] * 2
    assert unmeasured[1][:6] == ("debugging", "simple", "1", "step_back", "raw", "-1")


def test_what_a_wrong_route_costs(judged):
    """The rules make two searches of "museums in Oslo and Rome"; a missed split answers in part."""
    assert by_title(judged)["What a wrong route costs the labelled questions"].rows == (
        ("pass", "decompose", "1", "+1.00", "-"),
    )
    missed = judge("missed", [question("Lima", "simple", "decompose"), question("Rome", "simple", "disambiguate")])
    assert [row[-2:] for row in by_title(missed)["What a wrong route costs the labelled questions"].rows] == [
        ("-", "answered in part"),
        ("-", "one meaning only"),
    ]


def test_rules_that_are_right_have_no_costs():
    titles = by_title(judge("one", [question("Who wrote Hamlet?", "factual")]))
    assert not [title for title in titles if "wrong" in title]


def test_both_sets_are_judged():
    assert [one.name for one in judge_rules()] == ["seen", "held out"]


def named(given, texts):
    """The evaluation with other texts."""

    def renamed(result, text):
        made = result.reformulation
        return replace(result, reformulation=replace(made, query=replace(made.query, text=text)))

    return replace(given, results=tuple(map(renamed, given.results, texts)))


def test_the_table_of_everyday_questions_by_hand():
    rows = [
        ("rent in Porto and Lund", "list", "decompose", (("rent", "Porto"), ("rent", "Lund"))),
        ("nebra", "bare", "disambiguate", (("town",), ("disc", "sky"))),
        ("rent in Porto", "simple", "pass", ()),
    ]
    questions = [EverydayQuestion(Query(text, text), *labels) for text, *labels in rows]
    right = well_rewritten(PassThrough(), questions)
    assert right == [False, False, True]
    table = everyday_table(questions, {"raw": right, "all": [True] * 3})
    assert table.header == ("kind", "questions", "raw", "all")
    assert {row[0]: row[1:] for row in table.rows} == {
        "decompose": ("1", "0", "1"),
        "decompose: list": ("1", "0", "1"),
        "disambiguate": ("1", "0", "1"),
        "disambiguate: bare": ("1", "0", "1"),
        "pass": ("1", "1", "1"),
        "pass: simple": ("1", "1", "1"),
        "all": ("3", "1", "3"),
    }
