"""Any conversation is read or refused with a reason: properties, and texts that are long or hostile."""

from __future__ import annotations

import re
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.conversations import Turn, read_history
from acqo_rl.errors import ConversationError

TEXTS = st.lists(st.text(min_size=1), max_size=5)


@given(TEXTS, st.lists(st.sampled_from(["user", "assistant"]), min_size=5, max_size=5))
def test_roles_and_texts_survive_in_any_shape(texts, speakers):
    """Whatever a text holds: marks, tokens of templates, lines."""
    turns = tuple(Turn(who, text.strip()) for who, text in zip(speakers, texts, strict=False) if text.strip())
    assert read_history(turns) == turns
    assert read_history([str(turn) for turn in turns]) == turns
    assert read_history([{"role": turn.speaker, "content": turn.text} for turn in turns]) == turns
    assert read_history([(turn.speaker, turn.text) for turn in turns]) == turns
    assert read_history([{"speaker": turn.speaker, "text": turn.text} for turn in turns]) == turns
    assert read_history([SimpleNamespace(type=turn.speaker, content=[turn.text]) for turn in turns]) == turns


WRITTEN_TURN = re.compile("^[US]: ", re.M)
"""A line that begins like a turn in its normal form."""
MARKS = [
    *("U:", "**User:**", "<|im_start|>", "[INST]", "\n", " ", "user", "assistant\n", "## Bot\n", "**User** ", "user> "),
    *(
        "[|user|]",
        "<message role='user'>",
        "</message>",
        "Turn 1 (",
        "Anna: ",
        "<b>",
        "\U0001f916",
        "Thought for 5 seconds\n",
        "\ue200cite\ue201",
        "You said\n",
        "Copilot said\n",
        "- ",
        "{",
        "[",
        '"',
    ),
]


@given(st.lists(st.one_of(st.text(max_size=9), st.sampled_from(MARKS)), max_size=9))
def test_any_text_is_read_and_reading_again_changes_nothing(pieces):
    for history in ("".join(pieces), pieces):
        try:
            turns = read_history(history)
        except ConversationError:
            assert isinstance(history, str)
            # A list of turns that was cut off, also as a JSON text.
            assert history.lstrip().startswith(("[", "{", "- ", '"[\\', '"{\\'))
            continue
        assert read_history(turns) == turns
        if not any(WRITTEN_TURN.search(turn.text) for turn in turns):
            assert read_history([str(turn) for turn in turns]) == turns


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("role", "content", "text", "type", "messages", "question", "x", "event", "fromMe", "is_bot"),
                    *(
                        "senderId",
                        "mapping",
                        "parent",
                        "children",
                        "message",
                        "replies",
                        "chatLog",
                        "questions",
                        "body",
                        "versions",
                        "outputs",
                        "choices",
                        "posts",
                        "id",
                        "timestamp_ms",
                        "metadata",
                        "from",
                    ),
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_read_or_refused_with_a_reason(value):
    try:
        turns = read_history(value)
    except ConversationError:
        return
    assert all(turn.speaker in ("user", "assistant") and turn.text == turn.text.strip() != "" for turn in turns)


def test_long_and_hostile_texts_are_read_at_once():
    """200,000 characters that expressions could backtrack on."""
    nested = "x"
    for _ in range(900):
        nested = [nested]
    begin = time.process_time()
    for piece in (
        "\n",
        " ",
        "*",
        "#",
        "[",
        "<s> ",
        "<|im_start|>",
        "U:\n",
        "</s> ",
        "<user>",
        "<|end|>",
        "x <think> ",
        "<<SYS>>",
        "USER: ",
        "user\n",
        "**user** ",
    ):
        read_history(piece * (100_000 // len(piece)))
        read_history([piece * (100_000 // len(piece)), "<|user|>" + piece * (100_000 // len(piece))])
    for piece in ("\n", "Thought for 5 seconds\n", '<details type="reasoning">\n'):
        read_history(f"S: {piece * (20_000 // len(piece))}")
    read_history("x: 1\nx: 2\n" + "".join(f"y{number}: 1\n" * 2 for number in range(20_000)))
    with pytest.raises(ConversationError):
        read_history([{"role": "user", "content": nested}])
    assert time.process_time() - begin < 60
