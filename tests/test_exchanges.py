"""A question and an answer in one object, under names that say so."""

import pytest

from acqo_rl.conversations import read_turns

QUESTION, ANSWER = "Who wrote it?", "Selma wrote it."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("query_str", "text"),
        ("query", "reply_text"),
        ("questionText", "answerText"),
        ("question", "gold_answer"),
        ("user_query", "model_answer"),
        ("raw_utterance", "passage"),
        ("content", "bot_response"),
        ("original_question", "response_body"),
    ],
)
def test_neither_the_question_nor_the_answer_is_lost(question, answer):
    rows = [{question: QUESTION, answer: ANSWER, "number": 1}, {question: "When?", answer: "In 1909."}]
    texts = [QUESTION, ANSWER, "When?", "In 1909."]
    assert [(t.speaker, t.text) for t in read_turns(rows)] == list(zip(["user", "assistant"] * 2, texts, strict=True))


@pytest.mark.parametrize("other", ["question_id", "reply_to", "response_time", "query_type"])
def test_fields_about_a_question_or_an_answer_are_not_read(other):
    rows = [{"text": QUESTION, other: "7"}, {"text": ANSWER, other: "8"}]
    assert [(t.speaker, t.text) for t in read_turns(rows)] == [("user", QUESTION), ("assistant", ANSWER)]
