"""Thoughts of reasoning models, in whole replies and in replies that are being written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acqo_rl.replies.thoughts import Spoken, said_by
from acqo_rl.thoughts import begins_in_thoughts, without_thoughts
from acqo_rl.types import Completion

MARKS = [
    ("<think>", "</think>"), ("<think>\n", "\n</think>\n\n"), ("<thinking>", "</thinking>"),
    ("<Thought>", "</Thought>"),
    ("<reasoning>", "</reasoning>"), ("<seed:think>", "</seed:think>"), ("[THINK]", "[/THINK]"),
    ("\u25c1think\u25b7", "\u25c1/think\u25b7"), ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|channel>thought\n", "<channel|>"), ("<unused94>thought\n", "<unused95>"), ("<antThinking>", "</antThinking>"),
    ("<|START_THINKING|>", "<|END_THINKING|><|START_RESPONSE|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>\n\n<|begin_of_solution|>\n\n"), ("analysis", "assistantfinal"),
]  # fmt: skip
THOUGHT = "The user asks, so Lima?\nOr Quito."
UNCLEAR = "Lima?\nOr Quito."
WORDS = st.text(st.sampled_from("ab <>[]|/`\n think"), max_size=30)


def heard(pieces, **settings):
    streamed = []
    spoken = Spoken(streamed.append, **settings)
    for piece in pieces:
        spoken.write(piece)
    spoken.end()
    return streamed


@pytest.mark.parametrize(("begin", "end"), MARKS)
class TestEveryMark:
    def test_only_the_answer_is_said(self, begin, end):
        assert without_thoughts(f"{begin}{THOUGHT}{end}Lima is.\nIt is.") == "Lima is.\nIt is."

    def test_thoughts_that_the_template_opened_end_all_the_same(self, begin, end):
        reply = f"{THOUGHT}{end}Lima."
        assert (without_thoughts(reply), begins_in_thoughts(reply)) == ("Lima.", True)

    def test_unfinished_thoughts_say_nothing_and_name_the_limit(self, begin, end):
        said = said_by(Completion(begin + THOUGHT, 9, finished=False))
        assert said.text == ""
        assert "max_new_tokens" in said.problem

    def test_a_reply_that_was_cut_before_any_mark_is_all_thoughts_where_the_model_begins_so(self, begin, end):
        cut = Completion(UNCLEAR, 9, finished=False)
        assert said_by(cut, begins_in_thoughts=True).text == ""
        assert said_by(cut).text == said_by(Completion(UNCLEAR, 9), begins_in_thoughts=True).text == UNCLEAR

    def test_an_answer_that_was_cut_is_kept(self, begin, end):
        said = said_by(Completion(f"{begin}{THOUGHT}{end}Lim", 9, finished=False))
        assert (said.text, said.problem) == ("Lim", None)

    @pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
    def test_nothing_else_is_heard_whatever_the_pieces(self, begin, end, size):
        reply = f"{begin}{THOUGHT}{end}Lima [1] is < 5 and > 3."
        pieces = [reply[i : i + size] for i in range(0, len(reply), size)]
        assert "".join(heard(pieces)) == "Lima [1] is < 5 and > 3."
        assert heard([begin, "Hm, Li", "ma"]) == []

    def test_a_model_known_to_begin_in_thoughts_is_heard_when_they_have_ended(self, begin, end):
        assert "".join(heard([THOUGHT, end, "Li", "ma."], begins_in_thoughts=True)) == "Lima."
        assert "".join(heard(["Li", "ma."], begins_in_thoughts=True)) == "Lima."


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("<think>a</think>b\n<think>c</think>d", "b\nd"),
        ("<think></think>\n\nLima", "Lima"),
        ("<think>hm</think><answer>Lima</answer>", "Lima"),
        ("<|channel|>final<|message|>Lima.<|return|>", "Lima."),
        ("What `<think>` means, and `</think>`", "What `<think>` means, and `</think>`"),
        ("What is a <think> tag?", "What is a <think> tag?"),
        ("analysis of variance", "analysis of variance"),
        (" Lima\n", " Lima\n"),
        ("<think>hm</think>Lima</s>", "Lima"),
        ("<|START_RESPONSE|>Lima<|END_RESPONSE|>", "Lima"),
    ],
)
def test_several_thoughts_and_texts_that_only_name_a_mark(reply, said):
    assert without_thoughts(reply) == said
    assert "".join(heard(reply)) == said


def test_thoughts_within_thoughts():
    assert without_thoughts("<think>a<think>b</think>c</think>d") == "d"


def test_pieces_are_passed_on_as_they_come():
    assert heard(["Li", "ma", " is."]) == ["Li", "ma", " is."]


def test_a_reply_that_the_thought_begins_with_is_heard_after_it():
    assert heard(["Yes, because", " it is.</think>", "Yes"]) == ["Yes, because", "Yes"]


@pytest.mark.parametrize("size", range(1, 9))
def test_a_word_like_the_beginning_of_a_mark_is_heard_once(size):
    reply = "Let me assist: an assistant assists, as analysts analyse </s> and <b>."
    assert "".join(heard([reply[i : i + size] for i in range(0, len(reply), size)])) == reply


@given(st.lists(WORDS, max_size=6))
def test_what_is_heard_ends_as_the_whole_reply_is_read(pieces):
    streamed = "".join(heard(pieces))
    said = without_thoughts("".join(pieces))
    assert streamed.endswith(said) if said.strip() else True
    if said == "".join(pieces) and said.strip():
        assert streamed == said


def test_many_marks_cost_little():
    assert without_thoughts("<think>" * 50_000) == ""
    assert without_thoughts("</think>" * 50_000) == ""
