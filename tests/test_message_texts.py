"""Conversations as programs write them: response objects, printed messages, templates, HTML."""

from __future__ import annotations

import json

import pytest

from acqo_rl.conversations import Turn, read_history

ASKED, TOLD, AFTER = "Currency of Peru?", "The sol.", "And its code?"
TALK = (Turn("user", ASKED), Turn("assistant", TOLD))
WITH_AFTER = (*TALK, Turn("user", AFTER))


def message(created_at, role, text):
    """A message of the Assistants API."""
    content = [{"type": "text", "text": {"value": text, "annotations": []}}]
    return {"object": "thread.message", "created_at": created_at, "role": role, "content": content}


NEWEST_FIRST = [message(30, "user", AFTER), message(20, "assistant", TOLD), message(10, "user", ASKED)]
VICUNA = "A chat between a curious user and an artificial intelligence assistant. It answers the user's questions."
CURSOR = f"""# Currency of Peru
_Exported on 26/11/2026 at 10:31:05 GMT+1 from Cursor (1.2.4)_

---

**User**

{ASKED}

---

**Cursor**

{TOLD}
"""


@pytest.mark.parametrize(
    ("history", "turns"),
    [
        (NEWEST_FIRST, WITH_AFTER),
        ({"object": "list", "data": NEWEST_FIRST}, WITH_AFTER),
        (NEWEST_FIRST[::-1], WITH_AFTER),
        (f"{VICUNA} USER: {ASKED} ASSISTANT: {TOLD}</s>USER: {AFTER} ASSISTANT:", WITH_AFTER),
        ([f"{VICUNA} USER: {ASKED} ASSISTANT: {TOLD}</s>"], TALK),
        (f"{VICUNA}\n### Human: {ASKED}\n### Assistant: {TOLD}", TALK),
        (CURSOR, TALK),
        ([{"queryText": ASKED, "fulfillmentText": TOLD}], TALK),
        ([{"queryText": ASKED, "fulfillmentText": TOLD}, {"queryText": AFTER, "fulfillmentText": ""}], WITH_AFTER),
        ([{"responseId": "1", "queryResult": {"queryText": ASKED, "fulfillmentText": TOLD}}], TALK),
        ([{"inputTranscript": ASKED, "messages": [{"contentType": "PlainText", "content": TOLD}]}], TALK),
        ({"inputTranscript": ASKED, "messages": [{"contentType": "PlainText", "content": TOLD}]}, TALK),
        (f"[HumanMessage(content='{ASKED}', additional_kwargs={{}}), AIMessage(content='{TOLD}', id='1')]", TALK),
        (f"[SystemMessage(content=\"It's on\"), HumanMessage(content='{ASKED}'), AIMessage(content='{TOLD}')]", TALK),
        (f"<user>{ASKED}</user><assistant>{TOLD}</assistant>", TALK),
        (f"<conversation>\n<user>\n{ASKED}\n</user>\n<assistant>\n{TOLD}\n</assistant>\n</conversation>", TALK),
        ([{"role": "user", "content": f"<p>{ASKED}</p>"}, {"role": "assistant", "content": f"<p>{TOLD}</p>"}], TALK),
    ],
)
def test_the_turns_are_read_oldest_first(history, turns):
    assert read_history(history) == turns
    assert read_history(read_history(history)) == turns


def test_html_becomes_text_and_a_question_about_html_stays():
    written = [{"role": "user", "content": "<p>Salt &amp; <b>pepper</b></p><p>or<br>none?</p>"}]
    assert [turn.text for turn in read_history(written)] == ["Salt & pepper\nor\nnone?"]
    for text in ("How do I center <p> in <div>?", "<p> or <div>?", "a < b > c"):
        assert read_history([{"role": "user", "content": text}]) == (Turn("user", text),)


def test_a_question_that_begins_with_the_word_system_is_a_turn_of_the_user():
    asked, told = "System: Windows 11. Why does it crash?", "Update the driver."
    assert read_history([asked, told]) == (Turn("user", asked), Turn("assistant", told))
    assert read_history(["System: Answer in one line.", ASKED, told]) == (Turn("user", ASKED), Turn("assistant", told))


