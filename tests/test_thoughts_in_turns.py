"""Thoughts, calls of tools and marks of citations in stored chats are no part of a turn."""

from __future__ import annotations

import pytest

from acqo_rl.conversations import read_history

ASKED, TOLD = "Tell me about Oslo.", "It is the capital of Norway."
USER = {"role": "user", "content": ASKED}
TURNS = [f"U: {ASKED}", f"S: {TOLD}"]
FOLDED = '<details type="{}" done="true">\n<summary>Thought for 3 seconds</summary>\n> Lima?\n</details>\n'


@pytest.mark.parametrize(
    "text",
    [
        f"{FOLDED.format('reasoning')}{TOLD}",
        f"{FOLDED.format('reasoning')}{FOLDED.format('tool_calls')}{TOLD}",
        f"Thought for 5 seconds\n\n{TOLD}",
        f"Thought for a few seconds\n{TOLD}",
        f"Thought for 1m 5s\n<think>Lima?</think>\n{TOLD}",
        f"{TOLD[:-1]} \ue200cite\ue202turn0search1\ue202turn0search2\ue201.",
        f"{TOLD}【4:0†source】",
    ],
)
def test_what_a_program_shows_beside_an_answer_is_left_out(text):
    turns = read_history([USER, {"role": "assistant", "content": text}])
    assert [str(turn) for turn in turns] == TURNS
    assert read_history(turns) == turns


@pytest.mark.parametrize(
    "text",
    [
        "<details>\n<summary>More</summary>\nLima.\n</details>\nAnd Oslo.",
        "Thought for food",
        "Thought for 5 seconds is short.",
        "The mark \ue200 is private.",
        "【注】Oslo",
    ],
)
def test_an_answer_that_only_looks_so_is_kept(text):
    assert read_history([USER, {"role": "assistant", "content": text}])[1].text == text


@pytest.mark.parametrize(
    "thought",
    [
        {"role": "model", "text": "Lima?", "isThought": True},
        {"role": "assistant", "content": "Lima?", "metadata": {"title": "\U0001f9e0 Thinking"}},
        {"role": "assistant", "content": "Lima?", "metadata": {"title": "Used tool search"}},
        {"role": "think", "content": "Lima?"},
        {"type": "mcp_call", "name": "search", "arguments": "{}", "output": "Lima, Oslo"},
        {"type": "computer_call_output", "output": "Lima, Oslo"},
    ],
)
def test_a_message_that_is_a_thought_or_a_call_is_no_turn(thought):
    assert [str(turn) for turn in read_history([USER, thought, {"role": "assistant", "content": TOLD}])] == TURNS


def test_a_message_with_another_title_is_a_turn():
    titled = {"role": "assistant", "content": TOLD, "metadata": {"title": "Oslo"}, "thought": "Lima?"}
    assert [str(turn) for turn in read_history([USER, titled])] == TURNS
