"""Exports and logs of chat programs, frameworks and data sets: sides of messages, and lists and trees of messages."""

from __future__ import annotations

import json

import pytest

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConversationError

ASKED, TOLD = "Tell me about Oslo.", "It is the capital of Norway."
TURNS = [f"U: {ASKED}", f"S: {TOLD}"]
PAIR = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": TOLD}]


def both(message):
    """The messages of the user and of the assistant; ``message`` has the arguments "is the user's" and the text."""
    return [message(True, ASKED), message(False, TOLD)]


def node(name, parent, children, role, text, **more):
    """A node of an export of ChatGPT."""
    content = {"content_type": "text", "parts": [text]}
    message = {"author": {"role": role}, "content": content, **more} if role else None
    return {"id": name, "parent": parent, "children": children, "message": message}


NODES = {
    "b": node("b", "a", [], "assistant", TOLD),
    "old": node("old", "a", [], "assistant", "Another answer."),
    "a": node("a", "s", ["old", "b"], "user", ASKED),
    "s": node("s", "r", ["a"], "system", "Be brief."),
    "r": node("r", None, ["s"], None, ""),
}
EVENTS = [
    {"event": "action", "name": "action_session_start"},
    {"event": "user", "text": ASKED, "parse_data": {"intent": {"name": "ask"}, "text": ASKED}},
    {"event": "slot", "name": "city", "value": "Oslo"},
    {"event": "bot", "text": TOLD, "metadata": {}},
    {"event": "bot", "text": None, "data": {"image": "x.png"}},
    {"event": "action", "name": "action_listen"},
]
SHAPES = {
    "events of Rasa": EVENTS,
    "a tracker of Rasa": {"sender_id": "7", "slots": {}, "latest_message": {"text": ASKED}, "events": EVENTS},
    "a tracker in an object": {"tracker": {"events": EVENTS}},
    "ChatGPT": {"title": "Oslo", "mapping": NODES, "current_node": "b"},
    "ChatGPT without the current node": {"mapping": NODES},
    "the nodes alone": NODES,
    "a list of one export": [{"mapping": NODES, "current_node": "b"}],
    "ChatGPT in JSON": json.dumps({"mapping": NODES, "current_node": "b"}),
    "ChatGPT with a tool": {
        "mapping": {
            "a": node("a", None, ["t"], "user", ASKED),
            "t": node("t", "a", ["h"], "assistant", "search('Oslo')", recipient="browser"),
            "h": node("h", "t", ["b"], "user", "context", metadata={"is_visually_hidden_from_conversation": True}),
            "b": node("b", "h", [], "assistant", TOLD, recipient="all"),
        }
    },
    "Open WebUI": {
        "chat": {
            "history": {
                "currentId": "b",
                "messages": {
                    "a": {"id": "a", "parentId": None, "childrenIds": ["b"], "role": "user", "content": ASKED},
                    "b": {"id": "b", "parentId": "a", "childrenIds": [], "role": "assistant", "content": TOLD},
                },
            }
        }
    },
    "a tree of replies": {
        "prompt": {"text": ASKED, "role": "prompter", "replies": [{"text": TOLD, "role": "assistant", "replies": []}]}
    },
    "fromMe": both(lambda user, text: {"fromMe": user, "body": text, "timestamp": 1, "type": "chat"}),
    "fromMe of a bot": both(lambda user, text: {"fromMe": not user, "body": text}),
    "fromMe in the id": both(lambda user, text: {"id": {"fromMe": user, "remote": "4"}, "body": text}),
    "fromMe in the key": both(lambda user, text: {"key": {"fromMe": user}, "message": {"conversation": text}}),
    "a text in an object": both(
        lambda user, text: {"key": {"fromMe": user}, "message": {"extendedTextMessage": {"text": text}}}
    ),
    "is_user": both(lambda user, text: {"is_user": user, "message": text}),
    "isBot": both(lambda user, text: {"isBot": not user, "text": text}),
    "sentByUser": both(lambda user, text: {"sentByUser": user, "messageBody": text}),
    "mine": both(lambda user, text: {"mine": user, "text": text}),
    "outgoing": both(lambda user, text: {"outgoing": not user, "text": text}),
    "inbound": both(lambda user, text: {"direction": "inbound" if user else "outbound-api", "body": text}),
    "incoming": both(lambda user, text: {"message_type": "incoming" if user else "outgoing", "content": text}),
    "payload": both(
        lambda user, text: {
            "type": "text",
            "direction": "incoming" if user else "outgoing",
            "payload": {"type": "text", "text": text},
        }
    ),
    "senderId": both(lambda user, text: {"senderId": 1 if user else 2, "text": text, "ts": 5 if user else 6}),
    "sender_name": both(lambda user, text: {"sender_name": "Anna" if user else "Ola", "content": text}),
    "author_id": {"comments": both(lambda user, text: {"author_id": 5 if user else 7, "body": text})},
    "messageText": both(lambda user, text: {"sender": "user" if user else "bot", "messageText": text}),
    "a type of author": both(lambda user, text: {"author": {"type": "user" if user else "bot"}, "body": text}),
    "numbered speakers": both(lambda user, text: {"speaker": "User1" if user else "User2", "text": text}),
    "columns in the plural": {"questions": [ASKED], "answers": [TOLD]},
    "CoQA": {"questions": [{"input_text": ASKED, "turn_id": 1}], "answers": [{"input_text": TOLD, "turn_id": 1}]},
    "pairs in a field": {"id": 3, "qa_pairs": [{"question": ASKED, "answer": TOLD}]},
    "a list and other fields": {"dialogue_id": 3, "services": ["a"], "dialogue": PAIR},
    "a tree of messages by side": {
        "messages": [
            {
                **{"sender": "User", "isCreatedByUser": True, "text": ASKED},
                "children": [
                    {"sender": "GPT-4o", "isCreatedByUser": False, "text": "Another answer.", "children": []},
                    {"sender": "GPT-4o", "isCreatedByUser": False, "text": TOLD, "children": []},
                ],
            }
        ]
    },
    "names in author objects": {
        "value": [
            {"from": {"application": None, "user": {"displayName": "Ada"}}, "body": {"content": f"<p>{ASKED}</p>"}},
            {"from": {"application": {"displayName": "Help"}, "user": None}, "body": {"content": TOLD}},
        ]
    },
    "rich text": [{"role": "user", "content": [{"type": "richText", "children": [{"text": ASKED}]}]}, PAIR[1]],
    "rich text in paragraphs": [
        {"role": "user", "content": [{"type": "doc", "children": [{"type": "p", "children": [{"text": ASKED}]}]}]},
        PAIR[1],
    ],
    "a prompt and a completion": {"prompt": PAIR[:1], "completion": PAIR[1:]},
}


