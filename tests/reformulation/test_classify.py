"""What kind of question it is: types, routes and challenges by rules of words."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.conversations import read_history
from acqo_rl.reformulation.classify import challenges_of, classify, is_unsure, route_of
from acqo_rl.reformulation.query_types import query_type_of
from acqo_rl.types import Query


@pytest.mark.parametrize(
    ("text", "query_type"),
    [
        ("prefix sum", "simple"),
        ("error correction codes", "simple"),
        ("eye drops for dry eyes", "simple"),
        ("Pride and Prejudice summary", "simple"),
        ("bike chain slips under load", "debugging"),
        ("my sourdough never rises", "debugging"),
        ("la batterie se décharge trop vite", "debugging"),
        ("El pan me sale duro", "debugging"),
        ("Drucker druckt nicht", "debugging"),
        ("空调不制冷", "debugging"),
        ("Why did the Weimar Republic fail?", "conceptual"),
        ("When was the first computer bug found?", "factual"),
        ("oslo or bergen for a weekend trip", "comparison"),
        ("Can I travel with or without a visa?", "factual"),
        ("How do bees find their way home?", "conceptual"),
        ("How do you find a notary?", "how_to"),
        ("¿Cómo se prepara un ceviche?", "how_to"),
        ("¿Cómo se forman los huracanes?", "conceptual"),
        ("unclog a kitchen sink", "how_to"),
        ("Fahrradkette wechseln", "how_to"),
        ("birthplace and cause of death of Frida Kahlo", "complex"),
        ("latitude and longitude of Tarawa", "simple"),
        ("tissue box", "simple"),
        ("terror attacks list", "simple"),
        ("flat tvs", "simple"),
        ("Thailand", "simple"),
        ("How do I fix a KeyError?", "debugging"),
        ("how to fix it", "debugging"),
        ("Traceback: HTTP 503", "debugging"),
        ("Python vs. Java", "comparison"),
        ("which is faster, a train or a car", "comparison"),
        ("companies with more than 100 employees", "simple"),
        ("How do I tie a bowline?", "how_to"),
        ("How do I install Docker and nginx with TLS?", "complex"),
        ("How does a heat pump work?", "conceptual"),
        ("Why is the sky blue?", "conceptual"),
        ("Who wrote Hamlet?", "factual"),
        ("Is Lima in Peru?", "factual"),
        ("Find a hotel with a pool and a garden", "complex"),
        ("谁写了红楼梦", "factual"),
        ("cheap eats", "how_to"),
        ("best hiking boots", "how_to"),
        ("good first projects", "how_to"),
        ("relaxing music", "how_to"),
        ("delicious food in Lima", "how_to"),
        ("best laptops 2021", "simple"),
        ("cheap hikes near Oslo", "how_to"),
        ("Cheapest flights to Lima", "how_to"),
        ("budget laptops", "how_to"),
        ("vegan recipes", "how_to"),
        ("gluten-free cakes", "how_to"),
        ("vegan lasagna", "simple"),
        ("lakes near Oslo", "how_to"),
        ("bus stop near me", "simple"),
        ("height of the Eiffel Tower", "simple"),
        ("Great Lakes", "simple"),
        ("Good Omens", "simple"),
        ("classical music", "simple"),
        ("cheap talk", "simple"),
        ("Evaluate remote work policies", "complex"),
        ("assess the risks of fracking", "complex"),
        ("bewerte die Politik von Peru", "complex"),
        ("risk assessment template", "simple"),
        ("", "simple"),
    ],
)
def test_types(text, query_type):
    """No part of a word is a sign ("fix" in "prefix", "error" in "terror", "vs" in "tvs")."""
    assert query_type_of(text) == query_type


@pytest.mark.parametrize(
    ("text", "challenges"),
    [
        ("Which company acquired the firm that developed BERT?", ("multi_hop",)),
        ("which color is the sky", ("simple",)),
        ("spouse of the CEO of Apple", ("multi_hop",)),
        ("president of the United States of America", ("simple",)),
        ("history of the city of London", ("simple",)),
        ("Who is Mozart's wife's sister?", ("multi_hop",)),
        ("What is the capital of the country that won the 2018 World Cup?", ("temporal", "multi_hop")),
        ("latest iPhone price", ("temporal",)),
        ("Why is port 2021 blocked?", ("simple",)),
        ("What does error code 1603 say of RFC 1918 in a context of 2048 tokens?", ("simple",)),
        ("alternating current in homes", ("simple",)),
        ("在2020年的人口", ("temporal",)),
        ("What is A? What is B?", ("decomposition",)),
        ("cats and dogs and birds", ("decomposition",)),
        ("android in Thailand", ("simple",)),
        ("Compare the newest phones", ("temporal", "decomposition")),
    ],
)
def test_challenges(text, challenges):
    """Sequential chains are distinguished from parallel parts."""
    assert challenges_of(text) == challenges


@pytest.mark.parametrize(
    "text",
    [
        "Which country bordering Laos has the largest army?",
        "which country bordering laos has the largest army",
        "Which film starring Tom Hanks earned the most?",
        "Which model trained on ImageNet has the best accuracy?",
        "What library written in Rust is fastest?",
        "Which city lying on two rivers is the oldest?",
        "Which band whose singer died sold the most albums?",
        "Which state admitted after the war is the smallest?",
        "Which firm founded by two brothers went public first?",
        "Which of the films directed by Ann Lee made the least money?",
        "Of the countries that border Laos, which has the largest army?",
        "Which director of a film about Mozart won an Oscar?",
        "Which actor in Titanic won an Oscar?",
        "which actor in titanic won an oscar",
        "Which member of Queen wrote the most songs?",
        "What author of a book about bees was a priest?",
    ],
)
def test_the_best_of_things_that_meet_a_condition_is_a_chain(text):
    assert challenges_of(text) == ("multi_hop",)


@pytest.mark.parametrize(
    "text",
    [
        "Which country has the largest army?",
        "Which film earned the most?",
        "What language learning app has the most users?",
        "Which office building in Dubai is the tallest?",
        "Which morning show has the best ratings?",
        "Which actor starred in the most films?",
        "Which actor has won the most Oscars?",
        "Which player of the year award is oldest?",
        "What is the director of Jaws called?",
        "Which team played in front of the most fans?",
        "Which wine was made in Italy and costs the least?",
        "Which vaccine was approved first?",
        "What film starring Tom Hanks is about a shipwreck?",
    ],
)
def test_the_best_of_all_things_is_not_a_chain(text):
    assert challenges_of(text) == ("simple",)


def test_a_chain_is_not_split():
    """Its parts cannot be searched side by side."""
    assert route_of(Query("q", "Who is the spouse of the CEO of the firm that developed BERT?")) == "pass"


@pytest.mark.parametrize(
    ("text", "route"),
    [
        ("Vergleiche Wien und Graz", "decompose"),
        ("谁发明了电话?什么时候发明的?", "decompose"),
        ("java", "disambiguate"),
        ("java list sort", "pass"),
    ],
)
def test_routes(text, route):
    """The rules' own tests have more."""
    assert route_of(Query("q", text)) == route


