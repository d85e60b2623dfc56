"""One search at several retrievers."""

from __future__ import annotations

import threading

import pytest
from stand_ins import ScriptedRetriever, ranking

from acqo_rl.retrieval.parallel import search_all
from acqo_rl.roles import Retriever

ONE = ScriptedRetriever({"a": ("1",), "b": ("2",)})


def test_a_single_retriever_is_asked_in_the_thread_of_the_caller():
    threads = []

    class Noting(ScriptedRetriever):
        def search(self, texts, k):
            threads.append(threading.current_thread())
            return super().search(texts, k)

    assert [[r.doc_ids for r in rankings] for rankings in search_all([Noting({"a": ("1",)})], ["a"], 5)] == [[("1",)]]
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
