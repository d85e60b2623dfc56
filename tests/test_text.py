"""How texts are compared and cleaned."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.text import distinct, normalised, one_line, without_echo, without_stutter
from acqo_rl.types import SubQuery


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is FAISS?", "what is faiss ?"),
        ("capital  of\tPeru", "Capital of Peru."),
        ("Straße", "STRASSE"),
        ("\uff26\uff21\uff29\uff33\uff33\uff1f", "faiss"),
        ("北京的人口是多少\uff1f", "北京的人口是多少"),
        ("caf\u00e9", "cafe\u0301"),
        ("zero\u200bwid\u00adth", "zerowidth"),
    ],
)
def test_count_as_the_same(one, other):
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C++", "C#"),
        ("C++", "C"),
        ("C#", "C"),
        ("10.5 percent", "105 percent"),
        ("-5 degrees", "5 degrees"),
        (".NET", "NET"),
        ("AT&T", "AT T"),
        ("résumé", "resume"),
        ("What is 10\u00b2?", "What is 102?"),
        ("log\u20823", "log23"),
        ("1\u00bd cups", "11/2 cups"),
        ("5!", "5"),
        ("Yahoo!", "yahoo"),
    ],
)
def test_count_as_different(one, other):
    assert normalised(one) != normalised(other)


@given(st.text() | st.text("aB5 ?!.:\u3002", max_size=8))
def test_a_normalised_text_stays_as_it_is(text):
    assert normalised(normalised(text)) == normalised(text)


@given(st.text())
def test_one_line_is_one_line(text):
    line = one_line(text)
    assert line == one_line(line) == line.strip()
    assert len(line.splitlines()) <= 1
    assert "  " not in line


def test_control_characters_and_lone_surrogates_go():
    assert one_line("a\x00b\x1b[31m\u2028c\u202ed\ud800e") == "a b [31m cd e"
    one_line("\ud800").encode()


@pytest.mark.parametrize(
    "text", ["?" * 100_000 + "x", " ?" * 50_000 + "x", "x" + " ?" * 50_000, "x" + "!" * 100_000, "word " * 20_000]
)
def test_a_long_text_takes_no_longer_than_its_length(text):
    begin = time.process_time()
    assert normalised(text)
    assert time.process_time() - begin < 1


def test_distinct_keeps_the_first_and_drops_what_holds_nothing():
    subs = [SubQuery(text, "part") for text in ("Peru?", "peru", " ", "?", "Chad", "\u200b")]
    assert [s.text for s in distinct(subs)] == ["Peru?", "Chad"]


@pytest.mark.parametrize("separator", ["\x00", "\ud800", "\U0007ffff", "\u2028", "\u2029", "\u00a0", "\t\n"])
def test_what_separates_words_becomes_one_space(separator):
    assert one_line(f"{separator}a{separator}{separator}b{separator}") == "a b"


@pytest.mark.parametrize(
    ("text", "once"),
    [
        ("Oslo Oslo Oslo", "Oslo"),
        ("nice view nice view of Oslo", "nice view of Oslo"),
        ("New York New York", "New York"),
        ("Oslo Norway Oslo", "Oslo Norway Oslo"),
        ("Oslo", "Oslo"),
        ("", ""),
    ],
)
def test_words_repeated_at_once_are_said_once(text, once):
    assert without_stutter(text) == once


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Oslo Norway Oslo", "Oslo Norway"),
        ("a b c b c", "a b c"),
        ("Oslo Norway oslo norway Oslo", "Oslo Norway"),
        ("Oslo Norway", "Oslo Norway"),
        ("Oslo", "Oslo"),
    ],
)
def test_words_at_the_end_that_came_before_are_left_out(text, kept):
    assert without_echo(text) == kept
