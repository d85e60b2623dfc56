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