@pytest.mark.parametrize(
    "text",
    [
        "A chat between two users: how is it stored?",
        "[HumanMessage(content=",
        "What does <user>name</user> mean?",
    ],
)
def test_a_text_that_only_looks_so_is_one_turn(text):
    assert [turn.text for turn in read_history(text)] == [text]


ROWS = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": TOLD}]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + json.dumps(ROWS),
        f"```json\n{json.dumps(ROWS)}\n```",
        json.dumps(json.dumps(ROWS)),
        str([("user", ASKED), ("assistant", TOLD)]),
        str((("user", ASKED), ("assistant", TOLD))),
        f"role,content\nuser,{ASKED}\nassistant,{TOLD}\n",
        f'"Speaker";"Text"\r\n"User";"{ASKED}"\r\n"Bot";"{TOLD}"\r\n',
        f"turn\tsender\tmessage\n1\tcustomer\t{ASKED}\n2\tagent\t{TOLD}\n",
    ],
)
def test_a_text_that_a_program_wrote_is_read_as_messages(text):
    assert read_history(text) == TALK


@pytest.mark.parametrize(
    "title", ["Chat transcript\n", "# Peru\n\n", "---\ntitle: Peru\n---\n\n", "Conversation of 12 May\n\n"]
)
@pytest.mark.parametrize("mark", ["{}: ", "**{}:** ", "## {}\n\n", "### \U0001f464 {}\n"])
@pytest.mark.parametrize("rule", ["", "\n\n---", "\n***"])
def test_titles_and_rules_of_an_exported_chat_are_no_turns(title, mark, rule):
    text = f"{title}{mark.format('User')}{ASKED}{rule}\n\n{mark.format('Assistant')}{TOLD}{rule}\n"
    assert read_history(text) == TALK


def test_a_sentence_before_the_first_mark_is_a_turn():
    turns = [str(turn) for turn in read_history(f"Hi! How can I help?\nUser: {ASKED}\nBot: {TOLD}")]
    assert turns == ["S: Hi! How can I help?", f"U: {ASKED}", f"S: {TOLD}"]


@pytest.mark.parametrize(
    "text",
    [
        "name,price\nOslo,12",
        "type;data\nfoo;bar",
        "sender, text\nplease explain these two columns",
        "from,message\nOslo,hello",
        "role,content",
        '("quoted") words',
        "(see above) why?",
        '"quoted" words',
    ],
)
def test_other_tables_and_brackets_are_text(text):
    assert read_history(text) == (Turn("user", text),)


def test_a_table_with_a_very_long_field_is_read():
    """The limit of the module csv is global, and another module may have raised it."""
    [turn] = read_history("role,content\nuser," + "x" * 200_000)
    assert turn.speaker == "user"
    assert turn.text.endswith("x" * 200_000)


@pytest.mark.parametrize(
    ("first", "second", "end"),
    [
        ("<|im_start|>user<|im_sep|>", "<|im_start|>assistant<|im_sep|>", "<|im_end|>"),
        ("<|turn>user\n", "<|turn>model\n", "<turn|>\n"),
        ("<bos><|turn>system\nBe brief.<turn|>\n<|turn>user\n", "<|turn>model\n", "<turn|>\n"),
        ("]~!b[]~b]user\n", "]~b]ai\n", "[e~[\n"),
        ("<seed:bos>user\n", "<seed:bos>assistant\n", "<seed:eos>"),
        ("<\uff5chy_begin\u2581of\u2581sentence\uff5c><\uff5chy_User\uff5c>", "<\uff5chy_Assistant\uff5c>", ""),
        ("<|begin_of_sentence|>User: ", "Assistant: ", "<|end_of_sentence|>"),
        ("<|begin_of_sentence|>User: ", "\nAssistant: ", ""),
    ],
)
def test_a_rendered_template_is_read_whatever_its_tokens_are(first, second, end):
    assert read_history(f"{first}{ASKED}{end}{second}{TOLD}{end}") == TALK


@pytest.mark.parametrize(
    "text",
    [
        "What does <|turn>user mean?",
        "Is ]~b]user a token?",
        "Where does <seed:bos>user stand?",
        "<|begin_of_text|> is the first token of which model?",
        "<|turn> or <turn|>: which one opens?",
        "<|im_start|> or <s>: which one?",
    ],
)
def test_a_question_about_tokens_is_one_turn(text):
    assert [turn.text for turn in read_history(text)] == [text]
