"""One search at several retrievers."""

from __future__ import annotations

import threading

import pytest
from stand_ins import ScriptedRetriever, ranking

from acqo_rl.fusion import ReciprocalRankFusion
from acqo_rl.retrieval.hybrid import HybridRetriever, search_all
from acqo_rl.roles import Retriever
from acqo_rl.types import Passage

ONE = ScriptedRetriever({"a": ("1",), "b": ("2",)})


def test_retrievers_search_at_the_same_time_and_get_passages_as_such():
    """Each waits until the other has begun."""
    barrier, kinds = threading.Barrier(2, timeout=10), []

    class Waiting(ScriptedRetriever):
        def search(self, texts, k):
            kinds.append([type(text) for text in texts])
            barrier.wait()
            return super().search(texts, k)

    one, two = Waiting({"q": ("a",)}), Waiting({"q": ("b",)})
    one.name, two.name = "one", "two"
    hybrid = HybridRetriever([one, two], ReciprocalRankFusion(60))
    assert set(hybrid.search(["q", Passage("p")], 5)[0].doc_ids) == {"a", "b"}
    assert kinds == [[str, Passage]] * 2


def test_a_single_retriever_is_asked_in_the_thread_of_the_caller():
    """The time limit of a request belongs to its thread."""
    threads = []

    class Noting(ScriptedRetriever):
        def search(self, texts, k):
            threads.append(threading.current_thread())
            return super().search(texts, k)

    search_all([Noting({})], ["a"], 5)
    assert threads == [threading.current_thread()]


@pytest.mark.parametrize("rankings", [[], [ranking("1")] * 2])
@pytest.mark.parametrize("others", [[], [ONE]])
def test_one_that_does_not_return_one_ranking_per_text_is_refused(rankings, others):
    class Wrong(Retriever):
        name = "wrong"

        def search(self, texts, k):
            return rankings

    with pytest.raises(ValueError):
        search_all([*others, Wrong()], ["a"], 5)
