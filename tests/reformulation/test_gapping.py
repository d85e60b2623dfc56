"""Questions whose second part leaves out what it shares with the first."""

import pytest

from acqo_rl.reformulation.splitting import parts_of


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "Which coins do they use in Fiji, and which in Tonga?",
            ("Which coins do they use in Fiji", "Which coins do they use in Tonga"),
        ),
        (
            "How many people work in Turin? And how many in Bari?",
            ("How many people work in Turin", "How many people work in Bari"),
        ),
        (
            "What is the sales tax in Utah and what about in Idaho?",
            ("What is the sales tax in Utah", "What is the sales tax in Idaho"),
        ),
        (
            "Where do people pay with rupees from India, and where with Nepalese rupees?",
            ("Where do people pay with rupees from India", "Where do people pay with Nepalese rupees"),
        ),
        (
            "What does it cost to park at the port, and at the stadium",
            ("What does it cost to park at the port", "What does it cost to park at the stadium"),
        ),
        (
            "What is the capital of Spain, of Portugal and of Italy?",
            ("What is the capital of Spain", "What is the capital of Portugal", "What is the capital of Italy"),
        ),
        (
            "What time is it in Rome, in Cairo, and in Lima?",
            ("What time is it in Rome", "What time is it in Cairo", "What time is it in Lima"),
        ),
        ("What is the density of iron and of lead?", ("What is the density of iron", "What is the density of lead")),
        (
            "What alphabet is used in Serbia, and is it also used in Bulgaria?",
            ("What alphabet is used in Serbia", "What alphabet is used in Bulgaria"),
        ),
        (
            "Which sports are popular in Samoa and are they popular in Tonga too?",
            ("Which sports are popular in Samoa", "Which sports are popular in Tonga"),
        ),
    ],
)
def test_the_second_question_gets_the_shared_words(text, parts):
    assert parts_of(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        "Where did she study, and in which year did she graduate?",
        "How do I apply for a permit, and for how long is it valid?",
        "What is the population of Lyon, and of what region is it the capital?",
        "I park at the port, and at the stadium.",
    ],
)
def test_a_second_question_of_another_kind_is_not_completed(text):
    assert len(parts_of(text)) == 0


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("Is Peru's population larger than that of Chile?", "How large is the population of Chile"),
        ("Is the population of Peru larger than that of Chile?", "How large is the population of Chile"),
        ("Are the rents in Oslo higher than those in Rome?", "How high are the rents in Rome"),
        ("Do the wages of cooks rise faster than those of bakers?", "How fast do the wages of bakers rise"),
        ("How is the area of Cuba in relation to that of Haiti?", "area of Haiti"),
    ],
)
def test_that_of_another_thing_is_named(text, second):
    assert parts_of(text)[1].endswith(second)


def test_words_that_join_questions_are_no_question():
    assert parts_of("Which lakes are the deepest in Chad? Also, what is the capital?") == (
        "Which lakes are the deepest in Chad",
        "what is the capital (Chad)",
    )
    assert parts_of("Who wrote Walden? In addition, when was it published?")[1] == "when was Walden published"


def test_attributes_after_a_colon_are_asked_of_the_thing():
    assert parts_of("For Chad: the area, the currency, and the population") == (
        "area of Chad",
        "currency of Chad",
        "population of Chad",
    )
    assert not parts_of("Note: the price and the garden matter")
    assert parts_of("Both the area and the largest lakes of Chad, please") == ("area of Chad", "largest lakes of Chad")


@pytest.mark.parametrize(
    "text",
    ["Who founded Bed Bath & Beyond?", "Fitz & Sons albums", "Baker Miller & Co. revenue", "New York & Company stores"],
)
def test_firms_with_an_ampersand_are_one_name(text):
    assert parts_of(text) == ()