@pytest.mark.parametrize(
    ("words", "challenges", "unsure"),
    [
        (12, ("simple",), False),
        (13, ("simple",), True),
        (13, ("temporal",), False),
        (20, ("temporal",), False),
        (21, ("temporal",), True),
    ],
)
def test_when_a_model_should_be_asked(words, challenges, unsure):
    assert is_unsure("word " * words, challenges) is unsure


@pytest.mark.parametrize(
    ("text", "is_sql"),
    [
        ("SELECT name, age FROM users WHERE age > 30 AND city = 'Oslo' AND active", True),
        (" select * from a join b on a.x = b.x where why and how", True),
        ("insert into t (a, b) values ('x and y', 'z and w')", True),
        ("UPDATE t SET a = 1 WHERE b AND c AND d", True),
        ("delete from t where a and b and c", True),
        ("Select a bike from the shop and a lock and a helmet", False),
        ("selection bias and its causes and remedies", False),
        ("update on the Suez Canal and the Panama Canal and Hormuz", False),
    ],
)
def test_a_statement_of_sql_is_searched_as_it_stands(text, is_sql):
    """It bypasses every rewriter."""
    found = classify(Query("q", text))
    assert ((found.query_type, found.route, found.challenges) == ("simple", "pass", ("simple",))) == is_sql


