"""Hybrid retrieval: several retrievers, one ranking."""

import re
import threading

import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.fusion import ReciprocalRankFusion
from acqo_rl.retrieval import HybridRetriever
from acqo_rl.roles import Retriever
from acqo_rl.types import Passage, Ranking


class Scripted(Retriever):
    def __init__(self, name, lists):
        self.name = name
        self.lists = lists
        self.asked = []

    def search(self, texts, k):
        self.asked.append(k)
        return [
            Ranking(tuple(self.lists.get(t, ())[:k]), tuple(range(len(self.lists.get(t, ())[:k]), 0, -1)), self.name, t)
            for t in texts
        ]


def test_lists_are_merged_position_for_position():
    dense = Scripted("dense", {"q": ["a", "b", "c"], "r": ["z"]})
    sparse = Scripted("bm25", {"q": ["b", "d"]})
    hybrid = HybridRetriever([dense, sparse], ReciprocalRankFusion(60))
    first, second, nothing, again = hybrid.search(["q", "r", "none", "q"], 2)
    assert first == again
    assert first.doc_ids == ("b", "a")
    assert first.scores == pytest.approx((1 / 62 + 1 / 61, 1 / 61))
    assert (first.retriever, first.query) == ("hybrid", "q")
    assert (second.doc_ids, nothing.doc_ids) == (("z",), ())
    assert dense.asked == sparse.asked == [100]
    hybrid.search(["q"], 180)
    assert dense.asked == [100, 180]


def test_its_fingerprint_changes_with_that_of_a_part():
    """What is kept of its results is kept for these documents only."""
    dense, sparse = Scripted("dense", {}), Scripted("bm25", {})
    hybrid = HybridRetriever([dense, sparse], ReciprocalRankFusion(60))
    sparse.fingerprint = "one"
    before = hybrid.fingerprint
    sparse.fingerprint = "two"
    assert hybrid.fingerprint != before


def test_passages_reach_the_parts_as_such():
    kinds = []

    class Noting(Scripted):
        def search(self, texts, k):
            kinds.append([type(text) for text in texts])
            return super().search(texts, k)

    HybridRetriever([Noting("a", {}), Noting("b", {})], ReciprocalRankFusion(60)).search(["q", Passage("p")], 5)
    assert kinds == [[str, Passage]] * 2


def test_retrievers_search_at_the_same_time():
    """Each waits until the other has begun."""
    barrier = threading.Barrier(2, timeout=10)

    class Waiting(Scripted):
        def search(self, texts, k):
            barrier.wait()
            return super().search(texts, k)

    hybrid = HybridRetriever([Waiting("one", {"q": ["a"]}), Waiting("two", {"q": ["b"]})], ReciprocalRankFusion(60))
    assert set(hybrid.search(["q"], 5)[0].doc_ids) == {"a", "b"}


@pytest.mark.parametrize("names", [[], ["dense", "dense"]])
def test_parts_need_different_names(names):
    with pytest.raises(ConfigError, match=re.escape(str(names))):
        HybridRetriever([Scripted(name, {}) for name in names], ReciprocalRankFusion(60))
