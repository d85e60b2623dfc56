"""What a later question is about: "When did Norway join NATO and what is its capital?"."""

import pytest

from acqo_rl.reformulation.splitting import parts_of
from acqo_rl.reformulation.subjects import subject_of


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("When did Finland become independent and who was its first president?", "who was Finland's first president"),
        ("When did Norway gain independence and what is its currency?", "what is Norway's currency"),
        ("When did Nokia stop making phones and who is its CEO?", "who is Nokia's CEO"),
        ("When did Sweden join NATO and what is its capital?", "what is Sweden's capital"),
        ("When did Alaska join the United States and how large is it?", "how large is Alaska"),
        ("When did Sweden join NATO and what is the capital?", "what is the capital (Sweden)"),
        ("Did Malta adopt the euro and what was its currency before?", "what was Malta's currency before"),
        ("Has Iceland joined the EU and what is its currency?", "what is Iceland's currency"),
        ("When was Finland declared independent by Russia and who ruled it?", "who ruled Finland"),
        ("When did Marie Curie discover radium and where was she born?", "where was Marie Curie born"),
        ("Where did Vasco da Gama land in India and when did he die?", "when did Vasco da Gama die"),
        ("When did the University of Bologna open and what is its motto?", "what is the University of Bologna's motto"),
        ("In which year did Ecuador adopt the dollar and what is its capital?", "what is Ecuador's capital"),
        ("Where do I renew a visa and how long is it valid?", "how long is a visa valid"),
        ("When did the Vietnam war end and what did it cost?", "what did the Vietnam war cost"),
        ("When did the Cosby show premiere and how long did it run?", "how long did the Cosby show run"),
        ("When did Grey's Anatomy premiere and who wrote it?", "who wrote Grey's Anatomy"),
        ("when did the war end and what did it cost?", "what did the war cost"),
        ("When did people settle Iceland and what is its capital?", "what is Iceland's capital"),
        ("who discovered radium and in what year", "in what year was radium discovered"),
        ("what is a kite used for and what does it cost?", "what does a kite cost"),
        ("what is lima known for and what is its population", "what is lima's population"),
        ("when was the euro introduced in germany and what is its value?", "what is the euro's value"),
        ("what's the weather like in lisbon and how expensive are hotels there", "how expensive are hotels in lisbon"),
        ("What do people pay with in Turkey and what do they speak there?", "what do they speak in Turkey"),
        ("How big is Iceland and what money do they use there?", "what money do they use in Iceland"),
        ("How large is Norway and do they use the euro there?", "do they use the euro in Norway"),
        ("What is the weather like in Quito and does it change?", "does the weather in Quito change"),
    ],
)
def test_a_later_question_is_about_the_subject(text, second):
    parts = parts_of(text)
    assert len(parts) == 2
    assert parts[1] == second


@pytest.mark.parametrize(
    "text",
    [
        "When did Apple release the iPhone and how much did it cost?",  # the object
        "When did Nokia start making phones and how much did they cost?",
        "When did Barcelona sign Messi and how old was he?",
        "When did Ireland ban smoking in pubs and what was its effect?",  # the event
        "When did Brazil win its first World Cup and who was its captain?",  # the cup
        "When did the company buy Porsche and who is its CEO?",  # either of them
        "When did Ghana and Togo become independent and what is its capital?",
        "when did south korea join the un and what is its capital?",  # no capitals show where the name ends
        "When did Einstein leave Germany and what was his job there?",  # nothing shows where "there" is
        "Who are Los Lobos and where did they play there?",
    ],
)
def test_a_question_is_left_whole_if_the_later_part_may_be_about_something_else(text):
    assert parts_of(text) == ()


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("When did Philip II of Spain send the Armada", "Philip II of Spain"),
        ("why will the Bank of Japan raise rates", "the Bank of Japan"),
        ("Where was Marie Curie educated", "Marie Curie"),
        ("When did the Soviet Union invade Poland", "the Soviet Union"),
        ("When did the Vietnam war end", ""),
        ("When did Norway's king abdicate", ""),
        ("When did I order", ""),
        ("When did Ghana and Togo become independent", ""),
        ("What is the capital of Peru", ""),
        ("Oslo", ""),
        ("", ""),
    ],
)
def test_the_subject_ends_before_its_verb(question, subject):
    assert subject_of(question) == subject
