"""Rules: the route that they choose, and what is searched then."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.reformulation.heuristic import Heuristic, kinds_of, parts_of
from acqo_rl.reformulation.lexicon import Lexicon
from acqo_rl.reformulation.pass_through import with_last_turns
from acqo_rl.text import normalised
from acqo_rl.types import Document, Query, SubQuery, Turn

GUERNICA = ("Who painted Guernica?", "It was painted by Pablo Picasso.")
TITLES = ("Lund", "Ystad", "War and Peace", "Truth or Consequences, New Mexico", "Nebra (town)", "Nebra (sky disc)")
KNOWN = Lexicon.of(Document(str(i), title, "") for i, title in enumerate(TITLES))


def turns(*texts):
    return tuple(Turn("assistant" if i % 2 else "user", text) for i, text in enumerate(texts))


def reformulate(text, history=(), **settings):
    return Heuristic(**settings).reformulate([Query("q", text, turns(*history))])[0]


def searched(text, history=(), **settings):
    return [s.text for s in reformulate(text, history, **settings).sub_queries]


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_there_are_at_most_as_many_searches_as_set(most):
    assert len(searched("capital of Peru, Chad, Norway, Japan and Kenya", max_sub_queries=most)) == most


def test_five_items_are_searched_and_a_note_counts_what_is_more():
    five = reformulate("capital of Peru, Chad, Norway, Japan and Kenya")
    assert len(five.sub_queries) == 5
    assert not five.notes
    seven = reformulate("capital of Peru, Chad, Norway, Japan, Kenya, Ghana and Spain")
    assert len(seven.sub_queries) == 5
    assert seven.notes == ("Of 7 searches, the first 5 are made.",)


@pytest.mark.parametrize(
    "text",
    [
        "What is the capital of Peru?",
        "android phone",
        "apple pie recipe",
        "python list sort",
        "How do I cook rice and beans?",
        "When was Romeo and Juliet written?",
        "distance between Oslo and Bergen by train",
        "What do Chile and Norway have in common?",
        "wars between 1800 and 1815",
        "population of France and GDP of Germany in 2010",
        "death rate of Japan and Birth rate of Italy",
        "population of Lima from 1950 to 2000",
        "Which film starring Tom Hanks and Meg Ryan was released in 1998 and is set in New York?",
        "Who is the spouse of the CEO of the firm that developed BERT?",
        "SELECT a FROM b WHERE c AND d; SELECT e",
        "Wo liegt Graz und wie gross ist es?",
        "",
        "?",
        "\x00",
        "\ue000 and \ue001",
    ],
)
def test_simple_questions_pass_unchanged(text):
    answer = reformulate(text)
    assert (answer.route, answer.sub_queries) == ("pass", (SubQuery(text, "original"),))


@pytest.mark.parametrize(
    "text",
    [
        "How high is Kilimanjaro and at what temperature does gallium melt?",
        "In the film Alien, who plays Ripley?",
        "In October, who runs Rome and who runs Oslo?",
        "Under Dutch law, who pays the deposit and when is it returned?",
        "What is the tax on wine and what is the tax on beer in Germany?",
        "What happened to Lehman Brothers in 2008 and how did Congress respond?",
        "Compare exports of Chile in 1990 with those in 2010",
        "Which is bigger: the port of Lima in those years, 1990 or 2010?",
        "Which river is in Peru, the Ucayali or the Loire?",
        "Selle v. Gibb or Reynolds v. Sims",
        "gold vs stainless steel",
        "Which is larger, Bosnia and Herzegovina or Serbia?",
        "How long do I boil eggs and how do I peel them?",
        "Who wrote Emma and Ulysses and when was it published?",
        "my password is urgent; call me",
        "What is the tallest building in Dubai? Who designed it?",
        "Who founded IKEA and when did he die?",
        "Which company makes the Walkman and where is it based?",
        "What is the capital of Peru, in Spanish?",
        "Other than Oslo, Rome and Lima, which capitals are on the sea?",
        "When performing with Emmy, how many songs did Madonna produce?",
        "Who descends from Charlemagne and was a friend of Goethe?",
        "differences of opinion between Freud and Jung on dreams",
        'error "Where is Oslo? Where is Rome?" in the log',
        "capital of Peru; currency of Chad",
        "error: connection refused; retrying; host Aurora",
        "Where is Lund? Cheers, Bob from Accounting",
        "What is the capital of Peru? Please answer in French",
    ],
)
def test_no_split_is_made_if_a_part_would_not_be_whole(text):
    """Another part has its name, its year or its context, or says what it stands for."""
    assert parts_of(text) == ()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        # a list, by which the words of all are repeated for each
        ("Compare the economies of Japan and Germany", ["economies of Japan", "economies of Germany"]),
        ("Python vs Java performance", ["Python performance", "Java performance"]),
        ("population of Lima, Quito and Bogota", [f"population of {c}" for c in ("Lima", "Quito", "Bogota")]),
        ("Which is bigger, Peru or Chile?", ["Which is bigger, Peru", "Which is bigger, Chile"]),
        ("Which is bigger: Peru, Chad or Togo?", [f"Which is bigger: {c}" for c in ("Peru", "Chad", "Togo")]),
        (
            "In October, what is the weather in Rome and Oslo?",
            [f"In October, what is the weather in {c}" for c in ("Rome", "Oslo")],
        ),
        (
            "How did the 2008 crisis affect both US and European banks?",
            ["How did the 2008 crisis affect US banks", "How did the 2008 crisis affect European banks"],
        ),
        # different periods
        ("inflation in 1990 and 2020", ["inflation in 1990", "inflation in 2020"]),
        ("GDP growth 2019 versus 2021", ["GDP growth 2019", "GDP growth 2021"]),
        # independent needs
        ("who led Peru; what is the currency of Chad", ["who led Peru", "what is the currency of Chad"]),
        ("Who wrote Hamlet and when was it published?", ["Who wrote Hamlet", "when was Hamlet published"]),
        ("When did Prince die? What was his last album?", ["When did Prince die", "What was Prince's last album"]),
        (
            "who invented the telephone and when was the zipper patented",
            ["who invented the telephone", "when was the zipper patented"],
        ),
    ],
)
def test_compound_questions_are_split(text, parts):
    assert list(parts_of(text)) == parts
    answer = reformulate(text)
    assert answer.route == "decompose"
    assert [s.text for s in answer.sub_queries if s.kind == "part"] == parts


def test_a_comparison_is_searched_as_a_whole_too():
    text = "What is the difference between TCP and UDP?"
    assert reformulate(text).sub_queries == (
        SubQuery("TCP", "part"),
        SubQuery("UDP", "part"),
        SubQuery(text, "original"),
    )


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("python", ["python programming language", "python snake"]),
        ("What is Mercury?", [f"What is Mercury {reading}" for reading in ("planet", "element", "mythology")]),
        ("what is Nebra?", ["what is Nebra sky disc", "what is Nebra town"]),
    ],
)
def test_ambiguous_names_get_their_readings(text, readings):
    answer = reformulate(text, lexicon=KNOWN)
    assert answer.route == "disambiguate"
    assert answer.sub_queries == tuple(SubQuery(reading, "reading") for reading in readings)


def test_titles_of_the_corpus_decide_what_is_one_name():
    assert searched("population of lund and ystad", lexicon=KNOWN) == ["population of lund", "population of ystad"]
    assert searched("population of lund and ystad") == ["population of lund and ystad"]
    for text in ("Who compares Truth or Consequences?", "who wrote war and peace"):
        assert searched(text, lexicon=KNOWN) == [text]


@pytest.mark.parametrize("text", ["How many people live there?", "birthplace?"])
def test_a_question_of_a_conversation_gets_the_last_names_and_the_last_turns(text):
    query = Query("q", text, turns(*GUERNICA))
    assert reformulate(text, GUERNICA).sub_queries == (
        SubQuery(f"{text} Guernica", "expansion"),
        SubQuery(with_last_turns(query), "reading", 0.5),
    )
    assert searched(text) == [text]


def test_if_the_users_last_turn_has_no_name_those_of_all_turns_count_less_than_the_turns():
    talk = (*GUERNICA, "how large is it?", "3.5 by 7.8 metres, says the Museo Reina Sofia.")
    names, last_turns = reformulate("can it be visited?", talk).sub_queries
    assert (names.text, names.weight) == ("can it be visited? Museo Reina Sofia Pablo Picasso", 0.5)
    assert last_turns.weight == 1.0


def test_a_follow_up_that_is_only_a_name_repeats_the_last_question():
    talk = ("What is the capital of Chile?", "Santiago.", "Thanks!", "You are welcome.")
    assert searched("and Peru?", talk) == ["What is the capital of Peru?"]


def test_the_conversation_chooses_the_meaning_of_a_name():
    assert searched("Nebra population", ("I am visiting a small town.",), lexicon=KNOWN) == ["Nebra population town"]


def test_a_question_with_a_name_of_its_own_depends_on_nothing():
    assert searched("Where was Dora Maar born?", GUERNICA) == ["Where was Dora Maar born?"]
    assert searched("Where is Bergen and what is its area?", GUERNICA) == ["Where is Bergen", "what is Bergen's area"]


def test_answers_are_in_input_order_and_have_a_type():
    queries = [Query("a", "python"), Query("b", "Compare tin and zinc"), Query("c", "Who wrote Emma?")]
    answers = Heuristic().reformulate(queries)
    assert [answer.query for answer in answers] == queries
    assert [answer.query_type for answer in answers] == ["simple", "comparison", "factual"]
    assert Heuristic().reformulate([]) == []


@given(st.text(), st.lists(st.text(), max_size=3))
def test_every_query_has_something_to_search(text, history):
    answer = reformulate(text, tuple(history))
    assert 1 <= len(answer.sub_queries) <= 3
    if answer.route == "pass":
        assert answer.sub_queries == (SubQuery(text, "original"),)
    else:
        assert all(normalised(s.text) for s in answer.sub_queries)


@pytest.mark.parametrize(
    "unit", ["A ", "a and ", "A, ", "is it more ? ", "a, the b ", "how did a ", "A's ", "vs ", "(A "]
)
def test_time_is_bounded(unit):
    begin = time.process_time()
    for length in (1_000, 100_000):
        text = (unit * length)[:length]
        reformulate(text, (text[:4_000],) * 50, lexicon=KNOWN)
    assert time.process_time() - begin < 2


def test_the_kind_of_a_query_comes_from_its_metadata_or_from_the_route_of_the_rules():
    queries = [Query("labelled", "Compare Peru and Chad"), Query("two", "Compare Peru and Chad"), Query("one", "Peru")]
    kinds = kinds_of(queries, {"labelled": {"kind": "set A"}, "two": {"n_gold": 2}})
    assert kinds == {"labelled": "set A", "two": "decompose", "one": "pass"}
    assert kinds_of(queries, {"two": {"kind": "set A", "topic": "land"}}, "topic")["two"] == "land"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Tell me about Oslo.", ["Oslo"]),
        ("When was Vincent van Gogh born?", ["Vincent van Gogh"]),
        ("the University of Bologna and Mercury (planet)", ["University of Bologna", "Mercury (planet)"]),
        ("Windows 95, AT&T and Marks & Spencer's shops", ["Windows 95", "AT&T", "Marks & Spencer"]),
        ("Area of Peru? Is it large? Thanks", ["Peru"]),
        ("apples and pears", []),
    ],
)
def test_capitalised_spans_without_words_that_start_a_sentence(text, found):
    assert Lexicon().names(text) == found


def test_a_name_with_and_is_one_that_texts_use_as_one():
    texts = ["Peru and Chad"] * 5 + ["Peru", "Chad"] * 3 + ["In Bosnia and Herzegovina", "Bosnia"] * 5
    known = Lexicon.of(Document(str(i), "", text) for i, text in enumerate(texts))
    assert known.names("bosnia and herzegovina or Serbia") == ["bosnia and herzegovina", "Serbia"]
    assert known.names("Peru and Chad") == ["Peru", "Chad"]