ANSWER = {"role": "assistant", "content": TOLD}
SHAPES |= {
    "pairs in data": {"data": [{"id": "1", "query": ASKED, "answer": TOLD}], "has_more": False},
    "a list of one chat": [{"id": "1", "chat": {"models": ["x"], "messages": PAIR}}],
    "a list of one list": [{"chats": [{"messages": PAIR}]}],
    "requests": {"requests": [{"message": {"text": ASKED, "parts": []}, "response": [{"value": TOLD}]}]},
    "a pair in an object": [{"json": {"human": ASKED, "ai": TOLD}}],
    "messages in objects": {
        "conversations": [
            {
                "conversation": {"title": "Oslo"},
                "responses": [
                    {"response": {"sender": "human", "message": ASKED}},
                    {"response": {"sender": "ASSISTANT", "message": TOLD}},
                ],
            }
        ]
    },
    "items of events": [{"type": "conversation.item.created", "item": one} for one in PAIR],
    "a summary of the chat": [{"type": "summary", "summary": "About a city"}, *PAIR],
    "a file": [{"role": "user", "content": {"path": "/my x.png", "alt": "my x"}}, *PAIR],
    "fragments": [
        {
            "mapping": {
                "r": {"id": "r", "parent": None, "children": ["a"], "message": None},
                "a": {"parent": "r", "message": {"model": "m", "fragments": [{"type": "REQUEST", "content": ASKED}]}},
                "b": {
                    "parent": "a",
                    "message": {
                        "model": "m",
                        "fragments": [{"type": "THINK", "content": "Lima?"}, {"type": "RESPONSE", "content": TOLD}],
                    },
                },
            }
        }
    ],
    "steps": {
        "messages": [
            {"versions": [{**PAIR[0], "content": "Old."}, PAIR[0]], "currentlySelected": 1},
            {
                "versions": [
                    {
                        "role": "assistant",
                        "steps": [
                            {"type": "block", "content": [{"text": "Lima?"}], "style": {"type": "thinking"}},
                            {"type": "block", "content": [{"type": "text", "text": TOLD}]},
                        ],
                    }
                ]
            },
        ]
    },
    "posts by id": {
        "order": ["b", "a"],
        "posts": {
            "b": {"id": "b", "create_at": 2, "user_id": "u2", "message": TOLD},
            "a": {"id": "a", "create_at": 1, "user_id": "u1", "message": ASKED},
        },
    },
    "the output of a message": {
        "steps": [
            {"type": "user_message", "name": "Ada", "output": ASKED},
            {"type": "run", "name": "on_message", "output": ""},
            {"type": "assistant_message", "name": "Help", "output": TOLD},
        ]
    },
    "a request and a response": {
        "interactions": [
            {
                "request": {"queryInput": {"text": {"text": ASKED}}},
                "response": {"queryResult": {"responseMessages": [{"text": {"text": [TOLD]}}]}},
            }
        ]
    },
    "a logged completion": {
        "inputs": {"messages": PAIR[:1]},
        "outputs": {"id": "1", "choices": [{"index": 0, "message": ANSWER}]},
    },
    "a logged score": {"inputs": {"messages": PAIR}, "outputs": {"score": 1}},
    "a logged generation": {
        "inputs": {"messages": PAIR[:1]},
        "outputs": {"generations": [[{"text": TOLD, "message": {"kwargs": {"content": TOLD, "type": "ai"}}}]]},
    },
}


