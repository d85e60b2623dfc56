"""Systems over cached answers measure what an evaluation without a cache measures, and ask nothing twice."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from by_hand import evaluated, evaluation
from stand_ins import ScriptedHop

from acqo_rl.evaluation.cache import Cache, CachedReformulator, CachedRetriever
from acqo_rl.evaluation.files import read_results
from acqo_rl.evaluation.plots import Point, draw_costs
from acqo_rl.evaluation.report import write_report
from acqo_rl.evaluation.study import Study
from acqo_rl.evaluation.systems import IndexParts, StudyComponents, System, compute_missing, evaluate_systems
from acqo_rl.fusion import RankScoreFusion, ReciprocalRankFusion
from acqo_rl.reformulation.load import REWRITE_RETRIEVE_READ
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.retrieval.hybrid import HybridRetriever
from acqo_rl.roles import Reformulator, Retriever
from acqo_rl.searching.hop import Hops
from acqo_rl.searching.sub_queries import RawQueryOnly
from acqo_rl.types import FeedbackSpec

MEASURES = ["nDCG@10", "R@10"]
GOOD = {
    "compound": ("decompose", "capital of peru", "money of chad"),
    "ambiguous": ("disambiguate", "capital of chad", "and its capital"),
}


class Backwards(Retriever):
    """A stand-in for another retriever: the first one's lists, the other way round."""

    name = "backwards"
    cosine = False

    def __init__(self, retriever):
        self.retriever = retriever
        self.calls = retriever.calls

    def search(self, texts, k):
        found = self.retriever.search(texts, 100)
        return [replace(r, doc_ids=r.doc_ids[::-1], retriever=self.name) for r in found]


@pytest.fixture
def make_components(tmp_path, world, retriever, scripted):
    """The components over one cache file, and what its roles are asked."""
    _, qrels, corpus, metadata = world
    asked, caches = [], []

    class Asked(Reformulator):
        name = "asked"

        def __init__(self, reformulator, results):
            self.reformulator = reformulator
            self.feedback = FeedbackSpec(results, 3)

        def reformulate(self, batch):
            asked.extend(batch)
            return self.reformulator.reformulate(batch)

    def make(names=("raw", "good"), *, feedback=0, batch_size=64):
        caches.append(cache := Cache(tmp_path / "cache.sqlite"))
        known = {"raw": PassThrough(), "good": scripted(GOOD), "bad": scripted({"simple": ("decompose", "snake")})}
        known[REWRITE_RETRIEVE_READ] = scripted({"ambiguous": ("decompose", "snake", "franc")})
        words = CachedRetriever("words", retriever, "1", cache, embeds=True)
        other = CachedRetriever("other", Backwards(retriever), "2", cache, embeds=False)
        return StudyComponents(
            {n: CachedReformulator(n, lambda n=n: Asked(known[n], feedback), n, cache) for n in names},
            {"words": IndexParts((words,)), "other": IndexParts((other,)), "both": IndexParts((words, other))},
            {"rsf": RankScoreFusion(), "rrf": ReciprocalRankFusion()},
            *(corpus, qrels, metadata, MEASURES, batch_size),
        )

    yield make, asked
    for cache in caches:
        cache.close()


@pytest.mark.parametrize("batch_size", [1, 64])
def test_every_system_measures_what_it_measures_without_a_cache(
    make_components, world, retriever, scripted, batch_size
):
    queries, qrels, _, metadata = world
    make, _ = make_components
    got = evaluate_systems(make(batch_size=batch_size), {"": queries})[""]
    assert len(got) == 12
    words, other = retriever, Backwards(retriever)
    for fusion in (RankScoreFusion(), ReciprocalRankFusion()):
        both = HybridRetriever([words, other], fusion)
        for name, searched in (("words", words), ("other", other), ("both", both)):
            plain = evaluated(scripted(GOOD), queries, qrels, searched, fusion, measures=MEASURES, metadata=metadata)
            mine = got[System("good", name, fusion.name)]
            assert [r.measures for r in mine.results] == [r.measures for r in plain.results]
            assert [r.ranking.doc_ids for r in mine.results] == [r.ranking.doc_ids for r in plain.results]
            assert mine.unmeasured == 1


