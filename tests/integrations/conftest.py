"""Fixtures of the tests of all integrations."""

import pytest
from small_world import DOCUMENTS, make_searcher
from stand_ins import BrokenRetriever

from acqo_rl.data.beir import write_beir
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.searching.searcher import AdaptiveSearcher


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A BEIR folder and its index."""
    folder = tmp_path_factory.mktemp("integrations")
    write_beir(folder / "data", DOCUMENTS, [], {})
    build_bm25_index(folder / "index", DOCUMENTS)
    return folder


@pytest.fixture(scope="session")
def searcher():
    return make_searcher()


@pytest.fixture(scope="session")
def broken_searcher():
    return AdaptiveSearcher(Heuristic(), BrokenRetriever(), RankScoreFusion())
