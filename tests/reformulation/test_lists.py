"""Lists as language models write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.reformulation.lists import read_list
from acqo_rl.text import normalised
from acqo_rl.types import Completion


def read(text, most=9, finished=True):
    return read_list(Completion(text, 9, finished), most)


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("1. a b\n2) c d\n- e\n* f\n\u2022 g", ["a b", "c d", "e", "f", "g"]),
        ("Here are three queries:\n1. a b\n2. c d", ["a b", "c d"]),
        ("Sure! Here are some queries you could use\na b", ["a b"]),
        ("2008 financial crisis\n10.5 percent\n3D printing", ["2008 financial crisis", "10.5 percent", "3D printing"]),
        ("C++\nGo\nUS", ["C++", "Go", "US"]),
        ("1\u3001北京人口\n2\u3001上海", ["北京人口", "上海"]),
        ("1.北京人口\n\uff082\uff09上海\n(3) a b", ["北京人口", "上海", "a b"]),
        ("以下是三个查询\uff1a\n1. 北京人口\n上海", ["北京人口", "上海"]),
        ("Query 1: a b\nSub-query 2: c d\nSearch query 3: e", ["a b", "c d", "e"]),
        ('"a b"\n**c d**\n`e`\n\u201cf\u201d', ["a b", "c d", "e", "f"]),
        ('["a b", "c d", 3]', ["a b", "c d"]),
        ("```\na b\n```", ["a b"]),
        ("<think>first: c\nthen d</think>\na b", ["a b"]),
        ("a b\nA B?\na  b\nc", ["a b", "c"]),
        ("\n \n a\x00b \u2028\n\n", ["a b"]),
        ("", []),
        (" \n?\n...\n", []),
        ("Here are the queries:", []),
        ("x" * 201 + "\nshort", ["short"]),
        ("**1.** a b\n**2**. c d\n**Query 3:** e", ["a b", "c d", "e"]),
        ("\u2013 a\n+ b\n\u25e6 c", ["a", "b", "c"]),
        ("Q1: a\nQuery: b\nAnswer: x", ["a", "b", "x"]),
        ("查询1\uff1aa\n一、b\n①c", ["a", "b", "c"]),
        ("a\nHope this helps!\nNote: these are general.", ["a"]),
        ("## Queries\na\n\n**Queries**\nb\nQueries\n---", ["a", "b"]),
        ("| # | query |\n|---|---|\n| 1 | a |", []),
        ("<think>hmm, one could ask\nfor a", []),
        ('`SELECT *`\n**kwargs in Python\n27"\n__init__', ["SELECT *", "**kwargs in Python", '27"', "__init__"]),
        ('"a" or "b"', ['"a" or "b"']),
        ("Here is Where band\nWhat is SQL injection:", ["Here is Where band", "What is SQL injection:"]),
        (
            "I can't help falling in love\nI'm Sorry I Haven't a Clue\n对不起\uff0c我爱你",
            ["I can't help falling in love", "I'm Sorry I Haven't a Clue", "对不起\uff0c我爱你"],
        ),
    ],
)
def test_reads_what_is_meant(text, entries):
    """S2-04, S3-17, D3-02: a preamble is no entry, a number of the text is no numbering, and short is not empty."""
    assert read(text) == entries


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ('```json\n["a", "b"]\n```', ["a", "b"]),
        ('```json ["a", "b"]```', ["a", "b"]),
        ('Here you are. ["a", "b"]', ["a", "b"]),
        ('These are the searches:\n[\n  "a",\n  "b"\n]\nHope this helps!', ["a", "b"]),
        ('{"queries": ["a", "b"]}', ["a", "b"]),
        ('[{"query": "a", "why": "because"}, {"query": "b"}]', ["a", "b"]),
        ('{"query": "a"}\n{"query": "b"}', ["a", "b"]),
        ('{"1": "a", "2": "b"}', ["a", "b"]),
        ('["a", "b", "and th', ["a", "b"]),
        ("[]", []),
        ("[x] in Markdown", ["[x] in Markdown"]),
        ("[1] as a citation", ["[1] as a citation"]),
        ("[" * 100_000, []),
    ],
)
def test_json_in_any_wrapping(text, entries):
    assert read(text, finished=not text.endswith("th")) == entries


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I\u2019m sorry, but I can\u2019t help with that.\nPlease ask something else.",
        "As an AI language model, I have no access to the internet.",
        "I cannot assist with this request.",
        "对不起\uff0c我无法回答。",
    ],
)
def test_a_refusal_holds_no_search(text):
    assert read(text) == []


def test_no_more_than_asked_for():
    assert read("a\nb\nc", most=2) == ["a", "b"]


def test_a_last_line_that_was_cut_is_left_out_unless_it_is_all_there_is():
    assert read("a b\nc d\ne", finished=False) == ["a b", "c d"]
    assert read("a b", finished=False) == ["a b"]


@given(st.text(), st.integers(1, 5), st.booleans())
def test_whatever_was_written(text, most, finished):
    entries = read(text, most, finished)
    assert len(entries) <= most
    assert len({normalised(entry) for entry in entries}) == len(entries)
    assert all(0 < len(entry) <= 200 and len(entry.splitlines()) == 1 for entry in entries)


@given(st.lists(st.sampled_from(["a b", "C++", "2008 crisis", "10.5", "北京", "-5 degrees", "what?"]), unique=True))
def test_numbered_lists_read_as_plain_ones(entries):
    assert read("\n".join(f"{i}. {entry}" for i, entry in enumerate(entries, 1))) == read("\n".join(entries))
