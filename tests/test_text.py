"""How texts are compared and cleaned."""

import unicodedata
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.text import distinct, each_word_once, normalised, one_line, word_key, words, words_of
from acqo_rl.types import SubQuery, well_formed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is FAISS?", "what is faiss ?"),
        ("capital  of\tPeru", "Capital of Peru."),
        ("Straße", "STRASSE"),
        ("\uff26\uff21\uff29\uff33\uff33\uff1f", "faiss"),
        ("北京的人口是多少\uff1f", "北京的人口是多少"),
        ("北京\uff01", "北京"),
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
    line = one_line(f"a{text}b")
    assert line == one_line(line) == " ".join(line.split())
    assert all(c.isprintable() or unicodedata.category(c) == "Co" for c in line)
    line.encode()


def test_distinct_keeps_the_first_and_drops_what_holds_nothing():
    subs = [SubQuery(text, "part") for text in ("Peru?", "peru", " ", "?", "Chad", "\u200b")]
    assert [s.text for s in distinct(subs)] == ["Peru?", "Chad"]


@pytest.mark.parametrize(
    ("text", "read", "once"),
    [
        ("nice view Nice, view of Oslo", "", "nice view of Oslo"),
        ("Oslo Norway Oslo norway Oslo", "Oslo, Norway", "Oslo Norway"),
        ("the mayor of the capital of Peru", "", "the mayor of the capital of Peru"),
        ("to the to the to the to", "", "to the"),
        ("singers of Duran Duran", "Tell me about Duran Duran.", "singers of Duran Duran"),
        ("Duran Duran Duran Duran", "Tell me about Duran Duran.", "Duran Duran"),
        ("Eiffel Tower Trump Tower", "Is the Eiffel Tower higher than the Trump Tower?", "Eiffel Tower Trump Tower"),
        ("New York New Mexico New York", "New York or New Mexico", "New York New Mexico"),
        ("New York New Mexico", "", "New York Mexico"),
        ("Oslo Oslo", "where is Oslo\nOslo is well known", "Oslo"),
        ("", "", ""),
    ],
)
def test_each_word_stands_once_unless_a_name_doubles_it(text, read, once):
    assert each_word_once(text, read) == once


_FEW = st.lists(st.sampled_from(["Oslo", "oslo,", "view", "of", "the", "Duran", "C++", "1977", "奥斯"])).map(" ".join)


@given(_FEW, _FEW)
def test_words_once_are_the_words_that_were_there_and_none_of_four_letters_stands_three_times(text, read):
    once = each_word_once(text, read)
    assert each_word_once(once, read) == once
    assert set(map(word_key, once.split())) == set(map(word_key, text.split()))
    counts = Counter(word_key(word) for word in words_of(once))
    assert all(times <= 2 for word, times in counts.items() if len(word) > 3)
    pairs = Counter(pairwise(map(word_key, words_of(once))))
    assert all(times == 1 for times in pairs.values())


@given(st.text(st.characters(exclude_categories=())))
def test_every_text_can_be_written(text):
    clean = well_formed(text)
    clean.encode()
    assert well_formed(clean) == clean
    if max(text, default="") < "\ud800":
        assert clean == text


def test_words_of_any_script_are_whole():
    text = "होटल एडलर में می‌شود שָׁלוֹם CVE-2021-44228 don't Zu\u0308rich มีสระว่ายน้ำ 有游泳池吗 2\u0304"
    wanted = "होटल एडलर में می‌شود שָׁלוֹם CVE-2021-44228 don t Zu\u0308rich มี สระ ว่าย น้ำ 有 游泳池 吗 2\u0304"
    assert words(text) == wanted.split()
