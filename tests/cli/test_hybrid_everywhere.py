"""Every command accepts a hybrid index and returns the same results as the library."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from server_process import started
from shared import PLACES
from tiny_policy import full_model

from acqo_rl.cli import command, module_of
from acqo_rl.data.beir import read_corpus, write_beir
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.retrieval import load_retriever
from acqo_rl.searching.path import search
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.serving.load import ServiceSettings, load_service
from acqo_rl.types import Document, Query

ROOT = Path(__file__).parents[2]
QUERY = "Compare the capital of Peru and Chad"
pytestmark = pytest.mark.slow


def run(script, settings):
    """Runs a command in this process."""
    module = module_of(script)
    words = [str(word) for key, value in settings.items() for word in (f"--{key}", value)]
    module.main(command.parse(module.main, words))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Data with three splits, a hybrid index, and a policy with feedback and ``raw_query_margin``."""
    folder = tmp_path_factory.mktemp("hybrid")
    documents = [Document(f"{p}-capital", p, f"{city} is the capital of {p}.") for p, city in PLACES.items()]
    documents += [Document(f"{p}-money", p, f"The currency of {p} is printed by its own bank.") for p in PLACES]
    queries = [Query(p, f"capital of {p}") for p in PLACES]
    gold = {p: {f"{p}-capital": 1} for p in PLACES}
    places = list(PLACES)
    splits = {"train": places[:4], "dev": places[4:], "test": places[4:]}
    write_beir(folder / "data", documents, queries, {s: {p: gold[p] for p in some} for s, some in splits.items()})
    run("index", {"data": folder / "data", "output": folder / "index", "kind": "hybrid"})
    full_model(folder, max_new_tokens=8, feedback_results=1, raw_query_margin=0.05)
    return folder


@pytest.fixture(scope="module", params=["a folder", "joined"])
def index(world, request):
    """Both forms of a hybrid index."""
    both = world / "index"
    return {"a folder": str(both), "joined": f"{both}/dense+{both}/bm25"}[request.param]


@pytest.fixture(scope="module")
def expected(world):
    """The result of the rules for a compound question."""
    retriever = load_retriever(world / "index")
    [found] = search(Heuristic().reformulate([Query("query", QUERY)]), retriever, RankScoreFusion(), 5)
    assert {ranking.retriever for ranking in found.rankings} == {"hybrid"}
    assert {"Peru-capital", "Chad-capital"} <= set(found.fused.doc_ids)
    return found


def test_a_second_build_changes_nothing(world, capsys):
    before = {path: path.stat().st_mtime_ns for path in (world / "index").rglob("*")}
    run("index", {"data": world / "data", "output": world / "index", "kind": "hybrid"})
    assert {path: path.stat().st_mtime_ns for path in (world / "index").rglob("*")} == before
    assert "12 documents" in capsys.readouterr().out


def test_a_build_resumes_after_a_finished_part(world, tmp_path, monkeypatch):
    """Passages are not encoded again."""
    run("index", {"data": world / "data", "output": tmp_path / "both" / "dense"})
    monkeypatch.setattr("acqo_rl.retrieval.encoder.SentenceTransformerEncoder.encode_passages", None)
    run("index", {"data": world / "data", "output": tmp_path / "both", "kind": "hybrid"})
    [one], [other] = (load_retriever(folder).search([QUERY], 5) for folder in (tmp_path / "both", world / "index"))
    assert one == other


def test_evaluation_searches_it(world, index, expected, tmp_path):
    """With a name or without one."""
    asked = {"data": world / "data", "split": "test"}
    measures = []
    for given in (index, f"both={index}"):
        output = tmp_path / str(len(measures))
        run("evaluate", {**asked, "index": given, "output": output})
        systems = json.loads((output / "summary.json").read_text())["systems"]
        assert [system["reformulator"] for system in systems] == ["raw"]
        costs = [system["overall"]["quantities"] for system in systems]
        assert [(cost["searches"], cost["embedded"]) for cost in costs] == [(2, 1)]
        measures += [system["overall"]["measures"]["nDCG@10"] for system in systems]
    assert len(set(measures)) == 1
    outcomes = (output / "queries.jsonl").read_text()
    assert all(f"{p}-capital" in outcomes for p in list(PLACES)[4:])


def test_a_policy_with_feedback_and_raw_query_margin_is_evaluated(world, index, tmp_path):
    asked = {"data": world / "data", "split": "test", "index": index, "reformulator": f"policy={world / 'model'}"}
    run("evaluate", {**asked, "output": tmp_path / "evaluation"})
    assert len((tmp_path / "evaluation" / "queries.jsonl").read_text().splitlines()) == 2


def test_search_and_service_return_the_results_of_the_library(world, index, expected, capsys, monkeypatch):
    module = module_of("search")
    given = ["--data", str(world / "data"), "--index", index, "--reformulator", "rules"]
    config = command.parse(module.main, given)
    answer = module.Loaded(config).searcher.search(Query("query", QUERY))
    assert answer.fused.doc_ids[:5] == expected.fused.doc_ids

    service = load_service(
        ServiceSettings(collections=[f"world={world / 'data'},{index}"], strategies=["rules"]), StrategySettings()
    )
    try:
        [collection] = service.collections
        assert (collection.cosine, [r.name for r in collection.retrievers]) == (False, ["world/dense", "world/bm25"])
        found = service.searcher("rules", None, (collection,)).search(QUERY)
    finally:
        service.close()
    assert found.fused.doc_ids[:5] == tuple(f"world/{doc_id}" for doc_id in expected.fused.doc_ids)
    assert not found.failures


def test_retriever_server_and_langchain_return_the_results_of_the_library(world, index, expected):
    from acqo_rl.integrations.langchain import AdaptiveRetriever

    corpus = read_corpus(world / "data")
    with started("serve", "--retriever", index) as server:
        behind = load_retriever(server.url)
        searcher = AdaptiveSearcher(Heuristic(), behind, RankScoreFusion())
        documents = AdaptiveRetriever(searcher=searcher, corpus=corpus, k=5).invoke(QUERY)
        behind.close()
    assert [document.id for document in documents] == list(expected.fused.doc_ids)


def test_the_recipe_builds_a_hybrid_index():
    recipe = module_of("train")
    config = command.parse(recipe.main, ["--index_settings.kind", "hybrid"])
    [stage] = [stage for stage in recipe.plan(config) if stage.name == "index"]
    assert stage.settings["kind"] == "hybrid"
    recipe.check(stage)
