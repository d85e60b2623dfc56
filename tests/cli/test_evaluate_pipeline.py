"""acqo evaluate with steps of the pipeline."""

from __future__ import annotations

import csv
import json
import sqlite3

import pytest
from pipeline_stand_ins import ModelByRole
from shared import PLACES
from tiny_policy import full_model

from acqo_rl.cli import command, module_of, open_systems
from acqo_rl.data.beir import read_corpus, write_beir
from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.pipeline import STEPS
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.types import Document, Query

SCRIPT = "evaluate"
REPLIES = {
    "gap": '{"answerable": false, "next_query": "currency of Norway"}',
    "completeness": "SUFFICIENT: yes",
    "decompose": '["capital of Peru", "currency of Chad"]',
    "sub_answer": "Lima",
    "synthesis": "It is Lima.",
    "grounding": '{"claims": [{"claim": "It is Lima", "source": 1}]}',
}


@pytest.fixture(scope="module")
def script():
    return module_of(SCRIPT)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Questions with and without gold answers, one without a relevant document, and a BM25 index."""
    folder = tmp_path_factory.mktemp("measure")
    documents = [Document(f"{p}-capital", p, f"{city} is the capital of {p}.") for p, city in PLACES.items()]
    documents += [Document(f"{p}-money", p, f"The currency of {p} is its own coin, as usual.") for p in PLACES]
    queries = [Query(f"s-{p}", f"What is the capital of {p}?") for p in PLACES]
    queries.append(Query("c", "What is the capital of Peru and what is the currency of Chad?"))
    queries.append(Query("none", "Why?"))
    qrels = {f"s-{p}": {f"{p}-capital": 1} for p in PLACES} | {"c": {"Peru-capital": 1, "Chad-money": 1}}
    metadata = {f"s-{p}": {"answers": [city]} for p, city in PLACES.items()} | {"c": {"answer": "Lima and coins"}}
    del metadata["s-Cuba"]
    write_beir(folder / "data", documents, queries, {"dev": qrels | {"none": {"Peru-capital": 0}}}, metadata)
    build_bm25_index(folder / "index", list(read_corpus(folder / "data").values()))
    return folder


def arguments(world, output, **changed):
    settings = {
        "data": world / "data",
        "index": world / "index",
        "output": output,
        "split": "dev",
        "model": "openai:m@http://localhost:9",
    }
    return [
        str(word)
        for key, value in (settings | changed).items()
        for word in (f"--{key}", *(value if isinstance(value, list) else [value]))
    ]


@pytest.fixture
def run(script, world, tmp_path, monkeypatch):
    """Runs the script with a scripted model; the result is its output folder."""
    model = ModelByRole(**REPLIES)
    monkeypatch.setattr(open_systems, "load_step_model", lambda name, strategies, batcher: model)

    def run(**changed):
        command.run(script.main, script.make_parser(), arguments(world, tmp_path / "out", **changed))
        return tmp_path / "out"

    run.model = model
    return run


def outcomes(output):
    """How many outcomes of each step the folder keeps."""
    with sqlite3.connect(output / "cache.sqlite") as database:
        rows = database.execute("SELECT asked, count(*) FROM answers WHERE asked LIKE 'step %' GROUP BY asked")
        return {asked.split()[1]: number for asked, number in rows}


def results(output, name):
    rows = map(json.loads, (output / "queries.jsonl").read_text().splitlines())
    return [row for row in rows if row["system"] == name]


@pytest.mark.slow
def test_everything_that_is_written(run, capsys):
    output = run(pipeline=list(STEPS), answers="comprehensive", concurrency=4)
    assert "| pipeline " in capsys.readouterr().out
    content = json.loads((output / "summary.json").read_text())
    systems = {system["name"]: system for system in content["systems"]}
    assert list(systems) == ["raw", *STEPS]
    assert {system["overall"]["queries"] for system in systems.values()} == {7}
    assert systems["plain"]["overall"]["measures"] == systems["raw"]["overall"]["measures"]
    assert systems["plain"]["cost"]["calls"] == 0 and systems["plain_answer"]["cost"]["calls"] == 2
    answers = systems["pipeline"]["answers"]
    assert (answers["questions"], answers["unknown"], answers["em"]) == (6, 1, 0)
    assert answers["holds"] == pytest.approx(1 / 6)  # Peru; no answer contains "Lima and coins"
    with (output / "queries.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 7 * (1 + len(STEPS))
    assert {row["gold"] for row in rows if row["query_id"] == "s-Cuba"} == {""}
    assert (output / "report.html").stat().st_size > 50_000
    report = (output / "report.md").read_text()
    assert "## Steps of the pipeline" in report and "## Confidence of pipeline" in report
    for picture in ("quality_against_cost", "reliability"):
        assert (output / "plots" / f"{picture}.png").read_bytes().startswith(b"\x89PNG")


def test_adds_steps_and_runs_none_twice(run, capsys):
    output = run(pipeline=["plain", "multi_hop"])
    asked = len(run.model.asked)
    assert outcomes(output) == {"plain": 7, "multi_hop": 7}
    run(pipeline=["multi_hop", "references"], baseline="multi_hop")
    assert outcomes(output) == {"plain": 7, "multi_hop": 7, "references": 7}
    assert len(run.model.asked) == asked
    assert "difference to multi_hop" in capsys.readouterr().out


def test_another_budget_is_measured_anew(run):
    run(pipeline=["multi_hop"])
    asked = len(run.model.asked)
    run(pipeline=["multi_hop"], max_model_calls=5)
    assert len(run.model.asked) == 2 * asked


@pytest.mark.slow
def test_the_pipeline_starts_with_the_policy(run, tmp_path):
    full_model(tmp_path, feedback_results=2, max_new_tokens=4)
    output = run(pipeline=["plain", "pipeline"], reformulator=f"policy={tmp_path / 'model'}", sample=3)
    [policy, whole] = [results(output, name) for name in ("policy", "pipeline")]
    assert len(policy) == len(whole) == 3
    assert all(row["reformulation"]["tokens"] for row in policy)
    assert all(len(row["reformulation"]["query"]["feedback"]) == 2 for row in policy)
    written = {row["reformulation"]["completion"] for row in policy}
    assert all(written & set(row["outcome"]["replies"]) for row in whole)


def test_a_sample_is_drawn_among_the_queries_that_can_be_measured(run):
    ids = []
    for seed in range(8):
        output = run(pipeline=["plain"], sample=2, seed=seed)
        ids.append([row["reformulation"]["query"]["id"] for row in results(output, "raw")])
    assert all(len(drawn) == 2 and "none" not in drawn for drawn in ids)
    assert len({tuple(drawn) for drawn in ids}) > 1
    run(sample=2, seed=0)
    assert [row["reformulation"]["query"]["id"] for row in results(output, "raw")] == ids[0]


@pytest.mark.parametrize(
    "changed",
    [
        {"max_model_calls": 1},
        {"sample": 0},
        {"pipeline": ["plain", "magic"]},
        {"pipeline": ["plain", "plain"]},
        {"pipeline": ["plain"], "reformulator": "plain=trained:demo"},
        {"baseline": "references"},
    ],
)
def test_wrong_settings_are_refused(run, capsys, changed):
    with pytest.raises(SystemExit) as refused:
        run(**changed)
    assert refused.value.code == 2
    assert "error: " in capsys.readouterr().err


def test_a_step_needs_a_model(script, world, tmp_path):
    config = script.EvaluateConfig(
        str(world / "data"), "dev", [str(world / "index")], str(tmp_path / "out"), pipeline=["plain", "multi_hop"]
    )
    with pytest.raises(ConfigError):
        script.check(config)
    config.pipeline = ["plain", "references"]
    script.check(config)


def test_a_step_needs_an_index_that_searches_everything(script, world, tmp_path):
    index = f"both={world / 'index'}+{world / 'data'}@original"
    config = script.EvaluateConfig(str(world / "data"), "dev", [index], str(tmp_path / "out"))
    script.check(config)
    config.pipeline = ["plain"]
    with pytest.raises(ConfigError):
        script.check(config)


@pytest.mark.slow
def test_the_embedded_model(script, world, tmp_path):
    """Three questions with the real model at the same time."""
    shown = arguments(
        world, tmp_path / "out", model="embedded:smollm2", sample=3, concurrency=3, max_new_tokens=16,
        pipeline="pipeline",
    )  # fmt: skip
    command.run(script.main, script.make_parser(), shown)
    rows = [row["outcome"] for row in results(tmp_path / "out", "pipeline")]
    assert len(rows) == 3
    assert all(row["errors"] == [] for row in rows)
    assert all(row["calls"] >= 2 and row["tokens"] for row in rows)
    assert all(row["label"] in ("High", "Medium", "Low", "Very Low") for row in rows)
