"""What a question asks for, part by part: each part makes sense, and what is one thing stays one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.reformulation.splitting import parts_of
from acqo_rl.text import normalised
from acqo_rl.types import Document


@pytest.mark.parametrize(
    "text",
    [
        # names that hold an "and"
        "Who wrote Crime and Punishment?",
        "capital of Antigua and Barbuda",
        "What is the currency of Bosnia and Herzegovina?",
        "who sang with simon and garfunkel",
        "How much does R&D cost AT&T?",
        "When was H&M founded?",
        "Johnson & Johnson headquarters",
        "Gin & tonic calories",
        "Salt & pepper prices",
        "Rock & roll songs",
        "Beauty & the Beast director and year",
        "Florence & the Machine albums",
        "Who founded Smith & Hawken?",
        "what does supply and demand mean",
        "history of rock and roll",
        "When was Fire and Ice published?",
        "Who starred in 'Salt and Fire'?",
        'lyrics of "Smoke and Ashes"',
        "Who else besides Ravel and Satie lived in Paris?",
        "Is that above or below the national average?",
        "documentary Madonna produced and wrote about Malawi",
        "Who wrote Fire and Ice?",
        "Who are the members of Earth, Wind and Fire?",
        "When was Emerson, Lake and Palmer formed?",
        "Who starred in Planes, Trains and Automobiles?",
        "Lock, Stock and Two Smoking Barrels cast",
        "Where can I watch The Good, the Bad and the Ugly?",
        "The Good, the Bad and the Ugly soundtrack composer",
        "Who wrote Eat, Pray, Love and Guns, Germs, and Steel?",
        # who has both is not who has either
        "How many people speak both Welsh and English?",
        # relations join; they do not list
        "What is the distance between Lund and Malmo?",
        "Is there a train between Porto and Lisbon?",
        "When did Napoleon and Josephine get married?",
        "Who are the children of Victoria and Albert?",
        "What do Chile and Norway have in common?",
        "How did Goethe and Schiller influence each other?",
        "Who won Arsenal vs Chelsea?",
        "Brazil versus Italy final score",
        "Which film stars both Bogart and Bacall, who married in 1945?",
        "songs by Lennon and McCartney",
        "Which actor who played Hamlet and Macbeth was born in Wales?",
        # a range is one period
        "population of Lima from 1950 to 2000",
        "wars between 1800 and 1815",
        # a question for another item of a list, and a thing without a name
        "Motion lines and what are often used in comics?",
        "Natural selection and what makes dogs behave in certain ways?",
        "How does Chad compare with other states in literacy?",
        "How do prices in Lund compare to the national average?",
        "The league has been compared to what government?",
        "Do adolescents or adults tend to sleep more?",
        "Who was the promoter and organizer of the first library?",
        # one need, whatever joins its words
        "How do I cook rice and beans?",
        "black and white photography",
        "Who was the first man to sail and fly around the world?",
        "Who held the title for ten years, and was beaten by a man who came from Wales?",
        # a long statement states things together
        "The Treaty was signed in Lund by both kings in the spring of that year and who came later was not admitted",
        "Deletion of alphavbeta8 in mice leads to inflammation and to a loss of dendritic cells in Peyer patches and"
        " lymph nodes",
        "Smoking and Obesity raise the risk of stroke in men, and women of the same age are less affected by"
        " both of these",
        # the second part would lean on nothing
        "How long should I bake potatoes and how do I serve them?",
        "",
        "?",
        "and",
        "and, or and and",
    ],
)
def test_one_thing_is_left_whole(text):
    assert parts_of(text) == ()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        # comparisons keep the attribute
        ("compare lund and malmo", ["lund", "malmo"]),
        (
            "compare the climate of lund and malmo in winter",
            ["the climate of lund in winter", "the climate of malmo in winter"],
        ),
        ("Compare the GNP of Chile and Peru in 2019", ["the GNP of Chile in 2019", "the GNP of Peru in 2019"]),
        ("What is the difference in price between butter and margarine?", ["price of butter", "price of margarine"]),
        ("how does tin differ from zinc", ["tin", "zinc"]),
        ("how does tea with milk differ from coffee with milk", ["tea with milk", "coffee with milk"]),
        ("flights to Lima compared to flights to Cusco", ["flights to Lima", "flights to Cusco"]),
        ("electric versus diesel cars", ["electric cars", "diesel cars"]),
        ("tea or coffee for breakfast", ["tea for breakfast", "coffee for breakfast"]),
        ("Which is longer, the Volga or the Danube?", ["How long is the Volga?", "How long is the Danube?"]),
        ("Is Peru bigger than Chile?", ["How big is Peru?", "How big is Chile?"]),
        ("Are trains more reliable than buses?", ["How reliable are trains?", "How reliable are buses?"]),
        ("Who died first, Haydn or Mozart?", ["when Haydn died", "when Mozart died"]),
        ("Compare Procter & Gamble and Unilever", ["Procter & Gamble", "Unilever"]),
        ("Compare Lund & Malmo", ["Lund", "Malmo"]),
        (
            "Python vs R: which is better for statistics?",
            ["How good is Python for statistics?", "How good is R for statistics?"],
        ),
        ("Do cats live longer than dogs?", ["How long do cats live?", "How long do dogs live?"]),
        ("Does tea have more caffeine than coffee?", [f"How much caffeine does {d} have?" for d in ("tea", "coffee")]),
        ("Are bears more common in Peru than in Chad?", [f"How common are bears in {c}?" for c in ("Peru", "Chad")]),
        ("Is it cheaper to rent or buy a flat in Porto?", ["rent a flat in Porto", "buy a flat in Porto"]),
        # courtesy is no part of it
        (
            "Hi, could you please tell me the height of Everest and the length of the Nile?",
            ["height of Everest", "length of the Nile"],
        ),
        ("I was wondering if you could explain the difference between tin and zinc, thanks!", ["tin", "zinc"]),
        # what is measured, of each thing
        ("average lifespan of cats and dogs", ["average lifespan of cats", "average lifespan of dogs"]),
        ("What is the boiling point of water and ethanol?", ["boiling point of water", "boiling point of ethanol"]),
        # shared attributes, in either case
        ("causes, signs and prevention of rickets", ["causes of rickets", "signs of rickets", "prevention of rickets"]),
        (
            "What were the causes and effects of the 1929 crash?",
            ["causes of the 1929 crash", "effects of the 1929 crash"],
        ),
        ("What are Kenya's main rivers and lakes?", ["Kenya's main rivers", "Kenya's lakes"]),
        (
            "date of birth and place of death of Frida Kahlo",
            ["date of birth of Frida Kahlo", "place of death of Frida Kahlo"],
        ),
        (
            "birthplace and cause of death of Frida Kahlo",
            ["birthplace of Frida Kahlo", "cause of death of Frida Kahlo"],
        ),
        ("capital of Peru and population of Chad", ["capital of Peru", "population of Chad"]),
        ("When and where was Bolivar born?", ["When was Bolivar born?", "where was Bolivar born?"]),
        # lists of names, with verbs that agree
        ("hotels in Rome, Lund and Malmo", ["hotels in Rome", "hotels in Lund", "hotels in Malmo"]),
        ("Who founded Ikea, Lego and Nokia?", ["Who founded Ikea", "Who founded Lego", "Who founded Nokia"]),
        (
            "What is the population of both Chad and Mali?",
            ["population of Chad", "population of Mali"],
        ),
        ("When were Lund and Malmo founded?", ["When was Lund founded?", "When was Malmo founded?"]),
        ("Are Ravel and Satie both composers?", ["Is Ravel a composer?", "Is Satie a composer?"]),
        (
            "Are Ravel and Satie members of the academy?",
            ["Is Ravel a member of the academy?", "Is Satie a member of the academy?"],
        ),
        ("Were Ravel and Satie from the same town?", ["Which town was Ravel from?", "Which town was Satie from?"]),
        ("Do Chad and Mali have the same currency?", ["currency of Chad", "currency of Mali"]),
        ("University of Lund or University of Uppsala", ["University of Lund", "University of Uppsala"]),
        # periods
        ("rents in Porto in 2001, 2011 and 2021", [f"rents in Porto in {year}" for year in (2001, 2011, 2021)]),
        (
            "How did rents change between 1990 and 2010?",
            ["How did rents change in 1990?", "How did rents change in 2010?"],
        ),
        # questions in turn
        (
            "is Lund north or south of Malmo? and how many people live in Ystad? and Oslo area.",
            ["is Lund north or south of Malmo", "how many people live in Ystad", "Oslo area"],
        ),
        (
            "Tell me the area of the whole of Greater Lund in km and how populous is Ystad and which rivers does"
            " Chad have",
            ["the area of the whole of Greater Lund in km", "how populous is Ystad", "which rivers does Chad have"],
        ),
        ("Chad's neighbours and what else is Lima called", ["Chad's neighbours", "what else is Lima called"]),
        ("lund versus malmo: founding year", ["lund founding year", "malmo founding year"]),
        ("Who wrote Emma and who wrote Middlemarch?", ["Who wrote Emma", "who wrote Middlemarch"]),
        ("what is a lichen and where does it grow", ["what is a lichen", "where does a lichen grow"]),
        ("Who founded Ikea and when?", ["Who founded Ikea", "when was Ikea founded"]),
        # a later part keeps what the first one is about
        (
            "What are the symptoms of flu, and when should I see a doctor?",
            ["What are the symptoms of flu", "when should I see a doctor (flu)"],
        ),
        (
            "How do I descale a kettle? And what vinegar should I use?",
            ["How do I descale a kettle", "what vinegar should I use (descale a kettle)"],
        ),
        (
            "How much does a passport cost and how long does it take to get one",
            ["How much does a passport cost", "how long does it take to get a passport"],
        ),
        (
            "Where can I buy a bike and how much does it cost?",
            ["Where can I buy a bike", "how much does it cost (buy a bike)"],
        ),
        (
            "Can I freeze rice in a box, and how long does it keep?",
            ["Can I freeze rice in a box", "how long does rice keep"],
        ),
        ("what causes hiccups and how do you stop them", ["what causes hiccups", "how do you stop hiccups"]),
        (
            "What is the capital of Peru and how many people live there?",
            ["What is the capital of Peru", "how many people live in Peru"],
        ),
        ("Where is Petra and how do I get there?", ["Where is Petra", "how do I get to Petra"]),
        ("What is a visa and is it hard to extend it?", ["What is a visa", "is it hard to extend a visa"]),
        ("How do I boil an egg? Where is Oslo?", ["How do I boil an egg", "Where is Oslo"]),
        # names are kept whole
        (
            "Where is Machu Picchu, when was it built and why was it abandoned?",
            ["Where is Machu Picchu", "when was Machu Picchu built", "why was Machu Picchu abandoned"],
        ),
        (
            "Where is my nearest post office and when does it open?",
            ["Where is my nearest post office", "when does my nearest post office open"],
        ),
        (
            "where did the pilgrims come from and how did they reach lund",
            ["where did the pilgrims come from", "how did the pilgrims reach lund"],
        ),
        ("where is lake como and how deep is it", ["where is lake como", "how deep is lake como"]),
        ("Where was Anne Frank born and when did she die?", ["Where was Anne Frank born", "when did Anne Frank die"]),
        (
            "What is the Tower of London and who built it?",
            ["What is the Tower of London", "who built the Tower of London"],
        ),
        ("how long is the Rhine and how deep?", ["how long is the Rhine?", "how deep is the Rhine?"]),
        (
            "What happened to Enron in 2001 and how did regulators respond?",
            ["What happened to Enron in 2001", "how did regulators respond (Enron)"],
        ),
        (
            "Who invented dynamite and where did he live?",
            ["Who invented dynamite", "where did the person who invented dynamite live"],
        ),
    ],
)
def test_each_part_makes_sense_by_itself(text, parts):
    assert parts_of(text) == tuple(part.rstrip("?") for part in parts)


WORDS = st.sampled_from(
    [
        "Lima",
        "Quito",
        "and",
        "or",
        "of",
        "the",
        "between",
        "is",
        "what",
        "who",
        "compare",
        "both",
        "vs",
        "versus",
        ",",
        "&",
        "in",
        "1990",
        "2020",
        "price",
        "capital",
        "Peru",
        "was",
        "it",
        "which",
        "a",
        "than",
        "larger",
        ",",
        "?",
        ":",
        "'s",
        "how",
        "when",
    ]
)


@given(st.lists(WORDS, max_size=14).map(" ".join))
def test_no_part_is_empty_or_function_words_alone(text):
    parts = parts_of(text)
    assert len(parts) != 1
    assert len({normalised(part) for part in parts}) == len(parts)
    for part in parts:
        assert re.search(r"lima|quito|price|capital|peru|larger|1990|2020", part, re.I)
        assert not re.search(r"^(and|or|of|than)\b|\b(and|or|the|than|between)\W*$", part, re.I)


@given(st.text(max_size=80))
def test_any_text_has_parts_or_none(text):
    assert all(normalised(part) for part in parts_of(text))


LEXICON = Lexicon(frozenset({("bread", "and", "roses")}), {}, frozenset({"lund", "malmo", "escape from the dark"}))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Who directed Bread and Roses?", ()),
        ("who directed bread and roses", ()),
        ("compare Bread and Roses and Hamlet", ("Bread and Roses", "Hamlet")),
        ("museums in lund and malmo today", ("museums in lund today", "museums in malmo today")),
        ("museums in lund and elsewhere", ()),
        ("Lund and Malmo", ("Lund", "Malmo")),
        ("Lund and Malmo left the talks on fishing", ()),
        ("floods of lund and malmo drive the price of rice", ()),
        (
            "Were Vertigo and Escape from the Dark both comedies?",
            ("Was Vertigo a comedy", "Was Escape from the Dark a comedy"),
        ),
        ("distance of lund and malmo", ()),
    ],
)
def test_names_of_a_corpus_are_known(text, parts):
    assert parts_of(text, LEXICON) == parts


def test_a_question_of_more_than_45_words_is_left_whole():
    asked = "What is the population of Oslo and what is the area of Bergen"
    padding = " of the old and quiet north" * 6
    assert len(parts_of(f"{asked}?")) == 2
    assert len(f"{asked}{padding}".split()) > 45
    assert parts_of(f"{asked}{padding}?") == ()


def test_works_whose_titles_have_several_words_are_asked_about_one_by_one_if_the_corpus_has_them():
    titles = [Document(str(n), title, "") for n, title in enumerate(("Dune (novel)", "The Hobbit", "War and Peace"))]
    known = Lexicon.of(titles)
    assert parts_of("Who wrote Dune and The Hobbit?", known) == ("Who wrote Dune", "Who wrote The Hobbit")
    assert parts_of("Who wrote War and Peace?", known) == ()
    assert parts_of("Who wrote Dune and The Hobbit?") == ()


@pytest.mark.parametrize("text", ["Roe versus Wade", "Alien vs. Predator cast", "Marks and Mabel release date"])
def test_a_title_of_the_corpus_that_joins_two_names_is_not_split_at_the_start_of_a_query(text):
    titles = [
        Document(str(n), title, "")
        for n, title in enumerate(("Roe versus Wade", "Alien vs. Predator (film)", "Marks and Mabel"))
    ]
    assert parts_of(text, Lexicon.of(titles)) == ()


NAMES = Lexicon.of(
    Document(title, title, title)
    for title in (
        "Sense and Sensibility",
        "A Tale of Two Cities",
        "Antigua and Barbuda",
        "Graz",
        "French",
        "German",
        "Truth or Consequences, New Mexico",
    )
)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        # two relations are compared, and each of them is whole
        (
            "Compare trade between China and India with trade between China and Japan",
            ("trade between China and India", "trade between China and Japan"),
        ),
        (
            "Compare the border between Chad and Niger to that between Chad and Libya",
            ("the border between Chad and Niger", "the border between Chad and Libya"),
        ),
        # a question about all things of a kind gets no name; a question about things of a place does
        (
            "What is the capital of Austria, what do owls eat and where do hawks live?",
            ("What is the capital of Austria", "what do owls eat", "where do hawks live"),
        ),
        ("Where is the Louvre and how do visitors get in?", ("Where is the Louvre", "how do visitors get in (Louvre)")),
        # a pronoun that stays would refer to nothing
        ("Was kostet ein Visum f\u00fcr Indien und wie lange gilt es?", ()),
        ("O\u00f9 est Lyon et comment est-elle ?", ()),
        ("Wo liegt Graz und wie hei\u00dft Wien?", ("Wo liegt Graz", "wie hei\u00dft Wien")),
        # titles of the corpus in lower case, also joined ones
        (
            "who wrote sense and sensibility and a tale of two cities?",
            ("who wrote sense and sensibility", "who wrote a tale of two cities"),
        ),
        (
            "population of antigua and barbuda and of graz",
            ("population of antigua and barbuda", "population of graz"),
        ),
        ("who wrote sense and sensibility?", ()),
        ("who speaks french and german?", ()),
        ("What is the population of Truth or Consequences?", ()),
    ],
)
def test_parts_are_whole_questions(text, parts):
    assert parts_of(text, NAMES) == parts
