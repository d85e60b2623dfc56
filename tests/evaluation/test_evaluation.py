"""Evaluation of one reformulator and comparison of several, by hand."""

from dataclasses import replace

import pytest
from small_study import GOOD, Scripted, evaluated

from acqo_rl.data.beir import read_beir, write_beir
from acqo_rl.errors import DataError
from acqo_rl.evaluation.report import answer_of
from acqo_rl.evaluation.run import evaluate
from acqo_rl.evaluation.summary import Study, compare, summarise
from acqo_rl.evaluation.systems import System
from acqo_rl.evaluation.tables import study_tables
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.measures import MEASURES
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.reformulation.prompt import Prompt
from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.searching.path import SearchPath
from acqo_rl.training.grpo import grpo_dataset
from acqo_rl.training.rewards import Reward
from acqo_rl.types import Document, FeedbackSpec, Query


def test_measures_and_gold_ranks_by_hand(raw, good):
    """Raw, three documents share three words each; split, either gold one is first in its own list.

    Queries without a relevant document are left out.
    """
    assert [(r.reformulation.query.id, r.kind) for r in good.results] == [
        (k, k) for k in ("simple", "compound", "ambiguous")
    ]
    assert good.unmeasured == 1
    assert raw.results[2].gold_ranks == {"chad": 1}
    assert raw.results[1].gold_ranks == {"peru": 3, "chad-money": 2}
    assert good.results[1].gold_ranks == {"peru": 2, "chad-money": 1}
    assert good.results[1].measures["AllGold@10"] == 1.0
    assert good.results[1].measures["nDCG@10"] == 1.0
    assert raw.results[1].measures["RR@10"] == 0.5
    assert good.scores("nDCG@10").tolist() == [1.0, 1.0, 1.0]


def test_a_first_search_for_feedback_reaches_the_reformulator_and_is_counted():
    got = evaluated(Scripted({"compound": GOOD["compound"]}), feedback=FeedbackSpec(2, 3))
    assert [snippet.title for snippet in got.results[0].reformulation.query.feedback] == ["Peru", "Chad"]
    assert [bool(result.reformulation.query.history) for result in got.results] == [False, False, True]
    assert [result.searches for result in got.results] == [1, 3, 2]  # a conversation is searched with its turns first


def test_the_document_whose_text_is_the_query_is_no_result(tmp_path):
    """As in BEIR (ArguAna, Quora), in the evaluation, the feedback and the reward, but not in a search."""
    texts = {"a": "zebras are striped animals", "b": "zebras are grey", "c": "ferries sail", "d": "a ferry sails north"}
    qrels = {"a": {"b": 1}, "c": {"d": 1, "c": 0}, "d": {"d": 1}}
    queries = [Query(name, texts[name]) for name in qrels]
    write_beir(tmp_path, [Document(name, "", text) for name, text in texts.items()], queries, {"test": qrels})
    data = read_beir(tmp_path, "test")
    retriever = Bm25Retriever.build([*texts.values()], [*texts])
    path = SearchPath(PassThrough(), retriever, RankScoreFusion(), data.corpus, FeedbackSpec(2))
    found = evaluate(path, data.queries["test"], qrels, name="raw")
    assert [one.ranking.doc_ids[0] for one in found.results] == ["b", "d", "d"]  # d is judged, so it may answer d
    assert [one.reformulation.query.feedback[0].text for one in found.results] == [texts[d] for d in "bdd"]
    assert "2 queries" in answer_of(Study({System("raw", "bm25", "rsf"): found}, {}, "raw", ["nDCG@10"]))
    reward = Reward("explore", retriever, RankScoreFusion())
    assert reward.of(data.queries["test"], ["pass"] * 3, qrels) == [2.0] * 3
    columns = grpo_dataset(data.queries["test"], qrels, Prompt(len)).remove_columns("prompt").to_dict()
    assert reward([], ["pass"] * 3, **columns) == [2.0] * 3
    assert path.search(queries[:1])[0].fused.doc_ids[0] == "a"


def test_summary_by_hand(good, bad):
    """Routes and their precision, confusion of kind and route."""
    summary = summarise(good)
    assert summary.overall.queries == 3
    expected = {"sub_queries": 5 / 3, "texts": 5 / 3, "searches": 5 / 3, "tokens": 4, "calls": 1, "problems": 0}
    assert {name: summary.overall.quantities[name] for name in expected} == pytest.approx(expected)
    assert summary.by_kind["compound"].quantities["sub_queries"] == 2
    assert summary.by_route["decompose"].measures["AllGold@10"] == 1
    assert summary.confusion == {
        "ambiguous": {"disambiguate": 1},
        "compound": {"decompose": 1},
        "simple": {"pass": 1},
    }
    assert summarise(bad).overall.quantities["problems"] == pytest.approx(1 / 3)


def test_evaluations_of_other_queries_do_not_compare(raw, good):
    with pytest.raises(DataError):
        compare(replace(good, results=good.results[::-1]), raw, ["nDCG@10"])


def tables_of(*evaluations):
    study = Study({System(e.name, "words", "rsf"): e for e in evaluations}, {}, evaluations[0].name, MEASURES)
    return list(study_tables(study, study.comparisons()))


def test_cells_are_of_the_evaluations_and_tables_without_rows_are_left_out(raw, good, bad):
    tables = tables_of(raw, good, bad)
    assert [(row[0], row[1], row[-2]) for row in tables[0].rows[:2]] == [
        ("raw", "0.898", "1.00"),
        ("good", "1.000", "1.67"),
    ]
    assert ("good", "compound", "0", "0", "1", "0", "100.0%") in tables[-1].rows
    unkind = tables_of(replace(raw, results=tuple(replace(result, kind="") for result in raw.results)))
    assert [table.title for table in unkind] == ["Results", "Cost", "By route"]
