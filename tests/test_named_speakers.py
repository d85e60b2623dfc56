"""Speakers with names of their own, exports of chat programs, and objects that contain a conversation."""

from __future__ import annotations

import pytest

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConversationError

ASKED, TOLD = "Where is Oslo?", "In Norway."
MESSAGES = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": TOLD}]
NAMED = [{"from": "Ada", "text": ASKED}, {"from": "Pekka", "text": TOLD}]
ONE_EACH = [f"U: {ASKED}", f"S: {TOLD}"]


def read(history):
    return [str(turn) for turn in read_history(history)]


@pytest.mark.parametrize(
    "history",
    [
        {"type": "chat", "messages": MESSAGES},
        {"kind": "conversation", "turns": MESSAGES},
        {"type": "thread", "conversation": {"messages": MESSAGES}},
        {"type": "chat", "data": {"messages": MESSAGES}},
        {"type": "chat", "thread": MESSAGES},
        {"type": "chat", "items": MESSAGES},
        [{"type": "chat", "messages": MESSAGES}],
        {"from": "an archive", "messages": MESSAGES},
        {"type": "personal_chat", "name": "Ada", "id": 5, "messages": [{"type": "message", **one} for one in NAMED]},
        {"type": "personal_chat", "messages": [{"type": "service", "actor": "Ada", "text": ""}, *NAMED]},
        [{"from": "Ada", "text": ["Where is ", {"type": "bold", "text": "Oslo"}, "?"]}, NAMED[1]],
    ],
)
def test_an_object_with_a_type_gives_its_conversation(history):
    assert read(history) == ONE_EACH


def test_an_object_of_another_kind_is_refused():
    with pytest.raises(ConversationError):
        read({"type": "chat", "entries": ["a"]})
    assert read([*MESSAGES, {"type": "function_call", "name": "x", "arguments": "{}"}]) == ONE_EACH


@pytest.mark.parametrize("blank", ["", "  ", []])
@pytest.mark.parametrize("other", [{"text": ASKED}, {"parts": [{"text": ASKED}]}, {"message": ASKED}])
def test_a_text_beside_an_empty_content_is_read(blank, other):
    assert read({"role": "user", "content": blank, **other}) == ONE_EACH[:1]
    assert read([{"role": "user", "content": blank}]) == []


@pytest.mark.parametrize(
    ("speakers", "sides"),
    [
        (["maija", "pekka", "maija"], "USU"),
        (["maija", "maija", "pekka", "maija"], "UUSU"),
        (["Support Bot", "Ada", "Ada"], "SUU"),
        (["Ada", "assistant", "Ada"], "USU"),
        (["Pekka", "user", "Pekka"], "SUS"),
        (["Ada", "Bob", "Carol", "Ada"], "USSU"),
        ([7, 7, 8], "UUS"),
    ],
)
@pytest.mark.parametrize("key", ["speaker", "from", "author", "sender", "name", "user"])
def test_one_name_is_one_side(speakers, sides, key):
    turns = read([{key: name, "text": f"text {place}"} for place, name in enumerate(speakers)])
    assert turns == [f"{side}: text {place}" for place, side in enumerate(sides)]


def test_names_in_pairs_and_in_author_objects():
    assert read([("maija", ASKED), ("pekka", TOLD), ("maija", "a")]) == [*ONE_EACH, "U: a"]
    assert read([{"author": {"name": "Ada"}, "content": text} for text in (ASKED, TOLD)]) == [
        f"U: {ASKED}",
        f"U: {TOLD}",
    ]
    assert read([("a", "b"), ("c", "d"), ("e", "f")]) == ["U: a", "S: b", "U: c", "S: d", "U: e", "S: f"]


def test_a_message_in_parts_is_one_turn():
    part = {"type": "text", "text": "a"}
    assert read({"author": "Ada", "content": [part, {"type": "text", "text": "b"}]}) == ["U: a\nb"]


@pytest.mark.parametrize(
    "notice",
    [
        "26/11/2026, 10:30 - Messages and calls are end-to-end encrypted. Only people in this chat can read them.",
        "26/11/2026, 10:30 - Nachrichten und Anrufe sind Ende-zu-Ende-verschl\u00fcsselt.",
        "26/11/2026, 10:30 - Ada created group \"x\"",
        "[26/11/2026, 10:30:05] Ada: \u200eMessages and calls are end-to-end encrypted.",
    ],
)  # fmt: skip
def test_lines_of_an_export_that_nobody_said_are_left_out(notice):
    shape = "[26/11/2026, 10:3{}:05] {}: {}" if notice.startswith("[") else "26/11/2026, 10:3{} - {}: {}"
    lines = [shape.format(1, "Ada", ASKED), shape.format(2, "Pekka", TOLD)]
    assert read("\n".join([notice, *lines])) == ONE_EACH
    assert read("\n".join([lines[0], notice, lines[1]])) == ONE_EACH


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Visitor", "Pekka"),
        ("Anna", "Agent"),
        ("Kunde", "Frau Meier"),
        ("Customer [10:02]", "Agent [10:03]"),
        ("Customer 10:02", "Agent 10:03"),
        ("Maija (Customer)", "Pekka (Agent)"),
        ("Maija [User]", "Pekka [Assistant]"),
    ],
)
def test_marks_with_names_and_times(first, second):
    assert read(f"{first}: {ASKED}\n{second}: {TOLD}") == ONE_EACH
    assert read([f"{first}: {ASKED}", f"{second}: {TOLD}"]) == ONE_EACH


def test_an_agent_with_a_name_may_begin():
    assert read("Pekka: Hello!\nVisitor: Where is Oslo?") == ["S: Hello!", f"U: {ASKED}"]


@pytest.mark.parametrize(
    "text",
    ["Lima: large\nQuito: small", "Note: where\nTodo: there", "10:31 - lunch\n10:32 - tea", "Plan (draft): x\nEnd: y"],
)
def test_lines_that_name_no_speaker_are_text(text):
    assert read(text) == [f"U: {text}"]


def test_a_note_is_no_speaker():
    assert read("Customer: where is it\nNote: in short") == ["U: where is it\nNote: in short"]
