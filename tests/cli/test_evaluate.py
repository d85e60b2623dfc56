"""acqo evaluate: everything is computed once, and the files of the report agree."""

import json
import sqlite3
from pathlib import Path

import pytest
from forked import run_command
from rerank_server import RerankServer
from serving_stand_ins import running
from shared import PLACES
from stand_ins import ScriptedLanguageModel
from tiny_policy import full_model

from acqo_rl.cli import command, module_of
from acqo_rl.data.beir import read_corpus, write_beir
from acqo_rl.language_models import load as language_models
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.retrieval.load import describe, load_retriever
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.retriever_app import make_retriever_app
from acqo_rl.types import Document, Query

SCRIPT = "evaluate"


@pytest.fixture(scope="module")
def script():
    return module_of(SCRIPT)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Data of two kinds of questions, two indexes of words that weigh length differently, and a random policy."""
    folder = tmp_path_factory.mktemp("systems")
    documents = [Document(f"{p}-capital", p, f"{city} is the capital of {p}.") for p, city in PLACES.items()]
    documents += [Document(f"{p}-money", p, f"The currency used in {p} is its own coin, as usual.") for p in PLACES]
    queries = []
    qrels = {}
    metadata = {}
    for place, other in zip(PLACES, [*list(PLACES)[1:], "Peru"], strict=True):
        queries.append(Query(f"s-{place}", f"What is the capital of {place}?"))
        queries.append(Query(f"c-{place}", f"What is the capital of {place} and which currency is used in {other}?"))
        qrels |= {f"s-{place}": {f"{place}-capital": 1}, f"c-{place}": {f"{place}-capital": 1, f"{other}-money": 1}}
        metadata |= {f"s-{place}": {"kind": "simple"}, f"c-{place}": {"kind": "compound"}}
    write_beir(folder / "data", documents, queries, {"test": qrels, "dev": {"s-Peru": {"Peru-capital": 1}}}, metadata)
    for name, b in (("short", 1.0), ("long", 0.0)):
        build_bm25_index(folder / name, list(read_corpus(folder / "data").values()), b=b)
    full_model(folder, feedback_results=2, max_new_tokens=4)
    return folder


def arguments(world, output, **changed):
    settings = {
        "data": world / "data",
        "split": "test",
        "index": [f"short={world / 'short'}"],
        "reformulator": ["raw", "rules"],
        "measures": ["nDCG@10", "R@5"],
        "output": output,
    } | changed
    return [
        str(word)
        for key, value in settings.items()
        for word in (f"--{key}", *(value if isinstance(value, list) else [value]))
    ]


def answers(output):
    """How many answers of each asked one the folder keeps."""
    with sqlite3.connect(output / "cache.sqlite") as database:
        return dict(database.execute("SELECT asked, count(*) FROM answers GROUP BY asked"))


def systems(output):
    content = json.loads((output / "summary.json").read_text())
    return {(s["reformulator"], s["retriever"], s["fusion"]): s for s in content["systems"]}


def quantities(system):
    return system["overall"]["quantities"]


def rows(output):
    return list(map(json.loads, (output / "queries.jsonl").read_text().splitlines()))


@pytest.mark.slow
def test_compares_and_adds_only_what_is_new(script, world, tmp_path):
    output = tmp_path / "out"
    first = run_command(SCRIPT, *arguments(world, output, reformulator=["raw", "rules"]))
    assert "| rules " in first.stdout
    before = answers(output)
    kept = systems(output)
    assert kept["rules", "short", "rsf"]["by_kind"]["compound"]["quantities"]["sub_queries"] == 2

    added = arguments(
        world,
        output,
        reformulator=["raw", "rules", f"policy={world / 'model'}"],
        index=[
            f"short={world / 'short'}",
            f"long={world / 'long'}",
            "both=short+long",
        ],
        fusion=["rsf", "combsum"],
        robustness=["typos"],
        measures=["R@5", "nDCG@10"],
    )
    command.run(script.main, added)
    after = answers(output)
    now = systems(output)
    assert len(now) == 18
    for asked, number in before.items():
        if asked.startswith("reformulate"):
            assert after[asked] == number + 12  # the typos
    for system, was in kept.items():
        assert now[system]["overall"]["measures"] == was["overall"]["measures"]
        assert now[system]["overall"]["quantities"] == was["overall"]["quantities"]
    assert quantities(now["policy", "short", "rsf"])["calls"] > 0
    assert (output / "report.html").is_file()

    place = Path(json.loads((output / "summary.json").read_text())["settings"]["data"])
    assert not place.is_absolute() and (output / place).resolve() == (world / "data").resolve()

    command.run(script.main, added)
    assert answers(output) == after
    assert systems(output) == now


def test_strategies_share_one_model_and_ask_it_in_batches(script, world, tmp_path, monkeypatch):
    loaded = []

    def load(name, **settings):
        loaded.append(ScriptedLanguageModel('{"search": "capital city of Peru"}'))
        return loaded[-1]

    monkeypatch.setattr(language_models, "load_language_model", load)
    command.run(script.main, arguments(world, tmp_path, reformulator=["raw", "step_back=m", "hyde=m"]))
    [model] = loaded
    assert [*map(len, model.calls)] == [12, 12]


def test_each_value_of_a_varied_setting_is_compared_to_the_strategy_as_it_is(script, world, tmp_path, monkeypatch):
    """The strategy that does not read it is evaluated once, and each model has the settings of its value."""
    loaded = []

    def load(name, **settings):
        loaded.append(settings["temperature"])
        return ScriptedLanguageModel('{"searches": ["capital city of Peru", "its money", "the seat of government"]}')

    monkeypatch.setattr(language_models, "load_language_model", load)
    given = {"reformulator": ["multi_query=m", "raw"], "strategy.num_variants": 2, "strategy.temperature": 0}
    varied = {"vary.num_variants": "[1,3]", "vary.temperature": "[0.5]"}
    command.run(script.main, arguments(world, tmp_path, **given, **varied))
    found = {name: quantities(system)["sub_queries"] for (name, *_), system in systems(tmp_path).items()}
    names = [f"multi_query {one}" for one in ("num_variants=1", "num_variants=3", "temperature=0.5")]
    assert found == dict(zip(["multi_query", "raw", *names], [3, 1, 2, 4, 3], strict=True))
    compared = json.loads((tmp_path / "summary.json").read_text())["comparisons"]
    assert {one["system"]: one["baseline"] for one in compared} == dict.fromkeys(["raw", *names], "multi_query")
    assert loaded == [0, 0.5]


def test_no_file_and_no_message_has_the_password_of_an_index(script, world, tmp_path, capfd):
    app = make_retriever_app(load_retriever(world / "short"), describe(str(world / "short")), Limits())
    with running(app) as url:
        place = url.replace("://", "://ann:s3cret@")
        refused = arguments(world, tmp_path / "no", index=f"{place}+{world / 'short'}?key=s3cret")
        with pytest.raises(SystemExit):
            command.run(script.main, refused)
        command.run(script.main, arguments(world, tmp_path / "out", index=place))
    written = [path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert "http://ann:***@" in (tmp_path / "out" / "report.html").read_text()
    assert not [content for content in ["".join(capfd.readouterr()).encode(), *written] if b"s3cret" in content]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"split": "tset"}, "dev, test"),
        ({"reformulator": "policy"}, "policy=MODEL or --model MODEL"),
        ({"reformulator": "rewrite_retrieve_read=x"}, "add raw"),
        ({"reformulator": ["raw", "rewrite_retrieve_read=x"]}, "give a dense index"),
        ({"vary.num_variants": "[1]"}, "none of raw, rules reads"),
        ({"reformulator": "hyde=m", "vary.original_weight": "[-1]"}, "original_weight is -1"),
        ({"fusion": "rsf+reranker"}, "give --reranker"),
        ({"reranker": "rerank:words@http://127.0.0.1:9/v1"}, "rsf+reranker"),
        ({"fusion": "rsf+reranker", "reranker": "words", "data": "nowhere"}, "'words' is not a reranker"),
    ],
)
def test_errors_say_what_to_do(script, world, tmp_path, capsys, changed, message):
    with pytest.raises(SystemExit) as refused:
        command.run(script.main, arguments(world, tmp_path / "out", **changed))
    assert refused.value.code == 2
    assert not list(tmp_path.glob("out/*.html"))
    assert message in capsys.readouterr().err


@pytest.fixture
def reranker():
    with RerankServer() as server:
        yield server


def test_a_reranked_fusion_is_a_system_with_its_cost(script, world, tmp_path, reranker):
    given = {"fusion": ["rsf", "rsf+reranker"], "reranker": reranker.name, "rerank_depth": 3}
    shown = arguments(world, tmp_path / "out", **given)
    command.run(script.main, shown)
    asked = sum(len(body["documents"]) for body in reranker.asked)
    costs = {(name, fusion): quantities(s) for (name, _, fusion), s in systems(tmp_path / "out").items()}
    assert [cost["reranked"] for cost in costs.values()][:3] == [0, 0, 3]
    assert costs["rules", "rsf+reranker"]["reranked"] > 3  # each part of a question is read with each document
    assert costs["rules", "rsf+reranker"]["reranking_ms"] > 0
    assert ">reranked</th>" in (tmp_path / "out" / "report.html").read_text()
    command.run(script.main, shown)
    assert sum(len(body["documents"]) for body in reranker.asked) == asked  # every score is kept
