"""Five forms of a conversation give the same turns; everything else is refused."""

from types import SimpleNamespace

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.conversations import FORMS, HISTORY_SCHEMA, read_history
from acqo_rl.errors import ConfigError, ConversationError
from acqo_rl.types import Query, Turn

ASKED, TOLD = "Where can I park?", "Behind the museum: level 2."
TURNS = (Turn("user", ASKED), Turn("assistant", TOLD))
SHAPES = {
    "messages": [{"role": "user", "content": ASKED, "id": 7}, {"role": "assistant", "content": TOLD}],
    "messages in parts": [
        {
            "role": "user",
            "content": [{"type": "text", "text": ASKED}, {"type": "image_url", "image_url": {"url": "x"}}],
        },
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "text": "Rome?"}, {"type": "output_text", "text": TOLD}],
        },
    ],
    "messages with instructions and tools": [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "assistant", "tool_calls": [{"id": "2"}]},
        {"role": "tool", "content": "{}", "tool_call_id": "1"},
        {"role": "function", "name": "f", "content": "3"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "x", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "Rome"}]}]},
        {"role": "assistant", "content": [{"type": "refusal", "refusal": TOLD}]},
    ],
    "pairs": [[ASKED, TOLD]],
    "a pair without an answer": [(ASKED, TOLD), ("", None)],
    "strings": [ASKED, TOLD],
    "strings with U and S": [f"U: {ASKED}", "", f"S:{TOLD}"],
    "strings with user and assistant": [f"User: {ASKED}", f"ASSISTANT: {TOLD}"],
    "lines": f"U: {ASKED}\nS: {TOLD}\n",
    "lines with user and assistant": f"\nuser : {ASKED}\n\nassistant:\n{TOLD}\n",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_form_gives_the_same_turns(shape):
    jsonschema.validate([list(pair) for pair in SHAPES[shape]] if "pair" in shape else SHAPES[shape], HISTORY_SCHEMA)
    assert read_history(SHAPES[shape]) == TURNS


@pytest.mark.parametrize(
    "history",
    [
        *(3, b"U: hi", {"messages": []}, iter(["a"]), "Where is Oslo?", "System: Be brief.\nU: hi", "Human: hi"),
        *([3], [object()], ["a", 2], ["U: a", "b"], ["a", ["b", "c"]], [["a"]], [["a", "b", "c"]], [("a", 3)]),
        *([("user", "hi"), ("assistant", "hello")], [{"role": "user"}], [{"content": "a"}]),
        *([{"role": "human", "content": "a"}], [{"role": "user", "content": 3}]),
        *([{"role": "user", "content": [part]}] for part in (3, "a", {"text": "a"}, {"type": "text", "text": 3})),
        [{"role": "user", "content": "a"}, "S: b"],
        [SimpleNamespace(role="user", content="a")],
    ],
)
def test_everything_else_is_refused_with_the_forms(history):
    with pytest.raises(ConversationError, match="LangChain") as caught:
        read_history(history)
    assert FORMS in str(caught.value)
    assert isinstance(caught.value, ConfigError)


@pytest.mark.parametrize("history", [None, (), [], "", "\n", ["", " "], [{"role": "system", "content": "Be brief."}]])
def test_an_empty_conversation_has_no_turns(history):
    assert read_history(history) == ()


def test_a_last_turn_that_repeats_the_query_is_dropped():
    assert read_history([ASKED, TOLD, "And  for bikes"], "and for bikes?") == TURNS
    assert read_history([ASKED, "And for bikes?"], "And for bikes?")[-1].speaker == "assistant"


def test_a_query_holds_turns_only():
    assert Query("q", "And for bikes?", TURNS).history == TURNS
    for history in (list(TURNS), [ASKED], (ASKED,), "U: hi", None):
        with pytest.raises(ConfigError, match="read_history"):
            Query("q", "And for bikes?", history)


@given(st.lists(st.text(), max_size=5), st.lists(st.sampled_from(["user", "assistant"]), min_size=5, max_size=5))
def test_roles_and_texts_survive_whatever_the_texts_contain(texts, speakers):
    turns = tuple(Turn(who, text.strip()) for who, text in zip(speakers, texts, strict=False) if text.strip())
    assert read_history(turns) == turns
    assert read_history([str(turn) for turn in turns]) == turns
    assert read_history([{"role": turn.speaker, "content": turn.text} for turn in turns]) == turns
    assert read_history([{"role": t.speaker, "content": [{"type": "text", "text": t.text}]} for t in turns]) == turns
