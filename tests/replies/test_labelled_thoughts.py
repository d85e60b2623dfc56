"""Thoughts and calls of tools before an answer, quoted lines, passages in JSON, and replies without a conversation."""

from __future__ import annotations

# ruff: noqa: RUF001  (signs of other scripts are meant)
import pytest

from acqo_rl.reformulation.strategies import ClassifyAndRewrite, HyDE
from acqo_rl.replies.lists import entries_of, read_list
from acqo_rl.replies.passages import read_passage
from acqo_rl.types import Completion, Query

READ = "Which is longer, the Nile or the Amazon?"
NILE, AMAZON = "length of the Nile", "length of the Amazon"
THOUGHTS = [
    "**Thinking:** The user asks about two rivers.\n\n",
    "Thinking Process:\n\n1. **Analyze the request:** two rivers.\n2. **Draft:** one each.\n\n",
    "Thought: both lengths are needed\n",
    "Reasoning: both lengths are needed.\nNo other river is.\n\n",
    "The user wants two lengths.\n\n",
    "思考：用户想比较两条河\n",
    "Überlegung: Beide Flüsse werden gesucht.\n",
]
ANSWERS = ["**Answer:**\n", "Final Answer:\n", "Final output:\n", "### Final Answer:\n", "Query 1: ", "最终答案：\n"]


def read(reply, most=5):
    return read_list(Completion(reply, 9), most, read=READ)


@pytest.mark.parametrize("thought", THOUGHTS)
@pytest.mark.parametrize("label", ANSWERS)
def test_a_thought_before_a_labelled_answer_is_removed(thought, label):
    second = "Query 2: " if label.startswith("Query") else ""
    assert read(f"{thought}{label}{NILE}\n{second}{AMAZON}") == [NILE, AMAZON]
    assert read(f"{thought}{label}{NILE}", 1) == [NILE]


@pytest.mark.parametrize("text", [NILE, f'"{NILE}"', f'{{"query": "{NILE}"}}', f"{NILE}\nObservation: 6650 km"])
@pytest.mark.parametrize("thought", ["", "Thought: I need the length.\n"])
def test_the_input_of_an_action_is_the_entry(thought, text):
    assert read(f"{thought}Action: search\nAction Input: {text}") == [NILE]


@pytest.mark.parametrize(
    "entries",
    [
        ["Thought: definition in philosophy", "history of thought"],
        ["Thinking, Fast and Slow answer key", "answers: a novel"],
        ["Action: the 1980 film", "action input lag"],
        [NILE, "thought: a definition", "final answer to the ultimate question"],
    ],
)
def test_ordinary_words_begin_no_thought(entries):
    assert read("\n".join(f"- {entry}" for entry in entries)) == entries


def test_a_label_and_a_passage_are_read_after_a_thought():
    thought = "Thought: two rivers are compared.\nAnswer: "
    made = ClassifyAndRewrite().read(Query("q", READ), Completion(f"{thought}compound\n{NILE}\n{AMAZON}", 9))
    assert ([s.text for s in made.sub_queries], made.route) == ([NILE, AMAZON], "decompose")
    made = HyDE().read(Query("q", READ), Completion(f"{thought}The Nile is longer.", 9))
    assert [s.text for s in made.sub_queries] == ["The Nile is longer."]


@pytest.mark.parametrize("form", ["> {}", "**Rewritten Query:**\n\n> {}", "> **{}**", '> "{}"', "Sure!\n\n> {}"])
def test_a_quoted_line_is_read_without_its_sign(form):
    assert entries_of(form.format(NILE), read=READ) == [NILE]


@pytest.mark.parametrize(
    ("line", "read"), [("> 5 mm hail", READ), (">= operator in C", READ), ("> operator in C", "what is > in C?")]
)
def test_a_sign_of_comparison_is_kept(line, read):
    assert entries_of(line, read=read) == [line]


@pytest.mark.parametrize(
    "reply",
    [
        "There is no conversation history provided, so I cannot rewrite the question.",
        "It seems there is no previous conversation to resolve the question with.",
        "No conversation context was provided.",
        "I'd need the conversation history to rewrite this.",
        "Could you please provide the previous question?",
        "Please share the conversation so that I can rewrite the question.",
        "You haven't provided a question. Please share it.",
        "It looks like you have not given me the conversation.",
        "I don't see any previous conversation, so the question is unclear.",
        "Without more, I am unable to rewrite the question.",
        "Es wurde kein Gesprächsverlauf angegeben.",
        "Aucun historique de conversation n'a été fourni.",
        "没有提供对话历史，因此无法改写。",
    ],
)
def test_a_reply_that_misses_the_conversation_has_no_entry(reply):
    assert entries_of(reply, read=READ) == []


def test_a_query_after_a_remark_about_the_conversation_is_kept():
    for remark in ("No conversation history was provided, so I kept the question.", "There is no prior context:"):
        assert entries_of(f"{remark}\n\n{NILE}", read=READ) == [NILE]


@pytest.mark.parametrize(
    "entry",
    [
        "no conversation history in WhatsApp",
        "there is no context menu in Windows 11",
        "I don't see any messages in Slack",
        "how can I rewrite a question in passive voice",
        "no question is stupid meaning",
        "No query specified",
        "I need a query to find duplicate rows",
        "please provide the query to delete a table.",
        "Could you give me the context of the Magna Carta?",
        "the query is missing an index",
        "Why is there no query history in BigQuery?",
        "you haven't seen the last of me lyrics",
    ],
)
def test_a_question_about_a_missing_conversation_is_kept(entry):
    assert entries_of(entry, read=READ) == [entry]


SAID = "Oslo has a fjord. It is the capital."


@pytest.mark.parametrize(
    "reply",
    [
        f'{{"passage": "{SAID}"}}',
        f'```json\n{{"query": "Oslo", "hypothetical_answer": "{SAID}"}}\n```',
        f'{{"answer": "{SAID}", "confidence": 0.9}}',
        f'[{{"text": "{SAID}"}}]',
        f'["{SAID}"]',
        f'{{"passage": "{SAID}',
    ],
)
def test_a_passage_in_json_is_read(reply):
    assert read_passage(reply, "capital of Norway", 500) == SAID


@pytest.mark.parametrize("said", ['["a"] is a list in Python.', "[1] Oslo is old.", '{"a": 1} is an object in JSON.'])
def test_a_passage_that_begins_with_a_bracket_is_kept(said):
    assert read_passage(said, "lists", 500) == said
