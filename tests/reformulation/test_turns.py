from __future__ import annotations

import pytest

from acqo_rl.conversations import read_history
from acqo_rl.reformulation.turns import RecentTurns
from acqo_rl.types import Query


def test_the_last_two_turns_stand_before_the_query():
    talk = ("U: a hotel in Oslo", "S: The Grand.", "U: Is it near the sea?", "S: It is.")
    alone, inside = RecentTurns().reformulate(
        [Query("1", "and the price?"), Query("2", "and the price?", read_history(talk))]
    )
    assert (alone.route, alone.sub_queries[0].text) == ("pass", "and the price?")
    assert [s.text for s in inside.sub_queries] == ["U: Is it near the sea? S: It is. and the price?"]
    assert inside.route == "disambiguate"


def test_a_long_turn_keeps_both_ends_and_leaves_room_for_the_query():
    talk = ("U: a hotel in Oslo", f"S: The Grand {'is nice and ' * 200} near the sea.")
    [inside] = RecentTurns().reformulate([Query("1", "and the price?", read_history(talk))])
    text = inside.sub_queries[0].text
    assert len(text) < 320
    assert text.startswith("U: a hotel in Oslo S: The Grand")
    assert text.endswith("near the sea. and the price?")


@pytest.mark.parametrize("last", ["And its code?", " and  its code", "AND ITS CODE??"])
def test_a_history_that_ends_with_the_query_is_searched_without_it(last):
    """Chat clients send the whole list of messages, and its last message as the query."""
    messages = [
        {"role": "user", "content": "currency of Peru?"},
        {"role": "assistant", "content": "The sol."},
        {"role": "user", "content": last},
    ]
    history = read_history(messages, "And its code?")
    assert history == read_history(messages[:2])
    [reformulation] = RecentTurns().reformulate([Query("1", "And its code?", history)])
    assert reformulation.sub_queries[0].text == "U: currency of Peru? S: The sol. And its code?"


def test_a_question_that_was_answered_before_stays_in_the_history():
    talk = ("U: And its code?", "S: Which currency?")
    assert [str(turn) for turn in read_history(talk, "And its code?")] == list(talk)
    assert [str(turn) for turn in read_history(("U: And its name?",), "And its code?")] == ["U: And its name?"]
