"""Replies in which a model calls a search function instead of writing a list, and the tokens that end a reply."""

from __future__ import annotations

import json

import pytest

from acqo_rl.replies.lists import read_list
from acqo_rl.types import Completion

ASKED = ["rent in Oslo", "rent in Rome"]


def calls(make):
    """One call per line."""
    return "\n".join(make(text) for text in ASKED)


@pytest.mark.parametrize(
    "reply",
    [
        calls(lambda text: json.dumps({"name": "search", "arguments": {"query": text}})),
        calls(lambda text: f"<tool_call>\n{json.dumps({'tool': 'web', 'tool_input': text})}\n</tool_call>"),
        calls(lambda text: json.dumps({"action": "web", "action_input": text})),
        json.dumps([{"type": "function", "function": {"name": "find", "arguments": json.dumps({"queries": ASKED})}}]),
        calls(lambda text: f'search("{text}")'),
        calls(lambda text: f"- search_documents('{text}');"),
        "[web_search(query='rent in Oslo', k=5), web_search(query='rent in Rome')]",
        "rent in Oslo<br>rent in Rome</s>",
        "- rent in Oslo<br/>\n- rent in Rome<end_of_turn>",
    ],
)
def test_the_arguments_are_the_entries(reply):
    assert read_list(Completion(reply, 9), 3) == ASKED


def test_a_call_that_the_model_read_is_text():
    call = 'search("rent")'
    assert read_list(Completion(call, 9), 3, read=f"What does {call} return?") == [call]


def test_an_object_with_other_fields_is_no_call():
    reply = json.dumps({"name": "Oslo", "input": "rent", "city": "Rome"})
    assert read_list(Completion(reply, 9), 3) == ["Oslo", "rent", "Rome"]
