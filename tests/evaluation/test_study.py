"""Comparing many systems: differences and costs, by hand."""

from dataclasses import replace

import pytest
from by_hand import evaluation

from acqo_rl.evaluation.summary import Study, summarise
from acqo_rl.evaluation.systems import System
from acqo_rl.evaluation.tables import results_table

MEASURES = ["nDCG@10"]
KINDS = ["simple", "simple", "ambiguous", "compound", "compound", "compound"] * 4
RAW = [1.0, 0.8, 0.0, 0.2, 0.4, 0.6] * 4
SPLIT = [0.5, 0.8, 0.0, 0.5, 0.6, 0.6] * 4


@pytest.fixture
def study():
    """Raw and split queries with two fusions; splitting helps compound queries, hurts one simple one, costs more."""
    raw = evaluation("raw", RAW, kind=KINDS, embedded=1, ms=(0.0, 10.0))
    split = evaluation("split", SPLIT, kind=KINDS, route="decompose", searches=2, embedded=2, tokens=7, ms=(50.0, 20.0))
    better = replace(split, results=evaluation("split", [v + 0.3 for v in SPLIT], kind=KINDS).results)
    systems = {
        System("raw", "dense", "rsf"): raw,
        System("split", "dense", "rsf"): split,
        System("raw", "dense", "rrf"): raw,
        System("split", "dense", "rrf"): better,
    }
    return Study(systems, {}, "raw", MEASURES)


def test_contrasts_change_one_part_only(study):
    gains = study.comparisons()
    assert [(system.fusion, gain.baseline) for system, gain in gains.items()] == [
        ("rsf", "raw / dense / rsf"),
        ("rrf", "raw / dense / rrf"),
    ]
    found = list(gains.values())
    assert found[0].differences["nDCG@10"].mean == pytest.approx(0.0)
    assert found[0].helped.mean == pytest.approx(2 / 6)
    assert found[0].hurt.mean == pytest.approx(1 / 6)
    assert found[1].differences["nDCG@10"].mean == pytest.approx(0.3)
    assert ["*" in row[-1] for row in results_table(study, gains).rows] == [False, False, False, True]
    by_fusion = {system.name: gain for system, gain in study.comparisons("fusion").items()}
    assert [gain.baseline for gain in by_fusion.values()] == ["raw / dense / rsf", "split / dense / rsf"]
    assert by_fusion["split / dense / rrf"].differences["nDCG@10"].mean == pytest.approx(0.3)


def test_costs_by_hand():
    """Percentiles of 0, 10, ..., 100: the 95th is half way from 90 to 100."""
    times = [(10.0 * i, 1.0) for i in range(11)]
    tokens = [11] + [0] * 10
    problems = ["cut", *([None] * 10)]
    summary = summarise(evaluation("x", [0.0] * 11, ms=times, tokens=tokens, searches=3, embedded=2, problem=problems))
    expected = {"calls": 1 / 11, "tokens": 1, "searches": 3, "embedded": 2, "problems": 1 / 11, "reformulation_ms": 50}
    assert {name: summary.overall.quantities[name] for name in expected} == pytest.approx(expected)
    assert summary.ms == {
        "reformulation": (50.0, 95.0), "retrieval": (1.0, 1.0), "reranking": (0.0, 0.0), "all": (51.0, 96.0)
    }  # fmt: skip
