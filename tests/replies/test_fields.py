"""What models say, however they say it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.replies.answers import read_answer
from acqo_rl.replies.fields import (
    read_fields,
    read_ids,
    read_items,
    read_search,
    read_text,
    read_truth,
)
from acqo_rl.replies.values import read_json


@pytest.mark.parametrize(
    ("reply", "answerable", "next_query"),
    [
        ('{"answerable": false, "next_query": "who owns Google"}', False, "who owns Google"),
        ('Sure:\n```json\n{"answerable": true, "next_query": null}\n```', True, ""),
        ("{'answerable': False, 'next_query': None}", False, ""),  # Python's literals
        ("ANSWERABLE: yes\nNEXT_QUERY: none", True, ""),
        ("Let me think.\n**Answerable**: No\n- next query: who owns Google", False, "who owns Google"),
        ("answerable: no, only yesterday's figures\nnext_query: today's figures", False, "today's figures"),
        ("Answerable = not yet\nNext-Query: `nonexistent file error`", False, "nonexistent file error"),
        ("I do not know.", None, ""),
        ("", None, ""),
    ],
)
def test_a_gap_analysis(reply, answerable, next_query):
    fields = read_fields(reply)
    assert read_truth(fields.get("answerable")) is answerable
    assert read_text(fields.get("next_query")) == next_query


@pytest.mark.parametrize(("value", "expected"), [
    ("none", ""), ("None.", ""), ("N/A", ""), (None, ""), ('"null"', ""), ([], ""),
    ("None of the above: a film", "None of the above: a film"), ("nothing else matters", "nothing else matters"),
    (" **who?** ", "who?"), (7, "7"),
])  # fmt: skip
def test_none_is_a_whole_answer(value, expected):
    assert read_text(value) == expected


@pytest.mark.parametrize(("value", "expected"), [
    ("who owns Google", "who owns Google"),
    ("who owns Google\nThe answer is:\nThe answer is:", "who owns Google"),
    ("\n \"who owns Google\"", "who owns Google"),
    ("...", ""), ("?", ""), ("none", ""), (None, ""), ([], ""), (7, "7"),
    ("x" * 200, "x" * 200), ("x" * 201, ""), ("谁拥有谷歌", "谁拥有谷歌"),
])  # fmt: skip
def test_a_search_is_one_short_line(value, expected):
    assert read_search(value) == expected


@pytest.mark.parametrize(("value", "expected"), [
    (["population of Peru, 2020", "none", "area"], ("population of Peru, 2020", "area")),
    ("1. population of Peru, 2020\n2. area\n2. area", ("population of Peru, 2020", "area")),
    ("population; 2008 crisis", ("population", "2008 crisis")), ("none", ()), (None, ()), ("", ()),
])  # fmt: skip
def test_a_comma_belongs_to_its_gap(value, expected):
    assert read_items(value) == expected


@pytest.mark.parametrize(("value", "expected"), [
    ("sub1", (1,)), ("sub 1", (1,)), ("1", (1,)), ("sub1, sub2", (1, 2)), ("sub1.", (1,)), ("SUB2 and SUB1", (2, 1)),
    ([1, "2"], (1, 2)), (3, (3,)), ("none", ()), (None, ()), ([], ()), ("SUB-1", (1,)), (-1, ()), ("-2, 3", (3,)),
    ("none (SUB2 needs 1)", ()), ("**None**", ()),
])  # fmt: skip
def test_dependencies(value, expected):
    assert read_ids(value) == expected


@given(st.text(max_size=200))
def test_any_text_is_read(reply):
    fields = read_fields(reply)
    for value in fields.values():
        read_truth(value), read_text(value), read_items(value), read_ids(value)


@given(st.dictionaries(st.sampled_from(["answerable", "missing"]), st.text(max_size=20), min_size=1), st.text("ab :\n"))
def test_json_is_found_in_any_prose(fields, prose):
    assert read_json(prose + json.dumps(fields) + prose) == fields


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (" Google made it.\n\nIn 2018. ", "Google made it.\n\nIn 2018."),
        ("**Answer:** Google made it.", "Google made it."),
        ("Question: Who made BERT?\nFinal answer: Google", "Google"),
        ("Question: who made BERT\n\nQuestion: who made BERT\n", ""),
        ("Google made it first.\nGoogle made it first.\n1. Google made it first.", "Google made it first."),
        ("- Oslo\n- Bergen\n- Oslo", "- Oslo\n- Bergen\n- Oslo"),  # short lines may repeat
        ("The answer is: The answer is: The answer is: The answer is:", ""),
        ("He was born in Paris in Paris in Paris in 1960.", "He was born in Paris in 1960."),
        ("It is a long, long, long way.", "It is a long, long, long way."),
        ("", ""),
    ],
)
def test_an_answer_repeats_neither_the_question_nor_itself(reply, answer):
    assert read_answer(reply, "who made BERT?") == answer


@given(st.text(alphabet="ab \n.:", max_size=300))
def test_any_answer_is_read(reply):
    assert len(read_answer(reply, "a b")) <= len(reply)


@pytest.mark.parametrize("reply", ["[" * 3000, '{"a":' * 3000, "{" * 20_000, "[" * 100_000])
def test_a_reply_of_brackets_is_no_json_and_costs_little(reply):
    """Python's parser raises RecursionError on deep nesting."""
    assert read_json(reply) is None
    assert read_fields(reply) == {}


def test_a_number_that_is_no_id_is_left_out():
    """Python refuses to read integers of more than 4,300 digits."""
    assert read_ids("9" * 5000) == ()
    assert read_ids(f"sub 2, {'9' * 5000} and 3") == (2, 3)
