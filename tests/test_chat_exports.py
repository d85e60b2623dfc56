"""Subtitles and exported chats are read as turns of two speakers."""

from __future__ import annotations

# ruff: noqa: E501, RUF001  (texts as programs export them)
import time

import pytest

from acqo_rl.conversations import read_history

EXPORTS = {
    "vtt": "WEBVTT\n\n00:00:01.000 --> 00:00:04.000\n<v Ada>Tell me about Oslo.\n\n00:00:04.500 --> 00:00:08.000\n<v Bot>Oslo is the capital of Norway.\n",
    "vtt2": "WEBVTT\nKind: captions\n\n1\n00:00:01.000 --> 00:00:04.000\nUser: Tell me about Oslo.\n\n2\n00:00:04.500 --> 00:00:08.000\nAssistant: Oslo is the capital\nof Norway.\n",
    "vtt3": "WEBVTT - Meeting\n\nNOTE made by x\n\na1b2/12-0\n00:00:01.000 --> 00:00:04.000 align:start\n<v Ada Byron>Tell me about</v>\n\na1b2/12-1\n00:00:04.500 --> 00:00:08.000\n<v Ada Byron>Oslo.</v>\n\na1b2/13-0\n00:00:08.500 --> 00:00:09.000\n<v Bob Smith>Oslo is the capital of Norway.</v>\n",
    "srt": "1\n00:00:01,000 --> 00:00:04,000\nAda: Tell me about Oslo.\n\n2\n00:00:04,500 --> 00:00:08,000\nBob: Oslo is the capital of Norway.\n",
    "srt_bracket": "1\n00:00:01,000 --> 00:00:04,000\n[User] Tell me about Oslo.\n\n2\n00:00:04,500 --> 00:00:08,000\n[Agent] Oslo is the capital of Norway.\n",
    "srt_nomark": "1\n00:00:01,000 --> 00:00:04,000\nTell me about Oslo.\n\n2\n00:00:04,500 --> 00:00:08,000\nOslo is the capital of Norway.\n",
    "dash": "Customer - Tell me about Oslo.\nAgent - Oslo is the capital of Norway.",
    "dash2": "Customer – Tell me about Oslo.\nAgent – Oslo is the capital of Norway.",
    "dash3": "User — Tell me about Oslo.\nAssistant — Oslo is the capital of Norway.",
    "discord": "Ada — Today at 10:31\nTell me about Oslo.\nHelpBot — Today at 10:32\nOslo is the capital of Norway.",
    "discord2": "Ada — 11/26/2026 10:31 AM\nTell me about Oslo.\n\nHelpBot\nBOT\n — 11/26/2026 10:32 AM\nOslo is the capital of Norway.",
    "discord3": "Ada — Yesterday at 10:31 PM\nTell me about Oslo.\nHelpBot BOT — Yesterday at 10:32 PM\nOslo is the capital of Norway.",
    "discord4": "[10:31 AM]Ada: Tell me about Oslo.\n[10:32 AM]HelpBot: Oslo is the capital of Norway.",
    "slack": "Ada  10:31 AM\nTell me about Oslo.\nHelpBot  10:32 AM\nOslo is the capital of Norway.",
    "slack2": "Ada Byron  [10:31 AM]\nTell me about Oslo.\n\nHelpBot  [10:32 AM]\nOslo is the capital of Norway.",
    "slack3": "Ada Byron\n  10:31 AM\nTell me about Oslo.\nHelpBot\nAPP  10:32 AM\nOslo is the capital of Norway.",
    "teams": "[10:31] Ada Byron\nTell me about Oslo.\n[10:32] Help Bot\nOslo is the capital of Norway.",
    "telegram": "Ada, [26.11.2026 10:31]\nTell me about Oslo.\n\nHelpBot, [26.11.2026 10:32]\nOslo is the capital of Norway.",
    "whatsapp": "[26/11/2026, 10:31:05] Ada: Tell me about Oslo.\n[26/11/2026, 10:32:05] HelpBot: Oslo is the capital of Norway.",
    "whatsapp2": "26/11/2026, 10:31 - Ada: Tell me about Oslo.\n26/11/2026, 10:32 - HelpBot: Oslo is the capital of Norway.",
    "zoom": "10:31:05 From Ada Byron to Everyone:\n\tTell me about Oslo.\n10:32:05 From Help Bot to Everyone:\n\tOslo is the capital of Norway.",
    "irc": "<Ada> Tell me about Oslo.\n<HelpBot> Oslo is the capital of Norway.",
    "irc2": "10:31 <Ada> Tell me about Oslo.\n10:32 <HelpBot> Oslo is the capital of Norway.",
    "ts": "(00:01) Ada: Tell me about Oslo.\n(00:05) Bob: Oslo is the capital of Norway.",
    "otter": "Ada Byron  0:01\nTell me about Oslo.\n\nBob Smith  0:05\nOslo is the capital of Norway.",
    "listdash": ["Customer - Tell me about Oslo.", "Agent - Oslo is the capital of Norway."],
    "listdiscord": [
        "Ada — Today at 10:31\nTell me about Oslo.",
        "HelpBot — Today at 10:32\nOslo is the capital of Norway.",
    ],
}
EXPORTS |= {
    f"copied from {name}": f"{you}\n{gap}Tell me about Oslo.\n\n{bot}\n{gap}Oslo is the capital of Norway.\n"
    for gap in ("", "\n")
    for name, you, bot in (
        ("Copilot", "You said", "Copilot said"),
        ("Gemini", "You said ", "Gemini said "),
        ("ChatGPT", "You said:", "ChatGPT said:\nThought for 5 seconds\n"),
        ("another program", "##### You said:", "###### Le Chat said:"),
        ("a German page", "Du hast gesagt:", "ChatGPT hat gesagt:"),
        ("a French page", "Vous avez dit :", "ChatGPT a dit :"),
    )
}
TURNS = [("user", "Tell me about Oslo."), ("assistant", "Oslo is the capital of Norway.")]
PROSE = [
    "Trains - how do they run?\nBuses - are they late?",
    "I left at 10:31 AM\nand came at 10:32 AM\nhome",
    "Oslo 10:31\nBergen 10:32",
    "Model - T4\nAgent - 007",
    "<b>Bold</b> text\n<i>x</i> y",
    "What does 00:00:01,000 --> 00:00:04,000 mean in a subtitle?",
    "You said\nthat Oslo is large. Is it?",
    "He said\nyes\nShe said\nno",
    "Departures\nOslo  10:31 AM\nGate 4\nBergen  10:32 AM\nGate 5",
]


