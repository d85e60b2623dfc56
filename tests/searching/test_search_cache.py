"""When two questions are the same, and how long and how many answers are kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConfigError
from acqo_rl.searching.cache import TimedCache, query_key
from acqo_rl.types import Query, Snippet


def key(text, **parts):
    return query_key(Query("q", text, **parts))


def test_conversation_and_feedback_are_part_of_it_and_the_id_is_not():
    queries = [
        Query("1", "q"),
        Query("1", "q", read_history(("before",))),
        Query("1", "q", feedback=(Snippet("before", ""),)),
    ]
    assert len({query_key(query) for query in queries}) == 3
    assert key("???") != key("!!!")
    assert [query_key(replace(query, id="2")) for query in queries] == [query_key(query) for query in queries]


@pytest.mark.parametrize(("size", "seconds"), [(-1, 1.0), (1, -1.0)])
def test_bounds_that_cannot_be(size, seconds):
    with pytest.raises(ConfigError):
        TimedCache(size, seconds)
