"""Sub-questions and dependencies are read from any number of lines, with and without colons."""

import pytest

from acqo_rl.pipeline.decomposition import read_sub_questions
from acqo_rl.reformulation.strategies import Decomposition
from acqo_rl.types import Completion, Query

QUERY = Query("q", "Where was the author of Emma born, and when?")
FIRST, SECOND = "Who wrote Emma?", "Where was the author of Emma born?"


@pytest.mark.parametrize(
    "reply",
    [
        "SUB1: {} DEPENDS: none\nSUB2: {} DEPENDS: SUB1",
        "SUB1: {} DEPENDS: none SUB2: {} DEPENDS: SUB1",
        "SUB1: {} (DEPENDS: none)\nSUB2: {} (DEPENDS: SUB1)",
        "SUB1: {} | DEPENDS: none\nSUB2: {} | DEPENDS: SUB1",
        "SUB1: {}, depends on: none\nSUB2: {}, depends on: SUB1",
        "SUB1 {}\nDEPENDS none\nSUB2 {}\nDEPENDS SUB1",
        "SUB1 {} DEPENDS none\nSUB2 {} DEPENDS SUB1",
        "- SUB1 - {} | DEPENDS - none\n- SUB2 - {} | DEPENDS - SUB1",
        "1. {} Depends on: none\n2. {} Depends on: 1",
        "**SUB1**: {}\n**DEPENDS**: none\n**SUB2**: {}\n**DEPENDS**: SUB1",
    ],
)
def test_labels_and_dependencies_are_not_part_of_a_sub_question(reply):
    text = reply.format(FIRST, SECOND)
    assert [(part.text, part.depends_on) for part in read_sub_questions(text, QUERY)] == [(FIRST, ()), (SECOND, (1,))]
    searches = Decomposition().read(QUERY, Completion(text, 1)).sub_queries
    assert [search.text for search in searches] == [FIRST, SECOND]


@pytest.mark.parametrize(
    "text", ["what depends on the tide", "sub 2 hour marathon", "sub-2 hour marathon", "Sub Pop 200 album", "sub zero"]
)
def test_words_that_look_like_labels_are_kept(text):
    searches = Decomposition().read(Query("q", text), Completion(f"{text}\ntides in Oslo", 1)).sub_queries
    assert [search.text for search in searches] == [text, "tides in Oslo"]
