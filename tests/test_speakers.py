"""The speaker of a turn is read from marks, from names and from the order of the turns."""

from __future__ import annotations

import pytest

from acqo_rl.conversations import Turn, read_history


@pytest.mark.parametrize(
    "text",
    [
        "Note: the deadline is Friday",
        "Re: x",
        "Oslo: the capital",
        "https://example.org/a:b",
        "10:30 is fine",
        "user groups: which?",
        "C:\\temp and D:\\data",
        "s://bucket/key",
        "u:/home",
        "(a) first (b) second",
        "<a>link</a>",
        "<b>bold</b>",
        "Users: 5",
        "AIs: 2",
        "ratio a:b",
        "*emphasis* first",
        "User > Settings > Profile",
        "**Bots** are programs",
        "### Users\nare people",
    ],
)
def test_a_colon_or_a_bracket_is_no_mark(text):
    for place in (0, 1):
        history = ["before", "before", "after", "after"]
        history[place] = text
        assert [turn.text for turn in read_history(history)] == history


@pytest.mark.parametrize(
    "text",
    ["Agent: James Bond", "Model: Tesla S", "Client: Microsoft", "You: a film of 2016", "Bot 2: the sequel",
     "Q: The Winged Serpent is a film", "AI: Artificial Intelligence is a film", "A: the first letter", "Input: a key"],
)  # fmt: skip
def test_words_that_also_begin_sentences_are_marks_only_where_most_turns_have_one(text):
    assert read_history(["Who or what?", text]) == (Turn("user", "Who or what?"), Turn("assistant", text))


@pytest.mark.parametrize(
    ("history", "speakers"),
    [
        (["a"], "U"),
        (["a", "b", "c"], "USU"),
        (["a", "S: b", "c"], "USU"),
        (["a", "U: b"], "SU"),
        (["U: a", "U: b", "c"], "UUS"),
        (["a", "", "c"], "UU"),
        (["System: Be brief.", "User: b", "Assistant: c"], "US"),
        (["System: Hello.", "User: b", "System: c"], "SUS"),
        ([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "b"}], "U"),
        ([{"role": "narrator", "content": "a"}, {"role": "crowd", "content": "b"}], "US"),
        ([("a", None), ("b", "c")], "UUS"),
        (None, ""),
        ((), ""),
        ("a", "U"),
        (["U:", "S: "], ""),
        (["Customer Anna: a", "Agent Pekka: b", "Customer Anna: c"], "USU"),
        (["Agent Pekka: a", "Anna: b", "Agent Pekka: c"], "SUS"),
        ("Customer Anna Berg: a\nAgent Pekka: b\nCustomer Anna Berg: c", "USU"),
        (["Which agent was it?", "Agent Orange: a herbicide", "and the rest"], "USU"),
    ],
)
def test_who_speaks(history, speakers):
    assert "".join(str(turn)[0] for turn in read_history(history)) == speakers


@pytest.mark.parametrize(
    ("first", "second", "speakers"),
    [
        ("A", "B", "USU"),
        ("Anna", "Support", "USU"),
        ("Speaker 1", "Speaker 2", "USU"),
        ("User", "Claude", "USU"),
        ("GPT-4", "User", "SUS"),
        ("Agent", "Anna", "SUS"),
        ("Nutzerin", "Assistentin", "USU"),
        ("Пользователь", "Бот", "USU"),
        ("用户", "助手", "USU"),
        ("사용자", "도우미", "USU"),
        ("Usuário", "Atendente", "USU"),
    ],
)
def test_two_names_that_take_turns_are_speakers_whatever_they_are_called(first, second, speakers):
    said = [f"{first}: Where is Lima?", f"{second}: In Peru.", f"{first}\uff1aAnd Quito?"]
    turns = read_history(said)
    assert "".join(str(turn)[0] for turn in turns) == speakers
    assert [turn.text for turn in turns] == ["Where is Lima?", "In Peru.", "And Quito?"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Anna: ", "Kundendienst: "),
        ("Käyttäjä: ", "Avustaja: "),
        ("Χρήστης: ", "Βοηθός: "),
        ("उपयोगकर्ता: ", "सहायक: "),
        ("顾客\uff1a", "客服\uff1a"),
        ("**Anna:** ", "**Ben**: "),
        ("### Anna:\n", "### Ben:\n"),
        ("[12:03] Anna: ", "[12:04] Ben: "),
        ("- Anna: ", "- Bot: "),
    ],
)
def test_two_names_that_take_turns_in_one_text_are_speakers(first, second):
    text = f"{first}Where is Lima?\nTwo things:\nNote: in short.\n{second}In Peru.\n\n{first}Quito?\n{second}Also."
    assert [str(turn) for turn in read_history(text)] == [
        "U: Where is Lima?\nTwo things:\nNote: in short.",
        "S: In Peru.",
        "U: Quito?",
        "S: Also.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Lima: large\nQuito: small",
        "Lima: large\nQuito: small\nBogota: large\nSucre: small",
        "Compare these.\nLima: large\nQuito: small\nLima: dry\nQuito: wet",
        "Lima: large\nLima: dry\nQuito: wet\nQuito: small",
        "The roles are:\nuser\nadmin",
    ],
)
def test_names_at_the_beginning_of_lines_that_take_no_turns_are_text(text):
    assert read_history(text) == (Turn("user", text),)


@pytest.mark.parametrize("other", ["In Peru.", "Bogota: a city", "https://lima.pe"])
def test_one_name_or_three_are_no_speakers(other):
    history = ["Lima: is it large?", other, "Quito: and this?"]
    assert [turn.text for turn in read_history(history)] == history


def test_a_mark_is_taken_off_once():
    assert read_history(["User: S: what is it?", "Bot: User: a person"]) == (
        Turn("user", "S: what is it?"),
        Turn("assistant", "User: a person"),
    )
    assert read_history([{"role": "user", "content": "Assistant: what is it?"}]) == (
        Turn("user", "Assistant: what is it?"),
    )
