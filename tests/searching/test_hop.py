"""Hops: searches for names in the results, chosen after reading them."""

import pytest
from stand_ins import ScriptedHop, ScriptedRetriever, random_scorer, ranking

from acqo_rl.fusion import RankScoreFusion
from acqo_rl.networks.corpus_words import CorpusWords
from acqo_rl.reformulation.pass_through import PassThrough, pass_through
from acqo_rl.searching.hop import Hops, LearnedHop
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Query

WHO = Query("q", "who?")
FOUND = {
    "who?": ("1", "2"),
    "BERT": ("3", "1"),
    "who? BERT": ("3", "2"),
    "Google": ("4",),
    "who? Google": ("1", "4"),
}


def searchers(hops, retriever, **settings):
    searcher = AdaptiveSearcher(PassThrough(), retriever, RankScoreFusion(), hops=hops, **settings)
    return searcher, SearchPath(PassThrough(), retriever, RankScoreFusion(), hops=hops)


@pytest.mark.parametrize("find", [lambda s, path: s.search_many([WHO]), lambda s, path: path.search([WHO])])
def test_a_name_is_searched_alone_and_after_the_question_and_fused_with_all_lists(find):
    retriever = ScriptedRetriever(FOUND)
    hop = ScriptedHop("BERT")
    [found] = find(*searchers(Hops(hop, 3), retriever))
    # 1/P: document 3 is first in two lists, 1 is first and second, 2 is second in two lists
    assert found.fused.pairs == [("3", 2.0), ("1", 1.5), ("2", 1.0)]
    assert retriever.calls == [["who?"], ["BERT", "who? BERT"]]
    assert [(s.text, s.kind) for s in found.reformulation.sub_queries[1:]] == [
        ("BERT", "hop"),
        ("who? BERT", "expansion"),
    ]
    assert [step.name for step in found.trace].count("hop") == 2


def test_each_hop_reads_the_results_of_all_searches_before_it():
    hop = ScriptedHop("BERT", "Google", "Alphabet")
    found = searchers(Hops(hop, 2), ScriptedRetriever(FOUND))[0].search("who?")
    assert hop.read == [[["who?"], ("1", "2")], [["who?", "BERT", "who? BERT"], ("3", "1", "2")]]
    assert found.fused.doc_ids[0] == "1"
    assert len(found.reformulation.sub_queries) == 5


def test_each_query_of_a_batch_has_its_own_name_or_none():
    names = {"who?": "BERT", "why?": None, "where?": "Oslo"}

    class ByQuery(ScriptedHop):
        def choose(self, searched, fused):
            return [names[made.query.text] if len(made.sub_queries) == 1 else None for made in searched]

    found = searchers(Hops(ByQuery(), 2), ScriptedRetriever(FOUND))[1].search([Query(t, t) for t in names])
    assert [[s.text for s in one.reformulation.sub_queries] for one in found] == [
        ["who?", "BERT", "who? BERT"],
        ["why?"],
        ["where?", "Oslo", "where? Oslo"],
    ]


class Down(ScriptedHop):
    def choose(self, searched, fused):
        raise ConnectionError("no documents")


def test_a_hop_that_fails_leaves_the_results_so_far_and_is_reported():
    searcher, path = searchers(Hops(Down()), ScriptedRetriever(FOUND))
    found = searcher.search("who?")
    assert (found.fused.doc_ids, [failure.step for failure in found.failures]) == (("1", "2"), ["hop"])
    with pytest.raises(ConnectionError):  # in training and evaluation, a failure never becomes a result
        path.search([Query("q", "who?")])


def test_a_learned_hop_stops_without_candidates():
    hop = LearnedHop(random_scorer(), {}, CorpusWords())
    assert hop.choose([pass_through(Query("q", "???"), "raw")], [ranking()]) == [None]