@pytest.mark.parametrize("shape", SHAPES)
def test_an_export_is_read_as_turns(shape):
    assert [str(turn) for turn in read_history(SHAPES[shape])] == TURNS


@pytest.mark.parametrize("turns", [PAIR, [ASKED, TOLD], f"User: {ASKED}\nBot: {TOLD}"])
@pytest.mark.parametrize(
    "key",
    [
        *("utterances", "dialogue", "dialog", "turns", "dialogs", "exchanges", "chat", "transcript", "log", "context"),
        *("previous_turns", "pastMessages", "chatHistory", "chat-log", "Context", "History", "thread", "events"),
    ],
)
def test_a_field_that_is_named_after_a_conversation_has_one(key, turns):
    assert [str(turn) for turn in read_history({"id": "x", "summary": "About Oslo.", key: turns})] == TURNS


MARKS = [
    *(("User1: ", "User2: "), ("User 1: ", "User 2: "), ("user_1: ", "user_2: "), ("User #1: ", "User #2: ")),
    *(("Speaker 1: ", "Speaker 2: "), ("SPEAKER_00: ", "SPEAKER_01: "), ("[SPEAKER_00]: ", "[SPEAKER_01]: ")),
    *(("Person A: ", "Person B: "), ("**Speaker 1**: ", "**Speaker 2**: "), ("[10:03] User1: ", "[10:04] User2: ")),
    *(("[10:03] anna: ", "[10:04] ben: "), ("10:03 anna: ", "10:04 ben: "), ("10:03:22 anna.k: ", "10:03:29 bot_7: ")),
    *(("2024-01-02T10:03:00Z anna: ", "2024-01-02T10:03:09Z ben: "), ("10:03 am anna: ", "10:04 am ben: ")),
    *(("2026-11-26 10:31:05,123 anna: ", "2026-11-26 10:31:09,456 ben: "), ("10:03 - anna: ", "10:04 - ben: ")),
    *(("anna [10:03]: ", "ben [10:04]: "), ("anna (10:03): ", "ben (10:04): "), ("anna 10:03: ", "ben 10:04: ")),
    *(("anna, 10:03: ", "ben, 10:04: "), ("anna | 10:03 | ", "ben | 10:04 | ")),
]


