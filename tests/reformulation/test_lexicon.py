"""Names of a corpus: which ones hold an "and", and which ones have several readings."""

from __future__ import annotations

import time

import pytest

from acqo_rl.reformulation.lexicon import Lexicon, common_lexicon
from acqo_rl.types import Document


def lexicon(*documents):
    return Lexicon.of(Document(str(i), title, text) for i, (title, text) in enumerate(documents))


def test_a_title_with_and_is_one_name():
    known = lexicon(("Hero and Leander", "A poem."), ("Bonn & Cie (bank)", ""), ("Flora", ""))
    assert known.is_joined("Hero", "and", "Leander")
    assert known.is_joined("bonn", "and", "cie")
    assert not known.is_joined("Leander", "and", "Hero")


def test_a_title_with_or_is_one_name_only_with_or():
    known = lexicon(("Shine or Shadow (film)", ""))
    assert known.is_joined("shine", "or", "shadow")
    assert not known.is_joined("shine", "and", "shadow")
    assert known.mark_names("who wrote shine or shadow", "_") == "who wrote shine_or_shadow"
    assert not common_lexicon().is_joined("romeo", "or", "juliet")


@pytest.mark.parametrize(
    "title",
    [
        "Origin and history",
        "Shine or Shadow or Rain",
        "Salt, Sugar and Water",
        "List of towns and rivers",
        "Hero and Leander and Flora",
        "History of Peru and Chad and Mali",
    ],
)
def test_a_title_that_lists_is_none(title):
    assert lexicon((title, "")).joined == common_lexicon().joined


def test_words_that_hardly_occur_apart_are_one_name():
    together = [("River", f"The Kura and Aras meet in place {i}.") for i in range(4)]
    assert lexicon(*together).is_joined("kura", "and", "aras")
    assert not lexicon(*together[:2]).is_joined("kura", "and", "aras")
    apart = [("River", f"The Kura is long. {i}") for i in range(9)] + [
        ("River", f"The Aras is short. {i}") for i in range(9)
    ]
    assert not lexicon(*together, *apart).is_joined("kura", "and", "aras")
    assert lexicon(*together, *apart[:9]).is_joined("kura", "and", "aras")  # the Aras is not spoken of alone


def test_words_that_hardly_occur_without_an_or_are_one_name():
    together = [("Prize", f"The prize for Physiology or Optics of year {i}.") for i in range(4)]
    assert lexicon(*together).is_joined("physiology", "or", "optics")
    assert not lexicon(*together).is_joined("physiology", "and", "optics")


def test_readings_are_what_titles_tell_apart():
    known = lexicon(
        ("Nebra (town)", ""),
        ("Nebra (sky disc)", ""),
        ("Ystad", ""),
        ("Ystad (ship)", ""),
        ("Halle, Saxony", ""),
        ("Halle, Westphalia", ""),
        ("Lund (disambiguation)", ""),
        ("Lund", ""),
        ("Malmo (port)", ""),
    )
    assert known.readings_of("Nebra") == ("sky disc", "town")
    assert known.readings_of("ystad") == ("ship", "")
    assert known.readings_of("Halle") == ("Saxony", "Westphalia")
    assert known.readings_of("Lund") == known.readings_of("Malmo") == ()


def test_a_corpus_replaces_common_readings_and_keeps_the_others():
    known = lexicon(("Mercury (band)", ""), ("Mercury (ship)", ""))
    assert known.readings_of("mercury") == ("band", "ship")
    assert known.readings_of("python") == common_lexicon().readings_of("python") != ()


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("Lund", ("chess player", "film director", "river", "town")),
        ("Who is Lund?", ("chess player", "film director")),
        ("who was lund", ("chess player", "film director")),
        ("What is Lund?", ("river", "town")),
        ("tell me about Lund", ("chess player", "film director", "river", "town")),
        ("Who is Ystad?", ()),
        ("What is Ystad?", ()),
    ],
)
def test_who_asks_for_persons_and_what_for_things(text, readings):
    names = (
        "Lund (town)",
        "Lund (river)",
        "Lund (chess player)",
        "Lund (film director)",
        "Ystad (town)",
        "Ystad (poet)",
    )
    assert lexicon(*((name, "") for name in names)).readings_asked(text) == readings


@pytest.mark.parametrize("text", ["Who is Jordan?", "Who is Amazon?", "what is Tesla"])
def test_a_question_that_one_common_reading_fits_is_not_ambiguous(text):
    assert common_lexicon().readings_asked(text) == ()


def test_what_is_common_is_well_formed():
    common = common_lexicon()
    assert all(before and after and before == before.lower() for before, _, after in common.joined)
    assert all(len(readings) > 1 and all(readings) for readings in common.readings.values())


def test_marks_only_what_is_one_name():
    known = lexicon(("Hero and Leander", ""), ("Escape from Lund", ""))
    assert known.mark_names("Who wrote Hero and Leander and Faust", "_") == "Who wrote Hero_and_Leander and Faust"
    assert known.mark_names("who wrote hero and the leander", "_") == "who wrote hero_and_the_leander"
    assert known.mark_names("Was Escape from Lund or Vertigo longer", "_") == "Was Escape_from_Lund or Vertigo longer"


def test_a_large_corpus_takes_no_longer_than_its_length():
    documents = [("A Town and Its River", "Nisi and Dora, A and B and C. " * 20)] * 2000
    begin = time.process_time()
    lexicon(*documents)
    assert time.process_time() - begin < 4


def test_titles_are_known_without_their_meaning_or_place():
    lexicon = Lexicon.of(Document(t, t, t) for t in ("Heidi (1952 film)", "Truth or Consequences, New Mexico"))
    assert {"heidi", "truth or consequences"} <= lexicon.titles
    assert "heidi (1952 film)" not in lexicon.titles
