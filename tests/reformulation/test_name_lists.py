"""A list of names is split if it is several things; a joined name, and whatever may be one, stays whole."""

from __future__ import annotations

import pytest

from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.reformulation.splitting import parts_of


@pytest.mark.parametrize(
    "text",
    [
        # a singular that belongs to one thing
        "population of Abercrombie and Fitch",
        "What is the population of Brighton and Hove?",
        "mayor of Brighton and Hove",
        "headquarters of Marks and Mabel",
        "Crosse and Blackwell revenue",
        # an article before the second name only
        "albums of Florence and the Machine",
        "When were Florence and the Machine formed?",
        # a name that describes a noun
        "Where are Abercrombie and Fitch stores?",
        "Why were Crosse and Blackwell soups popular?",
        "Where are the Queen and Prince Philip's apartments located?",
        "When were the Southern and Northern Dynasties?",
        # a plural before a firm, a band, a work or a place that is one
        "offices in Bain and Company",
        "jobs at Slaughter and May",
        "prices at Fortnum and Mason",
        "salaries of Frost and Frost",
        "locations of Marks and Mabel",
        "headquarters of Bed Bath and Beyond",
        "names of Mumford and Sons",
        "When were Mumford and Sons formed?",
        "themes of Of Mice and Men",
        "What are the symbols in Of Mice and Men?",
        "characters in Heat and Dust",
        "What are the main themes in Heat and Dust?",
        "What are the products of Tate and Mabel?",
        "villages in Argyll and Bute",
        "mayors of Brighton and Hove",
        # what one subject does to both
        "Which film stars Tom Hanks and Meg Ryan?",
        "Which country borders Chad and Mali?",
        "What company owns Vauxhall and Opel?",
        "When did Crosby, Stills and Nash form?",
        "Crosby, Stills and Nash recorded what in 1969?",
        # nothing shows whether it is one or two
        "What did Salt and Fire win?",
        "What business did Baldwin and McCurdy start?",
        "Who was banned from Oxford and Cambridge?",
        "The National Aeronautics and Space Act was established in what year?",
        # a noun that the names may share
        "symptoms of hand and foot disease",
        "symptoms of hand, foot and mouth disease",
        "compare iphone and pixel cameras",
        "difference between milk and dark chocolate",
        "symptoms of hand foot and mouth disease",
        "symptoms of vitamin d and iron deficiency",
        "side effects of vitamin C and zinc supplements",
        "treatment of type 1 and 2 diabetes",
        "benefits of vitamin b and c",
        # parts would not be sentences
        "Cranium and Twin Tin Bots are both what?",
        "Besides Lima and Quito what are large cities?",
        "musicians such as Ravel, Satie and Fauré",
        "Which cocktail's name describes its look, Blue Hawaii or Baby Guinness?",
        # opponents
        "Brown versus Board of Education summary",
        "Marbury versus Madison decision",
        "Where are bread and butter mixed?",
        # titles and expressions with "or"
        "Who wrote Shine or Shadow?",
        "Shine or Shadow cast",
        "When was Fall or Fly released?",
        "Which studio produced Bark or Bite?",
        "Is Bread or Bone a good film?",
        "meaning of hook or crook",
        "truth or dare for kids",
        "Population of Truth or Consequences",
        "What is the plot of Dusk, or The Long Night?",
        # what one subject does to either
        "Which river runs through Vienna or Bratislava?",
        "Who lived with Verlaine or Rimbaud?",
        # two names of one thing
        "Is Burma or Myanmar the same country?",
        "Hellas, or Greece, had which king?",
        # a noun or a comparison that both share
        "Are there more Swiss or Danish towns?",
        "What separates Spain and Portugal from Morocco?",
        "cheap hotels, hostels and apartments in rome",
    ],
)
def test_what_may_be_one_thing_is_left_whole(text):
    assert parts_of(text) == ()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Compare the populations of Oslo and Bergen", ["the populations of Oslo", "the populations of Bergen"]),
        ("Who wrote Hamlet and who wrote Faust?", ["Who wrote Hamlet", "who wrote Faust"]),
        # a plural that each thing has once
        ("the mayors of Lund and Malmo", ["the mayors of Lund", "the mayors of Malmo"]),
        ("What are the capitals of Chad and Mali?", ["What are the capitals of Chad", "What are the capitals of Mali"]),
        ("Lund and Malmo populations", ["Lund populations", "Malmo populations"]),
        # things in two places
        (
            "Penalties for speeding in Chad and Mali",
            ["Penalties for speeding in Chad", "Penalties for speeding in Mali"],
        ),
        ("salaries in Chad and Mali", ["salaries in Chad", "salaries in Mali"]),
        # a joined name next to another name
        ("revenue of Bain and Company and Lego", ["revenue of Bain and Company", "revenue of Lego"]),
        ("mayors of Isle Of Wight and Malmo", ["mayors of Isle Of Wight", "mayors of Malmo"]),
        ("Who wrote Of Mice and Men and East of Eden?", ["Who wrote Of Mice and Men", "Who wrote East of Eden"]),
        # an article or a preposition before each, or a word for both
        ("Opening hours of the Prado and the Louvre", ["Opening hours of the Prado", "Opening hours of the Louvre"]),
        ("rents in Lund and in Malmo", ["rents in Lund", "rents in Malmo"]),
        ("What did both Euler and Gauss win?", ["What did Euler win", "What did Gauss win"]),
        ("What is the population of both Chad and Mali?", ["population of Chad", "population of Mali"]),
        # a plural verb
        ("When were Harvard and Yale founded?", ["When was Harvard founded", "When was Yale founded"]),
        ("Where do Kepler and Galileo lie?", ["Where does Kepler lie", "Where does Galileo lie"]),
        ("Have Ravel and Satie both won a prize?", ["Has Ravel won a prize", "Has Satie won a prize"]),
        # a measure in the singular of alternatives, or two of one kind
        (
            "What is the population of Chad or Mali?",
            ["What is the population of Chad", "What is the population of Mali"],
        ),
        ("weather in Lund or Malmo in May", ["weather in Lund in May", "weather in Malmo in May"]),
        ("hotels in Lund or Malmo", ["hotels in Lund", "hotels in Malmo"]),
        ("Can Rice University or Brown University grow?", ["Can Rice University grow", "Can Brown University grow"]),
        # a joined name behind another name
        ("Who wrote Faust and Romeo and Juliet?", ["Who wrote Faust", "Who wrote Romeo and Juliet"]),
        # a name that is known to be one
        ("AT&T and Verizon revenue", ["AT&T revenue", "Verizon revenue"]),
        # lower case
        (
            "leaders of france, germany, and italy",
            ["leaders of france", "leaders of germany", "leaders of italy"],
        ),
        (
            "who are the leaders of chad, mali and niger in 2020",
            [f"who are the leaders of {country} in 2020" for country in ("chad", "mali", "niger")],
        ),
        ("when were harvard and yale founded", ["when was harvard founded", "when was yale founded"]),
        ("When were cars and planes invented?", ["When were cars invented", "When were planes invented"]),
        ("buying vs renting a home", ["buying a home", "renting a home"]),
        ("react vs vue performance", ["react performance", "vue performance"]),
        ("price of cats and guinea pigs", ["price of cats", "price of guinea pigs"]),
        # the shared noun
        ("cost of type 1 and type 2 diabetes", ["cost of type 1 diabetes", "cost of type 2 diabetes"]),
        ("benefits of vitamin d and iron", ["benefits of vitamin d", "benefits of iron"]),
        ("compare vitamin d and olive oil", ["vitamin d", "olive oil"]),
        ("difference between python and c", ["python", "c"]),
        (
            "risk of vitamin d deficiency and iron deficiency",
            ["risk of vitamin d deficiency", "risk of iron deficiency"],
        ),
    ],
)
def test_several_things_are_searched_one_by_one(text, parts):
    assert parts_of(text) == tuple(parts)