@pytest.mark.parametrize(("first", "second"), MARKS)
def test_numbered_speakers_and_lower_case_names_with_times_are_speakers(first, second):
    said = [f"{first}{ASKED}", f"{second}{TOLD}"]
    assert [str(turn) for turn in read_history(said)] == TURNS
    assert [str(turn) for turn in read_history("\n".join(said))] == TURNS
    assert [str(turn) for turn in read_history([*said, f"{first}And Bergen?"])] == [*TURNS, "U: And Bergen?"]


def test_of_three_numbered_users_the_first_is_the_user():
    said = [f"User{number}: text {number}" for number in (1, 2, 3, 1)]
    assert "".join(turn.speaker[0] for turn in read_history(said)) == "uaau"


@pytest.mark.parametrize(
    "text",
    [
        "Step 1: open it\nStep 2: close it",
        "Option A: large\nOption B: small",
        "10:30 I left home: it was late\nand 11:00 was too late",
        "Meet at 10:30: bring coffee",
        "user1 and user2: who are they?",
    ],
)
def test_numbered_things_and_times_in_a_text_are_no_speakers(text):
    assert [str(turn) for turn in read_history(text)] == [f"U: {text}"]


def test_system_lines_with_times_are_left_out():
    said = f"10:00 System: Be brief.\n10:01 User: {ASKED}\n10:02 Assistant: {TOLD}"
    assert [str(turn) for turn in read_history(said)] == TURNS


@pytest.mark.parametrize(
    "history",
    [
        [{"type": "chat", "xyz": "Tell me about Oslo."}],
        [{"type": "chat", "xyz": {"inner": "Tell me about Oslo."}}],
        {"content": [{"remark": "Tell me about Oslo.", "agent": "agent_1"}]},
        {"tags": ["a", "b"]},
        {"data": [{"title": "Tell me about Oslo.", "url": "x"}]},
        {"posts": {"a": {"id": "a", "remark": "Tell me about Oslo."}}},
        [{"type": "delta", "delta": "Tell me about Oslo."}],
        [{"x": {"y": {"remark": "Tell me about Oslo."}}}],
    ],
)
def test_a_text_in_an_unknown_field_is_refused_and_never_dropped(history):
    with pytest.raises(ConversationError):
        read_history(history)


def test_deep_and_cyclic_objects_are_read_or_refused_at_once():
    nested = {"messages": PAIR}
    for _ in range(500):
        nested = {"data": nested}
    with pytest.raises(ConversationError):
        read_history(nested)
    cycle = {"a": node("a", "b", ["b"], "user", ASKED), "b": node("b", "a", ["a"], "assistant", TOLD)}
    assert len(read_history({"mapping": cycle, "current_node": "a"})) == 2
    with pytest.raises(ConversationError):
        read_history({"mapping": cycle})
    for odd in ([], {"x": 1}, 7.5):
        with pytest.raises(ConversationError):
            read_history({"mapping": {"a": {"parent": odd, "children": [odd], "message": None}}})


@pytest.mark.parametrize(
    "role",
    ["function_call", "observation", "tool_call", "tool calls", "tool_result", "ipython", "thought", "reasoning"],
)
@pytest.mark.parametrize(("name", "text"), [("from", "value"), ("role", "content"), ("speaker", "text")])
def test_messages_of_roles_that_say_nothing_are_skipped(role, name, text):
    messages = [{name: "human", text: ASKED}, {name: role, text: "{}"}, {name: "gpt", text: TOLD}]
    assert [str(turn) for turn in read_history(messages)] == TURNS