def test_searches_and_embeddings_of_a_hybrid_are_those_of_its_parts(make_components, world):
    make, _ = make_components
    got = evaluate_systems(make(), {"": world[0]})[""]
    for retriever, searches, embedded in (("words", 2, 2), ("other", 2, 0), ("both", 4, 2)):
        compound = got[System("good", retriever, "rsf")].results[1]
        assert (compound.searches, compound.embedded) == (searches, embedded)
    one, two, both = (got[System("good", r, "rsf")].results[1].retrieval_ms for r in ("words", "other", "both"))
    assert both == pytest.approx(one + two)
    assert got[System("good", "both", "rsf")].results[1].reformulation_ms > 0


def test_only_what_is_new_is_asked(make_components, world, retriever):
    queries, *_ = world
    make, asked = make_components
    for names in (("raw", "good"), ("raw", "good")):
        components = make(names)
        compute_missing(components, {"": queries})
        first = evaluate_systems(components, {"": queries})[""]
    assert [query.id for query in asked] == ["simple", "compound", "ambiguous"] * 2
    before = [text for call in retriever.calls for text in call]
    assert len(before) == 2 * len(set(before))  # either retriever searched each text once
    asked.clear()
    retriever.calls.clear()
    components = make(("raw", "good", "bad"))
    compute_missing(components, {"": queries})
    second = evaluate_systems(components, {"": queries})[""]
    assert [query.id for query in asked] == ["simple", "compound", "ambiguous"]
    assert retriever.calls == [["snake"], ["snake"]]
    assert {system: second[system] for system in first} == first


def test_feedback_is_that_of_the_retriever_and_asked_once_for_each(make_components, world):
    queries, *_ = world
    make, asked = make_components
    components = make(("good",), feedback=1)
    compute_missing(components, {"": queries})
    done = len(asked)
    titles = {query.feedback[0].title for query in asked if query.id == "compound"}
    assert len(titles) > 1
    got = evaluate_systems(components, {"": queries})[""]
    assert len(asked) == done
    assert got[System("good", "words", "rsf")].results[1].searches == 3


def test_an_original_only_part_searches_the_raw_query_as_a_path_of_its_own(make_components, world, retriever, scripted):
    """Two parts of the compound query by one retriever, the query itself by the other."""
    queries, qrels, *_ = world
    make, _ = make_components
    components = make(("raw", "good"))
    words, other = components.retrievers["both"].everything
    components = replace(components, retrievers={"paths": IndexParts((words,), (other,))})
    got = evaluate_systems(components, {"": queries})[""]
    compound = got[System("good", "paths", "rrf")].results[1]
    assert (compound.searches, compound.embedded) == (3, 2)
    assert got[System("raw", "paths", "rrf")].results[1].searches == 2
    searched = [retriever, RawQueryOnly(Backwards(retriever))]
    plain = evaluated(scripted(GOOD), queries, qrels, searched, ReciprocalRankFusion(), measures=MEASURES)
    assert compound.ranking.doc_ids == plain.results[1].ranking.doc_ids


def test_what_looks_first_rewrites_weak_queries_only_and_pays_for_both_searches(make_components, world):
    """The raw query is kept everywhere. For one query without an answer, a rewrite is tried in the dense index."""
    queries, _, _, _ = world
    queries = [*queries[:2], replace(queries[2], text="nothing")]
    make, asked = make_components
    components = replace(make(("raw", REWRITE_RETRIEVE_READ)), similarity_threshold=0.5)
    compute_missing(components, {"": queries})
    assert asked == queries  # by the other reformulator
    asked.clear()
    got = evaluate_systems(components, {"": queries})[""]
    rsf = [(s.reformulator, s.retriever) for s in got if s.fusion == "rsf"]
    assert rsf == [
        ("raw", "words"),
        (REWRITE_RETRIEVE_READ, "words"),
        ("raw", "other"),
        ("raw", "both"),
        (REWRITE_RETRIEVE_READ, "both"),
    ]
    assert [query.id for query in asked] == ["ambiguous"]
    results = got[System(REWRITE_RETRIEVE_READ, "words", "rsf")].results
    assert [r.searches for r in results] == [r.embedded for r in results] == [1, 1, 3]
    assert [r.reformulation.calls for r in results] == [0, 0, 1]
    assert [r.reformulation_ms > 0 for r in results] == [False, False, True]
    assert results[0].measures == got[System("raw", "words", "rsf")].results[0].measures
    both = got[System(REWRITE_RETRIEVE_READ, "both", "rsf")].results
    assert [r.searches for r in both] == [2, 2, 3 + 2]
    assert [r.embedded for r in both] == [1, 1, 3]

    study = Study(got, {}, "raw", MEASURES)
    assert [evaluation.name for evaluation in study.with_same_retrieval()] == ["raw", REWRITE_RETRIEVE_READ]


