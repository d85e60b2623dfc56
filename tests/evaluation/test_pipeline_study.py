"""A study that is killed goes on where it was, and queries run at the same time."""

from __future__ import annotations

import json
import threading

import pytest
from stand_ins import BrokenRetriever, ScriptedLanguageModel, ScriptedRetriever

from acqo_rl.errors import DataError
from acqo_rl.evaluation.pipeline_study import OutcomeFile, draw_queries, measure
from acqo_rl.evaluation.pipeline_systems import Outcome, Parts
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.types import Completion, Document, Query

QUERIES = [Query(str(i), f"query {i}") for i in range(6)]
CORPUS = {"a": Document("a", "A", "text")}
FOUND = {query.text: ("a",) for query in QUERIES}


def parts(retriever=None, model=None):
    return Parts(retriever or ScriptedRetriever(FOUND), CORPUS, model or ScriptedLanguageModel("x"), RankScoreFusion())


def outcome(query_id="0", **changed):
    return Outcome(**({"system": "plain", "query_id": query_id, "doc_ids": ("a", "b"), "searched": ("q",), "calls": 1,
                       "tokens": 3, "replies": ("said",), "ms": 1.5} | changed))  # fmt: skip


def test_what_is_kept_comes_back(tmp_path):
    file = OutcomeFile(tmp_path / "o.jsonl")
    whole = [outcome(), outcome("1", system="pipeline", answer="caf\u00e9\u2028\n", confidence=0.5, label="Low")]
    for one in whole:
        file.add(one)
    again = OutcomeFile(tmp_path / "o.jsonl")
    assert [again[o.system, o.query_id] for o in whole] == whole
    assert ("plain", "1") not in again


def test_half_a_line_is_measured_again(tmp_path):
    """Killed while it wrote, whatever the byte."""
    path = tmp_path / "o.jsonl"
    OutcomeFile(path).add(outcome())
    line = path.read_bytes()
    for length in (1, len(line) // 2, len(line) - 1):
        path.write_bytes(line + line.replace(b'"0"', b'"1"')[:length])
        file = OutcomeFile(path)
        assert ("plain", "0") in file and ("plain", "1") not in file
        file.add(outcome("2"))
        assert {("plain", i) in OutcomeFile(path) for i in "02"} == {True}


def test_a_line_of_something_else_is_refused(tmp_path):
    (tmp_path / "o.jsonl").write_text('{"system": "plain"}\n')
    with pytest.raises(DataError, match=r"o\.jsonl, line 1: no outcome"):
        OutcomeFile(tmp_path / "o.jsonl")


def test_a_model_that_failed_is_asked_again_next_time(tmp_path):
    file = OutcomeFile(tmp_path / "o.jsonl")
    file.add(outcome(errors=("time-out",)))
    assert ("plain", "0") in file
    assert ("plain", "0") not in OutcomeFile(tmp_path / "o.jsonl")


def test_a_killed_study_equals_one_that_was_not(tmp_path):
    class Dies(ScriptedRetriever):
        def search(self, texts, k):
            if len(self.calls) == 4:
                raise KeyboardInterrupt
            return super().search(texts, k)

    names = ["plain", "references"]
    half = OutcomeFile(tmp_path / "half.jsonl")
    with pytest.raises(KeyboardInterrupt):
        measure(names, QUERIES, parts(Dies(FOUND)), half, 1)
    retriever = ScriptedRetriever(FOUND)
    half = OutcomeFile(tmp_path / "half.jsonl")
    measure(names, QUERIES, parts(retriever), half, 1)
    assert len(retriever.calls) == 2 * len(QUERIES) - 4
    once = OutcomeFile(tmp_path / "once.jsonl")
    measure(names, QUERIES, parts(), once, 3)
    for name in names:
        for query in QUERIES:
            both = [json.loads(json.dumps(f[name, query.id].doc_ids)) for f in (half, once)]
            assert both == [["a"], ["a"]]


def test_nothing_is_measured_twice(tmp_path, capsys):
    file, retriever = OutcomeFile(tmp_path / "o.jsonl"), ScriptedRetriever(FOUND)
    for _ in range(2):
        measure(["plain"], QUERIES, parts(retriever), file, 2)
    assert len(retriever.calls) == len(QUERIES)
    assert "6/6" in capsys.readouterr().err


def test_queries_run_at_the_same_time(tmp_path):
    """Each query waits in its model call until all are there."""
    meeting = threading.Barrier(len(QUERIES), timeout=20)

    class Meets:
        def generate(self, conversations):
            meeting.wait()
            return [Completion('{"answerable": true}', 1) for _ in conversations]

    file = OutcomeFile(tmp_path / "o.jsonl")
    measure(["multi_hop"], QUERIES, parts(model=Meets()), file, len(QUERIES))
    assert all(file["multi_hop", query.id].calls == 1 for query in QUERIES)


def test_a_failing_retriever_ends_it(tmp_path):
    with pytest.raises(ConnectionError, match="does not answer"):
        measure(["plain"], QUERIES, parts(BrokenRetriever()), OutcomeFile(tmp_path / "o.jsonl"), 2)


def test_the_draw_of_queries():
    qrels = {query.id: {"a": int(query.id != "3")} for query in QUERIES[:5]}
    assert [q.id for q in draw_queries(QUERIES, qrels, None, 0)] == ["0", "1", "2", "4"]
    drawn = [q.id for q in draw_queries(QUERIES, qrels, 2, 0)]
    assert drawn == sorted(drawn) and len(drawn) == 2
    assert drawn == [q.id for q in draw_queries(QUERIES, qrels, 2, 0)]
    assert len({tuple(q.id for q in draw_queries(QUERIES, qrels, 2, seed)) for seed in range(20)}) > 1
