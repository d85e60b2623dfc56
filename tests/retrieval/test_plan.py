"""The plan of an index against indexes that FAISS builds."""

import pytest

from acqo_rl.retrieval import faiss_index
from acqo_rl.retrieval.plan import plan_indexes


def test_planned_sizes_are_those_of_the_indexes_and_hnsw_stays_on_the_cpu(filled):
    plans = plan_indexes(30_000, 0, 32)

    for plan in plans:
        index = filled(plan.factory, 30_000)
        assert len(faiss_index.import_faiss().serialize_index(index)) == pytest.approx(plan.memory, rel=0.06)
    assert [plan.factory for plan in plans if plan.gpu_memory is None] == ["HNSW32"]
    assert len(plans) == 5
    assert [plan.factory for plan in plan_indexes(1000, 0, 32)] == ["Flat", "HNSW32"]
    assert plan_indexes(1000, 500, 32)[0].memory == 1000 * 32 * 4 + 500 * 90
