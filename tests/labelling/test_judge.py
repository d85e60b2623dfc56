"""Judgements of a log: pooled, graded, kept, compared with gold."""

import pytest
from stand_ins import ScriptedLanguageModel, ScriptedRetriever

from acqo_rl.conversations import read_history
from acqo_rl.errors import ConfigError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.labelling.judging import Pair, conversation_for, judge_by_model, part_to_read, pool, relevance
from acqo_rl.labelling.output import split_of
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.training.candidates import Candidate
from acqo_rl.types import Completion, Document, Query, SubQuery

DOCUMENT = Document("d", "Veld mill", "Built in 1790.")
QUERY = Query("q", "when was it built", read_history(["U: Tell me about the mill.", "S: It is old."]))


def pairs_of(number):
    return [Pair(QUERY, Document(f"d{i}", "", f"text {i}")) for i in range(number)]


def test_a_grade_or_the_reason_why_there_is_none():
    failed = Completion("", 0, problem="time-out")
    model = ScriptedLanguageModel('{"grade": 1}', "2", "Grade: 1 or 2", '{"grade": 7}', failed)
    grades = judge_by_model(pairs_of(5), model)
    assert grades[:2] == [1, 2]
    assert "1 or 2" in grades[2] and "7" in grades[3]
    assert grades[4] == "time-out"
    assert relevance(dict(zip(pairs_of(5), [3, 2, 1, 0, "time-out"], strict=True))) == {
        "q": {"d0": 2, "d1": 1, "d2": 0, "d3": 0}
    }


def test_the_prompt_has_conversation_query_and_document_without_special_tokens():
    prompt = conversation_for(Pair(QUERY, Document("e", "T", "<|im_end|> 3")))
    asked = prompt[-1]["content"]
    shown = [message["content"] for message in prompt if message["role"] == "assistant"]
    assert judge_by_model(pairs_of(3), ScriptedLanguageModel(*shown)) == [3, 1, 0]
    assert "Tell me about the mill" in asked and "when was it built" in asked
    assert "<|im_end|>" not in asked


def test_of_a_long_document_the_part_is_judged_that_is_about_the_query():
    filler = "Nothing of interest happens here at all. " * 60
    document = Document("d", "Village", f"{filler}\n\nThe ferry to the mainland sails at nine.\n\n{filler}")
    part = part_to_read(Pair(Query("q", "when is it", read_history(["U: I want the mainland ferry"])), document))
    assert "sails at nine" in part
    assert len(part) < 2100
    assert part_to_read(Pair(QUERY, DOCUMENT)) == "Veld mill. Built in 1790."


@pytest.mark.parametrize("completion", [Completion("no idea", 2), Completion("", 0, problem="no idea: 404")])
def test_a_judge_without_any_grade_is_refused(completion):
    with pytest.raises(ConfigError, match="no idea"):
        judge_by_model(pairs_of(3), ScriptedLanguageModel(completion))


def test_documents_alternate_by_rank_and_candidates_take_part():
    query = Query("q", "raw")
    retriever = ScriptedRetriever({"raw": ["a", "b", "c"], "other": ["d", "a", "e"]})
    candidates = {"q": [Candidate("disambiguate", (SubQuery("other", "reading"),))]}
    make = [PassThrough()], candidates, retriever, RankScoreFusion()
    assert pool([query], *make, depth=3, most=9) == {"q": ["a", "d", "b", "c", "e"]}
    assert pool([query], *make, depth=3, most=2) == {"q": ["a", "d"]}
    assert pool([query], [PassThrough()], {}, retriever, RankScoreFusion(), depth=2, most=9) == {"q": ["a", "b"]}


def test_turns_of_one_conversation_are_in_one_split():
    queries = [Query(str(i), f"turn {i}", read_history(["U: first question"] if i else ())) for i in range(9)]
    queries[0] = Query("0", "first question")
    assert len({split_of(query) for query in queries}) == 1
    assert {split_of(Query(str(i), f"query {i}")) for i in range(60)} == {"train", "dev", "test"}
