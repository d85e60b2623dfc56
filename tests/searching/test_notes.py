"""What every way of searching says about its difference to the raw query."""

from dataclasses import replace

import pytest
from stand_ins import Obedient, ScriptedHop, ScriptedRetriever, ranking

from acqo_rl.conversations import read_history
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.load import WITHOUT_MODEL, load_reformulator
from acqo_rl.reformulation.pass_through import RecentTurns
from acqo_rl.reformulation.settings import STRATEGIES
from acqo_rl.searching.hop import Hops
from acqo_rl.searching.result import notes_of, with_strange_texts
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.text import MAX_QUERY
from acqo_rl.types import Query, Reformulation, SubQuery, Turn

HISTORY = (Turn("user", "A hotel in Bergen"), Turn("assistant", "The Grand."))
ASKED = Query("q", "Compare one price and two views of Oslo and Bergen", HISTORY)
LONG = f"in {'far ' * 3000} away"
RAW = SubQuery(ASKED.text, "original")


def found(reformulator, query=ASKED, **path):
    return AdaptiveSearcher(reformulator, ScriptedRetriever({}), RankScoreFusion(), **path).search(query)


@pytest.mark.parametrize("name", ["prompted", "adaptive", *STRATEGIES, *WITHOUT_MODEL])
def test_whatever_is_searched_beside_or_instead_of_the_raw_query_is_noted(name):
    result = found(load_reformulator(name, "", language_model=Obedient()))
    assert bool(result.notes) == (result.reformulation.sub_queries != (RAW,))
    assert len(found(load_reformulator("raw", ""), hops=Hops(ScriptedHop("Oslo"))).notes) == 1


@pytest.mark.parametrize(
    ("sub_queries", "words"),
    [
        ([RAW], None),
        ([SubQuery("Compare one price", "part"), SubQuery("two views of Oslo and Bergen", "part")], set()),
        ([RAW, SubQuery("Oslo", "hop")], set()),
        ([RAW, SubQuery("Oslo Grand budget", "reading")], {"Grand", "budget"}),
        (
            [SubQuery("prices in Oslo, hotel", "reading"), SubQuery(RAW.text, "original", min_margin=0.05)],
            {"Compare", "views", "Bergen", "hotel"},
        ),
    ],
)
def test_words_left_out_and_added_are_named(sub_queries, words):
    notes = notes_of(Reformulation(ASKED, "expand", tuple(sub_queries), "any"))
    assert bool(notes) == (words is not None)
    named = {word for note in notes[1:] for word in note.partition(": ")[2].rstrip(".").split(", ")}
    assert named >= (words or set())


def test_labels_of_speakers_are_no_words_and_a_split_is_named():
    turns = found(RecentTurns(2)).notes
    assert "hotel" in turns[-1] and " U," not in turns[-1] and " S," not in turns[-1]
    parts = [SubQuery(text, "part") for text in ("one price of Oslo", "two views of Bergen")]
    assert "The query was split into 2 parts." in notes_of(Reformulation(ASKED, "decompose", (*parts, RAW), "any"))


@pytest.mark.parametrize("kind", ["variant", "hypothetical"])
def test_a_text_of_a_model_without_a_result_of_the_raw_query_is_a_problem_and_in_a_conversation_a_note(kind):
    good = SubQuery("budget hotel Oslo", kind)
    refusal = SubQuery("Sorry, I cannot compare one price.", kind)
    rankings = [ranking("a", "b", query=RAW.text), ranking("b", "c", query=good.text), ranking("d", query=refusal.text)]
    inside = Reformulation(ASKED, "expand", (RAW, good, refusal), "any")
    alone = with_strange_texts(replace(inside, query=replace(ASKED, history=())), rankings)
    assert refusal.text in alone.problem
    assert good.text not in alone.problem
    noted = with_strange_texts(inside, rankings)
    assert noted.problem is None
    assert [refusal.text in note for note in noted.notes] == [True]


@pytest.mark.parametrize(
    ("reformulator", "query"),
    [
        ("raw", Query("q", "x " * MAX_QUERY)),
        ("raw", Query("q", "Oslo", HISTORY * 30)),
        ("turns", Query("q", "Oslo", (Turn("user", LONG),))),
        ("rules", Query("q", "What does it cost?", (Turn("user", f"A hotel in Bergen {LONG}"),))),
        ("rewrite", Query("q", "Oslo", (Turn("user", LONG),))),
        ("rewrite", Query("q", LONG)),
    ],
)
def test_what_is_not_read_is_noted(reformulator, query):
    whole = Query("q", f"Oslo{' ' * MAX_QUERY}", (*HISTORY, Turn("user", " ")))
    asked = load_reformulator(reformulator, "", language_model=Obedient())
    cut, read = (str(found(asked, one).notes) for one in (query, whole))
    about = ("Only the last", "both ends", "only a part")
    assert any(words in cut for words in about)
    assert not any(words in read for words in about)


def test_the_last_two_turns_stand_before_the_query():
    talk = ("U: a hotel in Oslo", "S: The Grand.", "U: Is it near the sea?", "S: It is.")
    alone, inside = RecentTurns().reformulate(
        [Query("1", "and the price?"), Query("2", "and the price?", read_history(talk))]
    )
    assert (alone.route, alone.sub_queries[0].text) == ("pass", "and the price?")
    assert [s.text for s in inside.sub_queries] == ["U: Is it near the sea? S: It is. and the price?"]
    assert inside.route == "disambiguate"