@pytest.mark.parametrize(
    "history",
    [
        {"instruction": ASKED, "input": "", "output": TOLD},
        [{"instruction": ASKED, "input": None, "output": TOLD}],
        {"user_query": ASKED, "bot_response": TOLD},
        [{"queryResult": {"text": ASKED, "responseMessages": [{"text": {"text": [TOLD]}}]}}],
        {"source": {"author": {"type": "user"}, "body": f"<p>{ASKED}</p>"}, "parts": {"messages": PAIR[1:]}},
        [
            {"from": {"user": {"displayName": "Ada"}}, "body": {"contentType": "html", "content": f"<p>{ASKED}</p>"}},
            PAIR[1],
        ],
        [
            {"author": {"username": "ada"}, "content": ASKED},
            {"author": {"username": "help", "bot": True}, "content": TOLD},
        ],
        [PAIR[0], {"role": "model", "parts": [{"executableCode": {"code": "print('one two')"}}, {"text": TOLD}]}],
        [PAIR[0], {"role": "assistant", "content": float("nan")}, PAIR[1]],
        [PAIR[0], float("nan"), PAIR[1]],
        [{**PAIR[1], "timestamp": "2026-01-01T10:01:00Z"}, {**PAIR[0], "timestamp": "2026-01-01T10:00:00Z"}],
        [{**PAIR[1], "ts": "1700000060.000100"}, {**PAIR[0], "ts": "1700000000.000200"}],
        [
            {"sender_name": "Bo", "timestamp_ms": 2, "content": TOLD},
            {"sender_name": "Ada", "timestamp_ms": 1, "text": ASKED},
        ],
        [{**PAIR[1], "timestamp": 2}, {**PAIR[0], "timestamp": 1}],
        [
            {**PAIR[1], "dateSent": "Thu, 30 Jul 2026 20:12:33 +0200"},
            {**PAIR[0], "dateSent": "Thu, 30 Jul 2026 09:12:31 +0000"},
        ],
        [{**PAIR[0], "ts": "1700000000.000200"}, {**PAIR[1], "ts": "1700000060.000100"}],
    ],
)
def test_no_turn_is_lost_and_none_is_added(history):
    assert [str(turn) for turn in read_history(history)] == TURNS


def test_messages_that_were_sent_in_one_second_are_reversed_with_the_others():
    newest_first = [{**PAIR[1], "time": 5}, {**PAIR[0], "time": 5}, {**PAIR[1], "content": "Hello!", "time": 4}]
    assert [str(turn) for turn in read_history(newest_first)] == ["S: Hello!", *TURNS]
    assert [str(turn) for turn in read_history(newest_first[:2])] == TURNS[::-1]


def test_a_bot_that_speaks_first_is_the_assistant_though_only_it_is_marked():
    greeting = {"author": {"username": "help", "bot": True}, "content": "Welcome!"}
    asked = {"author": {"username": "ada"}, "content": ASKED}
    assert [str(turn) for turn in read_history([greeting, asked])] == ["S: Welcome!", f"U: {ASKED}"]


def test_the_input_of_an_instruction_is_part_of_the_question():
    [asked, told] = read_history({"instruction": "Summarise.", "input": ASKED, "output": TOLD})
    assert (asked.text, told.text) == (f"Summarise.\n{ASKED}", TOLD)


def test_a_question_and_its_answer_follow_the_turns_before_it():
    asked = {"instruction": "And Bergen?", "output": "A city.", "history": [[ASKED, TOLD]]}
    assert [str(turn) for turn in read_history(asked)] == [*TURNS, "U: And Bergen?", "S: A city."]


def test_passages_beside_a_question_in_a_list_are_no_turns():
    assert [str(turn) for turn in read_history([{"question": ASKED, "answer": TOLD, "context": ["a", "b"]}])] == TURNS


def test_a_question_that_is_the_last_turn_of_the_list_is_read_once():
    logged = {"query": ASKED, "messages": [PAIR[0]], "response": TOLD}
    assert [str(turn) for turn in read_history(logged)] == TURNS
    assert [str(turn) for turn in read_history({"question": ASKED, "history": [ASKED], "answer": TOLD})] == TURNS


def test_two_marks_of_one_side_are_two_speakers():
    texts = ["Me: Where is Lima?", "You: In Peru.", "Me: And Quito?"]
    assert [str(turn) for turn in read_history(texts)] == ["U: Where is Lima?", "S: In Peru.", "U: And Quito?"]
    assert read_history("\n".join(texts)) == read_history(texts)
    assert read_history(texts[:2]) == read_history(texts)[:2]


def test_texts_in_a_list_of_parts_stay_apart():
    assert read_history([{"role": "user", "content": ["One.", "Two."]}])[0].text == "One.\nTwo."