@given(st.text(), st.lists(st.text(), max_size=2))
def test_every_text_has_a_kind(text, history):
    found = classify(Query("q", text, read_history(tuple(history))))
    assert found.challenges
    assert ("simple" in found.challenges) == (found.challenges == ("simple",))
    assert (found.calls, found.problem) == (0, None)


@pytest.mark.parametrize("unit", ["which the ", "of the a ", "的 ", "how are ", "A's a's ", "stürzt "])
def test_a_long_text_takes_no_longer_than_its_length(unit):
    begin = time.process_time()
    classify(Query("q", (unit * 1000)[:1000]))
    classify(Query("q", unit * 100_000))
    assert time.process_time() - begin < 2


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is FAISS?", {"simple"}),
        ("What is the latest version of Python?", {"temporal"}),
        ("Which company acquired the firm that developed BERT?", {"multi_hop"}),
        ("Which model trained on ImageNet has the best accuracy?", {"multi_hop"}),
        ("Which bridge built by Eiffel is the longest?", {"multi_hop"}),
        ("Which city hosted by Japan is largest?", {"multi_hop"}),
        ("What library written in Rust is the fastest?", {"multi_hop"}),
        ("Which player born in Peru scored the most goals?", {"multi_hop"}),
        ("What is written in Rust?", {"simple"}),
        ("assess the risks of fracking", {"decomposition"}),
        ("assessed value of a house", {"simple"}),
        ("How did inflation evolve?", {"temporal"}),
        ("How did the price of oil change under Carter?", {"temporal"}),
        ("How has the economy of Chile developed?", {"temporal"}),
        ("how wages evolved in Peru", {"temporal"}),
        ("How did you develop this?", {"simple"}),
        ("Who developed Python?", {"simple"}),
        ("How do cancers develop?", {"simple"}),
        ("How did Einstein change physics?", {"simple"}),
        ("How has the rent of flats changed?", {"temporal"}),
        ("Analyze the trade policy of Peru", {"decomposition"}),
        ("evaluate the safety of e-bikes", {"decomposition"}),
        ("Oven smells after I changed the bulb", {"simple"}),
        ("Compare FAISS and Milvus", {"decomposition"}),
        # words that only look like a chain
        ("which color is the sky", {"simple"}),
        ("Who is the president that everybody knows?", {"multi_hop"}),
        ("Who is the spouse of the CEO of Microsoft?", {"multi_hop"}),
        ("Where was the director of Jaws born?", {"multi_hop"}),
        ("Who is Obama's wife's father?", {"multi_hop"}),
        ("compare android and ios", {"decomposition"}),
        ("What are the advantages and disadvantages of GRPO?", {"decomposition"}),
        ("Who wrote Dune? Who filmed it?", {"decomposition"}),
        ("food and music and weather", {"decomposition"}),
        # several at once
        ("Compare the latest phones", {"temporal", "decomposition"}),
        ("How has AI evolved since 2015?", {"temporal"}),
        # word boundaries
        ("android development in Thailand", {"simple"}),
        ("the electric current in a wire", {"simple"}),
        ("trendy cafes", {"simple"}),
        ("capital of Peru", {"simple"}),
    ],
)
def test_challenges_of_examples(question, expected):
    assert set(challenges_of(question)) == expected


def test_plain_questions_show_no_sign():
    plain = ["who painted Guernica", "height of the Eiffel Tower", "python list sort", "define entropy"]
    assert all(challenges_of(question) == ("simple",) for question in plain)