def test_the_titles_of_a_corpus_decide():
    corpus = Lexicon(titles=frozenset({"lund", "malmo", "brighton and hove", "heat", "jaws"}))
    assert parts_of("population of Lund and Malmo", corpus) == ("population of Lund", "population of Malmo")
    assert parts_of("population of Lund and Malmo") == ()
    assert parts_of("population of Brighton and Hove", corpus) == ()
    assert parts_of("What did Lund and Malmo win?", corpus) == ("What did Lund win", "What did Malmo win")
    assert parts_of("Which actor plays in Heat and Jaws?", corpus) == ()
    assert parts_of("Who directed Heat or Jaws?", corpus) == ("Who directed Heat", "Who directed Jaws")
    assert parts_of("Who directed Heat or Jaws?") == ()


def test_a_title_with_a_colon_is_no_item_of_a_list():
    corpus = Lexicon(titles=frozenset({"d-day: until the end", "jaws"}))
    assert parts_of("Which film came out first, D-Day: Until The End or Jaws?", corpus) == ()


def test_two_measured_things_are_split_if_both_are_titles():
    corpus = Lexicon(titles=frozenset({"k2", "matterhorn", "corsica", "sardinia", "florence", "machine"}))
    for text in ("height of K2 and the Matterhorn", "height of k2 and the matterhorn"):
        assert [part.lower() for part in parts_of(text, corpus)] == ["height of k2", "height of the matterhorn"]
    assert parts_of("area of Corsica and Sardinia", corpus) == ("area of Corsica", "area of Sardinia")
    assert parts_of("height of K2 and the Matterhorn") == parts_of("area of Corsica and Sardinia") == ()
    assert parts_of("albums of Florence and the Machine", corpus) == ()
