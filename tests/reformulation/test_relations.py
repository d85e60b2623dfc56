"""Things joined by one predicate are searched together; things with separate predicates are searched separately."""

from __future__ import annotations

import pytest

from acqo_rl.reformulation.splitting import parts_of


@pytest.mark.parametrize(
    "text",
    [
        "How far apart are Lima and Quito?",
        "How close are Mars and Earth?",
        "When were Laurel and Hardy partners?",
        "Were Goethe and Schiller good friends?",
        "Why are Israel and Iran enemies?",
        "Are Sweden and Finland allies?",
        "Why were Galileo and Rome in conflict?",
        "When did Egypt and Israel make peace?",
        "When did Brazil and Portugal sign the treaty?",
        "Which treaty did Russia and Ukraine sign?",
        "When did Sweden and Norway split?",
        "When did Exxon and Mobil become one company?",
        "Did Hamilton and Burr duel?",
        "What did Einstein and Bohr disagree about?",
        "Who mediated Egypt and Israel?",
        "Who introduced Taylor and Burton?",
        "What is the time difference of London and Tokyo?",
        "What is the difference of 10 and 3?",
        "trade war US and China",
        "effects of mixing bleach and ammonia",
        "effects of combining alcohol and tylenol",
        # a family and its name
        "What did Marie and Pierre Curie discover?",
        "When were Wilbur and Orville Wright born?",
        # a work, a show or a pair
        "Who wrote The Lion, the Witch and the Wardrobe?",
        "Who plays in Dumb and Dumber?",
        "Who created Ren and Stimpy?",
        "When did Cagney and Lacey end?",
        "What year did Turner and Hooch come out?",
        "What is the plot of Fire and Ice?",
        "Where do Wallace and Gromit live?",
        "Who were Romulus and Remus?",
    ],
)
def test_what_is_joined_is_left_whole(text):
    assert parts_of(text) == ()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("How close are Mars and Earth to the Sun?", ["How close is Mars to the Sun", "How close is Earth to the Sun"]),
        ("Did both Euler and Gauss win a match?", ["Did Euler win a match", "Did Gauss win a match"]),
        ("When were Kepler and Galileo born?", ["When was Kepler born", "When was Galileo born"]),
        ("Where do Kepler and Galileo lie?", ["Where does Kepler lie", "Where does Galileo lie"]),
        ("Who wrote Emma, Hamlet and Faust?", ["Who wrote Emma", "Who wrote Hamlet", "Who wrote Faust"]),
    ],
)
def test_each_of_several_is_asked_about(text, parts):
    assert parts_of(text) == tuple(parts)


@pytest.mark.parametrize("company", ["AT&T", "AT&amp;T", "AT\uff06T", "AT &T", "AT& T", "AT & T"])
def test_a_name_with_an_ampersand_is_one_however_it_is_written(company):
    parts = parts_of(f"{company} and Verizon revenue")
    assert [part.replace(" ", "") for part in parts] == ["AT&Trevenue", "Verizonrevenue"]


def test_ligatures_are_written_out():
    assert parts_of("\ufb02ags of Oslo and Bergen") == ("flags of Oslo", "flags of Bergen")
