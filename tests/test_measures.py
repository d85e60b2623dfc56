"""Measures, compared with pytrec_eval (including ties) and with values computed by hand."""

import re

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from acqo_rl.errors import ConfigError, DataError
from acqo_rl.measures import check_measures, judged, per_query, to_run
from acqo_rl.types import Ranking

TREC_NAMES = {
    "nDCG@10": "ndcg_cut_10",
    "AP@10": "map_cut_10",
    "R@10": "recall_10",
    "R@100": "recall_100",
    "Success@10": "success_10",
    "RR": "recip_rank",
    "P@5": "P_5",
    "nDCG@3": "ndcg_cut_3",
}

DOCUMENTS = [f"d{number}" for number in range(25)]
QRELS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 3), min_size=1, max_size=6),
    min_size=1,
)
TIED_RUN = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(0, 4).map(float))
)


@settings(max_examples=150, deadline=None)
@given(QRELS, TIED_RUN)
def test_every_measure_equals_pytrec_eval_ties_included(qrels, run):
    relevant = judged(qrels)
    if not relevant:
        with pytest.raises(DataError):
            per_query(["nDCG@10"], qrels, run)
        return
    expected = pytrec_eval.RelevanceEvaluator(relevant, set(TREC_NAMES.values())).evaluate(
        {query_id: scores for query_id, scores in run.items() if scores}
    )
    got = per_query(list(TREC_NAMES), qrels, run)
    for measure, trec_name in TREC_NAMES.items():
        assert got[measure].keys() == relevant.keys()
        for query_id, value in got[measure].items():
            assert value == pytest.approx(expected.get(query_id, {}).get(trec_name, 0.0), abs=1e-12)


def test_all_gold_documents_are_found_or_not():
    """At ranks 1 and 4."""
    run = to_run({"q": ranking("g1", "x", "y", "g2", *"abcdef")})
    values = per_query(["AllGold@4", "AllGold@3"], {"q": {"g1": 1, "g2": 2, "no": 0}}, run)
    assert values == {"AllGold@4": {"q": 1.0}, "AllGold@3": {"q": 0.0}}


@pytest.mark.parametrize(
    "name", ["nonsense", "nDCG@ten", "nDCG(", "R", "AllGold@0", "AllGold", "nDCG(depth=3)@10", "alpha_nDCG@10", ""]
)
def test_an_unknown_measure_is_rejected(name):
    with pytest.raises(ConfigError, match=re.escape(name or "''")):
        per_query([name], {"q": {"d": 1}}, {})


def ranking(*doc_ids):
    return Ranking(doc_ids=doc_ids, scores=(1.0,) * len(doc_ids))


@pytest.mark.parametrize("name", ["nDCG@0", "R@101"])
def test_a_cutoff_beyond_the_depth_of_rankings_is_rejected(name):
    """trec_eval crashes on the first, and would return R@100 for the second."""
    with pytest.raises(ConfigError, match=f"{name}.*1 to 100"):
        check_measures([name], 100)