def read(history):
    return [(turn.speaker, turn.text) for turn in read_history(history)]


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_read_as_turns(name):
    assert read(EXPORTS[name]) == TURNS
    if isinstance(EXPORTS[name], str):
        assert read(EXPORTS[name].replace("\n", "\r\n")) == TURNS


def test_in_a_copied_page_only_one_other_name_is_a_speaker():
    text = "You said\nWhat did they say?\nCopilot said\nFirst:\nEinstein said\nno.\nYou said\nAnd then?"
    said = [("user", "What did they say?"), ("assistant", "First:\nEinstein said\nno."), ("user", "And then?")]
    assert read(text) == said


def test_two_names_that_alternate_before_a_dash_are_speakers():
    text = "Ada - Tell me about Oslo.\nBen - It is a city.\nAda - And Bergen?\nBen - Too."
    assert [speaker for speaker, _ in read(text)] == ["user", "assistant"] * 2
    assert len(read("Oslo - capital\nBergen - city\nOslo - mayor")) == 1


@pytest.mark.parametrize("shape", ["{}> {}", "{} > {}", "{} >> {}", "{} » {}", "{}\n{}", "{}\n{}\n", "{} \n  {}"])
def test_names_before_an_arrow_or_above_the_text_are_speakers_if_they_alternate_twice(shape):
    said = [("anna", "Tell me about Oslo."), ("ben", "It is a city."), ("anna", "And Bergen?"), ("ben", "Too.")]
    messages = [shape.format(*one) for one in said]
    turns = list(zip(["user", "assistant"] * 2, [text for _, text in said], strict=True))
    assert read("\n".join(messages)) == turns
    assert read(messages) == turns
    assert len(read("\n".join(messages[:3]))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Oslo > Bergen\nBergen > Bodø\nOslo > Bodø",
        "Hello\nIs it me?\nHello\nIs it you?\nHello\nWho is it?",
        "Oslo\nBergen\nOslo\nBergen",
        "Songs:\nanna\nla la\nben\nla la\nanna\nla\nben\nla",
    ],
)
def test_lines_that_only_look_like_names_above_texts_are_one_turn(text):
    assert read(text) == [("user", text)]


@pytest.mark.parametrize("names", [("Kunde", "Berater"), ("Cliente", "Agente"), ("客户", "客服"), ("고객", "상담원")])
@pytest.mark.parametrize("sign", [":", " -"])
def test_customers_and_agents_of_other_languages_are_known(names, sign):
    assert read("\n".join(f"{name}{sign} {text}" for name, (_, text) in zip(names, TURNS, strict=True))) == TURNS


def test_messages_in_a_row_are_one_turn_and_a_bot_is_the_assistant_even_if_it_begins():
    text = "HelpBot — Today at 10:30\nHello!\nAda — Today at 10:31\nAbout Oslo:\nAda — Today at 10:32\nits mayor?"
    assert read(text) == [("assistant", "Hello!"), ("user", "About Oslo:\nits mayor?")]


@pytest.mark.parametrize("text", PROSE)
def test_a_text_that_only_has_times_or_dashes_is_one_turn(text):
    assert read(text) == [("user", text)]


def test_a_long_text_of_almost_headers_costs_little():
    start = time.perf_counter()
    read("Ada Byron - x  10:3" * 4000 + "\n" + "Ada  \n" * 4000 + "00:00:01.000 --> \n" * 4000)
    assert time.perf_counter() - start < 5
