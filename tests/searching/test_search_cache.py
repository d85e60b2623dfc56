"""When two queries are the same, and how long and how many answers are kept."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConfigError
from acqo_rl.searching.cache import TimedCache, query_key
from acqo_rl.types import Query, Snippet

WORDS = st.lists(st.text("abcXYZ019+#.&-é京", min_size=1, max_size=6), min_size=1, max_size=4)
CLOSING = st.sampled_from(
    ["", " ?", "?", "!", ".", "?!", "!!", "...", "\u3002", "\uff1f", "\uff01", " \uff1f", ";", ","]
)
SPACES = st.sampled_from([" ", "  ", "\t", "\u00a0", "\n"])


def key(text, **parts):
    return query_key(Query("q", text, **parts))


@given(WORDS, SPACES, CLOSING, st.sampled_from([str.upper, str.lower, str.title, str.swapcase, str]))
def test_case_spacing_and_the_closing_punctuation_of_a_sentence_do_not_matter(words, space, closing, case):
    words = [*words, "Peru"]
    assert key(case(f" {space.join(words)}{closing}{space}")) == key(" ".join(words))


@pytest.mark.parametrize(
    "texts",
    [
        ("5!", "5", "5!!", "5:"),
        ("What is 5!", "What is 5", "What is 5!!?"),
        ("C.", "C", "C:"),
        ("files on C:", "files on C"),
        ("3.", "3"),
        ("Yahoo!", "Yahoo"),
        (".NET", "NET"),
        ("no.", "no"),
        ("mass.", "mass"),
        ("Ke$ha", "Kesha"),
        ("P!nk", "Pnk"),
        ("value of (n-1)!", "value of (n-1)"),
        ("what does :: mean", "what does : mean"),
        ("meaning of !", "meaning of", "meaning of :", "meaning of ::"),
    ],
)
def test_closing_punctuation_that_may_be_meant_does(texts):
    assert len({key(text) for text in texts}) == len(texts)
    assert [key(f"{text} ?") for text in texts] == [key(text) for text in texts]


def test_wordings_of_the_requirements_share_a_key():
    assert len({key(text) for text in ("What is FAISS?", "what is faiss?", "What is FAISS!", "what is faiss ?")}) == 1


@given(
    st.lists(st.text("ab", min_size=1, max_size=2), max_size=3),
    st.lists(st.text("ab", min_size=1, max_size=2), max_size=3),
)
def test_conversation_and_what_was_shown_are_part_of_it(one, other):
    assert (key("q", history=read_history(one)) == key("q", history=read_history(other))) == (one == other)
    shown = [tuple(Snippet(text, "") for text in texts) for texts in (one, other)]
    assert (key("q", feedback=shown[0]) == key("q", feedback=shown[1])) == (one == other)
    query = Query("1", "q", history=read_history(tuple(one)))
    assert query_key(query) == query_key(replace(query, id="2"))


@given(st.integers(0, 4), st.lists(st.tuples(st.integers(0, 6), st.booleans())))
def test_holds_the_latest_used_ones_and_no_more(size, steps):
    """Against a list that is kept by hand: the least recently used one goes first."""
    cache, latest = TimedCache(size), []
    for number, writes in steps:
        there = number in latest
        if there:
            latest.remove(number)
        if writes:
            cache.put(number, number)
            latest = [*latest, number][-size:] if size else []
        else:
            assert cache.get(number) == (number if there else None)
            latest += [number] * there
    assert [cache.get(number) for number in range(7)] == [n if n in latest else None for n in range(7)]


@given(st.floats(0.1, 100), st.floats(0, 200))
def test_grows_old(seconds, passed):
    now = [0.0]
    cache = TimedCache(4, seconds, lambda: now[0])
    cache.put("q", 1)
    now[0] = passed
    assert cache.get("q") == (1 if passed < seconds else None)


@pytest.mark.parametrize(("size", "seconds"), [(-1, 1.0), (1, 0.0)])
def test_bounds_that_cannot_be(size, seconds):
    with pytest.raises(ConfigError, match=f"{size} .* {seconds} s"):
        TimedCache(size, seconds)