def test_searches_of_hops_are_counted(make_components, world):
    queries, *_ = world
    make, _ = make_components
    components = replace(make(("raw",)), hops=Hops(ScriptedHop("capital"), 3))
    components = replace(
        components, retrievers={"words": components.retrievers["words"]}, fusions={"rsf": RankScoreFusion()}
    )
    [evaluation] = evaluate_systems(components, {"": queries})[""].values()
    assert [r.searches for r in evaluation.results] == [3, 3, 3]


def test_the_files_of_a_study(make_components, world, tmp_path):
    queries, *_ = world
    make, _ = make_components
    changed = [replace(query, text=f"{query.text} snake") for query in queries]
    evaluations = evaluate_systems(make(), {"": queries, "typos": changed})
    study = Study(evaluations.pop(""), evaluations, "raw", MEASURES)
    _, tables = write_report(tmp_path, study, {"data": "x"})
    for table in tables:
        assert {len(row) for row in table.rows} == {len(table.header)}, table.title
    by_title = {table.title: table for table in tables}
    assert {
        *("Results", "Against raw", "Retrievers against words", "Fusions against rsf", "Cost"),
        *("By kind of query", "By difficulty", "Robustness", "Routes", "What a wrong route costs"),
    } <= by_title.keys()
    assert ("good", "compound", "0", "0", "1", "0", "100.0%") in by_title["Routes"].rows

    page = (tmp_path / "report.html").read_text()
    assert "://" not in page
    assert page.count("data:image/png;base64,") == len(list((tmp_path / "plots").iterdir())) == 2
    content = json.loads((tmp_path / "summary.json").read_text())
    assert [s["overall"]["quantities"]["searches"] for s in content["systems"]][:2] == pytest.approx([1, 5 / 3])
    assert [s["name"] for s in content["systems"]][:2] == ["raw / words / rsf", "good / words / rsf"]
    assert [row["name"] for row in content["robustness"]["typos"]] == [s["name"] for s in content["systems"]]
    assert "Problems" not in by_title


def test_the_files_of_a_study_say_why_a_reformulator_fell_back(tmp_path):
    down, odd = "hyde: InternalServerError: 500 | <b>down</b>", "hyde: nothing to search in 'x'"
    raw = evaluation("raw", [0.5] * 4)
    hyde = evaluation("hyde", [0.5] * 4, problem=[down, None, odd, down], failed_calls=[1, 0, 0, 1])
    systems = {System(e.name, "dense", f): e for f in ("rsf", "rrf") for e in (raw, hyde)}
    _, tables = write_report(tmp_path, Study(systems, {}, "raw", ["nDCG@10"]), {})
    [table] = [table for table in tables if table.title == "Problems"]
    assert table.rows == (("hyde", "2", down), ("hyde", "1", "hyde: nothing to search in …"))
    assert "hyde: InternalServerError: 500" in (tmp_path / "report.md").read_text()
    assert "&lt;b&gt;down" in (tmp_path / "report.html").read_text()
    hyde_results = read_results(tmp_path)["hyde / dense / rsf"].results
    assert [result.reformulation.problem for result in hyde_results] == [down, None, odd, down]
    content = json.loads((tmp_path / "summary.json").read_text())["systems"]
    assert [s["commonest_problems"] for s in content] == [{}, {down: 2, "hyde: nothing to search in …": 1}] * 2


def test_one_system_alone_has_a_report_too(make_components, world, tmp_path):
    make, _ = make_components
    components = replace(make(("raw",)), fusions={"rsf": RankScoreFusion()})
    components = replace(components, retrievers={"words": components.retrievers["words"]})
    study = Study(evaluate_systems(components, {"": world[0]})[""], {}, "raw", MEASURES)
    titles = [table.title for table in write_report(tmp_path, study, {})[1]]
    assert titles[:2] == ["Results", "Cost"]


def test_the_picture_of_costs_takes_any_number_of_systems_and_any_name():
    points = [Point(f"$x_{i}$ <b>", f"group {i % 9}", 10.0**i, i / 20, 0.0, 1.0) for i in range(20)]
    picture = draw_costs(points, "milliseconds", "nDCG@10")
    assert picture.startswith(b"\x89PNG")
    assert picture == draw_costs(points, "milliseconds", "nDCG@10")
