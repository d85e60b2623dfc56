"""Systems over cached answers measure what an evaluation without a cache measures, and ask nothing twice."""

from dataclasses import replace
from itertools import product
from types import SimpleNamespace

import pytest
from small_study import CORPUS, GOOD, KINDS, QRELS, QUERIES, Scripted, WordRetriever, evaluated
from stand_ins import ScriptedHop

from acqo_rl.evaluation.cache import CachedReformulator, CachedRetriever
from acqo_rl.evaluation.systems import System, evaluate_systems
from acqo_rl.fusion import RankScoreFusion, ReciprocalRankFusion
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.reformulation.settings import REWRITE_RETRIEVE_READ
from acqo_rl.retrieval.composite import HybridRetriever
from acqo_rl.roles import Reformulator, Retriever
from acqo_rl.searching.hop import Hops
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.sub_queries import RawQueryOnly
from acqo_rl.types import FeedbackSpec

MEASURES = ["nDCG@10", "R@10"]
ABOUT = {"qrels": QRELS, "kinds": KINDS, "measures": MEASURES}


class Backwards(Retriever):
    """A stand-in for another retriever: the first one's lists, the other way round."""

    name = "backwards"
    cosine = False

    def __init__(self, retriever):
        self.retriever = retriever

    def search(self, texts, k):
        found = self.retriever.search(texts, 100)
        return [replace(r, doc_ids=r.doc_ids[::-1], retriever=self.name) for r in found]


class Asked(Reformulator):
    """Keeps what a reformulator is asked."""

    name = "asked"

    def __init__(self, reformulator, results, asked):
        self.reformulator = reformulator
        self.feedback = FeedbackSpec(results, 3)
        self.asked = asked

    def reformulate(self, batch):
        self.asked.extend(batch)
        return self.reformulator.reformulate(batch)


@pytest.fixture
def study(tmp_path):
    """Makes components over one cache file; keeps what reformulators are asked and retrievers search."""
    known = {"raw": PassThrough(), "good": Scripted(GOOD), "bad": Scripted({"simple": ("decompose", "snake")})}
    known[REWRITE_RETRIEVE_READ] = Scripted({"ambiguous": ("decompose", "snake", "franc")})
    asked = []
    retriever = WordRetriever()
    cache = tmp_path / "cache.sqlite"

    def make(*names, feedback=0, apart=False, **paths):
        words = CachedRetriever("words", retriever, "1", cache, embeds=True)
        other = CachedRetriever("other", Backwards(retriever), "2", cache, embeds=False)
        both = HybridRetriever([words, other], RankScoreFusion(), name="both")
        searched = {"words": words, "other": other, "both": both}
        if apart:
            searched = {"paths": [words, RawQueryOnly(other)]}
        made = {n: CachedReformulator(n, lambda n=n: Asked(known[n], feedback, asked), n, cache) for n in names}
        systems = {}
        for index, fusion, name in product(searched, (RankScoreFusion(), ReciprocalRankFusion()), names):
            retries = {"retry_below": 0.5} if name == REWRITE_RETRIEVE_READ else {}
            if not retries or index != "other":
                path = SearchPath(made[name], searched[index], fusion, CORPUS, **retries, **paths)
                systems[System(name, index, fusion.name)] = path
        return systems

    return SimpleNamespace(make=make, asked=asked, searched=retriever.calls)


@pytest.mark.parametrize("batch_size", [1, 64])
def test_every_system_measures_what_it_measures_without_a_cache(study, batch_size):
    got = evaluate_systems(study.make("raw", "good"), QUERIES, batch_size=batch_size, **ABOUT)
    assert len(got) == 12
    words = WordRetriever()
    other = Backwards(WordRetriever())
    for fusion in (RankScoreFusion(), ReciprocalRankFusion()):
        both = HybridRetriever([words, other], fusion)
        for name, searched in (("words", words), ("other", other), ("both", both)):
            plain = evaluated(Scripted(GOOD), retriever=searched, fusion=fusion, measures=MEASURES)
            mine = got[System("good", name, fusion.name)]
            assert [r.measures for r in mine.results] == [r.measures for r in plain.results]
            assert [r.ranking.doc_ids for r in mine.results] == [r.ranking.doc_ids for r in plain.results]
            assert mine.unmeasured == 1


def test_searches_and_embeddings_of_a_hybrid_are_those_of_its_parts(study):
    got = evaluate_systems(study.make("raw", "good"), QUERIES, **ABOUT)
    for retriever, searches, embedded in (("words", 2, 2), ("other", 2, 0), ("both", 4, 2)):
        compound = got[System("good", retriever, "rsf")].results[1]
        assert (compound.searches, compound.embedded) == (searches, embedded)
    one, two, both = (got[System("good", r, "rsf")].results[1].retrieval_ms for r in ("words", "other", "both"))
    assert both == pytest.approx(one + two)
    assert got[System("good", "both", "rsf")].results[1].reformulation_ms > 0


def test_feedback_is_that_of_each_retriever(study):
    got = evaluate_systems(study.make("good", feedback=1), QUERIES, **ABOUT)
    assert len({query.feedback[0].title for query in study.asked if query.id == "compound"}) > 1
    assert len(study.asked) == len(set(study.asked))
    assert got[System("good", "words", "rsf")].results[1].searches == 3


def test_an_original_only_part_searches_the_raw_query_as_a_path_of_its_own(study):
    """Two parts of the compound query by one retriever, the query itself by the other."""
    got = evaluate_systems(study.make("raw", "good", apart=True), QUERIES, **ABOUT)
    compound = got[System("good", "paths", "rrf")].results[1]
    assert (compound.searches, compound.embedded) == (3, 2)
    assert got[System("raw", "paths", "rrf")].results[1].searches == 2
    searched = [WordRetriever(), RawQueryOnly(Backwards(WordRetriever()))]
    plain = evaluated(Scripted(GOOD), retriever=searched, fusion=ReciprocalRankFusion(), measures=MEASURES)
    assert compound.ranking.doc_ids == plain.results[1].ranking.doc_ids


def test_what_looks_first_rewrites_weak_queries_only_and_pays_for_both_searches(study):
    """It needs a dense index. For one query without an answer, a rewrite is tried; the raw query is kept everywhere."""
    queries = [*QUERIES[:2], replace(QUERIES[2], text="nothing")]
    got = evaluate_systems(study.make("raw", REWRITE_RETRIEVE_READ), queries, **ABOUT)
    looking = {s.retriever: e.results for s, e in got.items() if s.reformulator == REWRITE_RETRIEVE_READ}
    assert set(looking) == {"words", "both"}
    assert [query.id for query in study.asked] == [*(query.id for query in queries), "ambiguous"]  # first by raw
    assert [(r.searches, r.embedded, r.reformulation.calls) for r in looking["words"]] == [(1, 1, 0)] * 2 + [(3, 3, 1)]
    assert [r.reformulation_ms > 0 for r in looking["words"]] == [False, False, True]
    assert looking["words"][0].measures == got[System("raw", "words", "rsf")].results[0].measures
    assert [(r.searches, r.embedded) for r in looking["both"]] == [(2, 1), (2, 1), (3 + 3, 3)]


def test_searches_of_hops_are_counted(study):
    got = evaluate_systems(study.make("raw", hops=Hops(ScriptedHop("capital"), 3)), QUERIES, **ABOUT)
    assert [r.searches for r in got[System("raw", "words", "rsf")].results] == [3, 3, 3]
