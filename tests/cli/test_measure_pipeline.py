"""acqo measure-pipeline as a user runs it."""

from __future__ import annotations

import csv
import json

import pytest
from pipeline_stand_ins import ModelByRole
from shared import PLACES
from tiny_policy import full_model

from acqo_rl.cli import command, module_of
from acqo_rl.data.beir import read_corpus, write_beir
from acqo_rl.evaluation.pipeline_systems import SYSTEMS
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.types import Document, Query

SCRIPT = "measure-pipeline"
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
    monkeypatch.setattr(script, "load_model", lambda config, batcher: model)

    def run(**changed):
        command.run(script.main, script.make_parser(), arguments(world, tmp_path / "out", **changed))
        return tmp_path / "out"

    run.model = model
    return run


def lines(output):
    return (output / "outcomes.jsonl").read_text().splitlines()


@pytest.mark.slow
def test_everything_that_is_written(run, capsys):
    output = run(answers="comprehensive", concurrency=4)
    shown = capsys.readouterr().out
    assert "| pipeline " in shown and "Confidence of pipeline" in shown
    content = json.loads((output / "pipeline.json").read_text())
    systems = {system["system"]: system for system in content["systems"]}
    assert list(systems) == [name for name in SYSTEMS if name != "policy"]
    assert {system["queries"] for system in systems.values()} == {7}
    assert systems["plain"]["calls"] == 0 and systems["plain_answer"]["calls"] == 2
    answers = systems["pipeline"]["answers"]
    assert (answers["questions"], answers["unknown"], answers["em"]) == (6, 1, 0)
    assert answers["holds"] == pytest.approx(1 / 6)  # Peru; "Lima and coins" stands in no answer
    with (output / "queries.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 7 * (len(SYSTEMS) - 1)
    assert {row["gold"] for row in rows if row["query_id"] == "s-Cuba"} == {""}
    with (output / "systems.csv").open() as file:
        assert [row["system"] for row in csv.DictReader(file)] == list(systems)
    assert (output / "report.html").stat().st_size > 50_000
    assert "## Difference to plain" in (output / "report.md").read_text()
    for picture in ("quality_against_milliseconds", "quality_against_model_calls", "reliability"):
        assert (output / "plots" / f"{picture}.png").read_bytes().startswith(b"\x89PNG")


def test_goes_on_where_it_was_killed_and_adds_systems(run, capsys):
    output = run(systems=["plain", "multi_hop"])
    whole, asked = lines(output), len(run.model.asked)
    (output / "outcomes.jsonl").write_text("\n".join(whole[:9]) + "\n" + whole[9][:20])
    run(systems=["plain", "multi_hop"])
    assert len(lines(output)) == len(whole) == 14
    assert lines(output)[:9] == whole[:9]
    assert len(run.model.asked) < 2 * asked
    before = len(run.model.asked)
    run(systems=["plain", "multi_hop", "references"])
    assert (len(lines(output)), len(run.model.asked)) == (21, before)
    assert "| references " in capsys.readouterr().out


@pytest.mark.slow
def test_a_policy_with_its_own_feedback_settings(run, script, tmp_path, monkeypatch):
    full_model(tmp_path, feedback_results=2, max_new_tokens=4)
    monkeypatch.setattr(script, "load_model", None)  # nobody asks it
    output = run(policy=tmp_path / "model", systems=["plain", "policy"], limit=3)
    policy = [json.loads(line) for line in lines(output) if '"policy"' in line]
    assert len(policy) == 3
    assert all(row["calls"] == 1 and row["tokens"] for row in policy)
    assert all(row["failures"] for row in policy)  # random weights write no grammar
    assert not (output / "plots" / "reliability.png").exists()


def test_other_settings_are_refused(run, capsys):
    run(systems=["plain"])
    with pytest.raises(SystemExit):
        run(systems=["plain"], max_model_calls=5)
    assert "max_model_calls: 20 -> 5" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"split": "tset"}, "splits are: dev"),
        ({"index": "nowhere"}, "manifest.json"),
        ({"limit": 0}, "limit is 0"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"max_model_calls": 1}, "at least 2"),
        ({"fusion": "magic"}, "rsf, rrf"),
        ({"systems": ["plain", "magic"]}, "no system 'magic'"),
        ({"systems": ["plain", "policy"]}, "give --policy FOLDER"),
    ],
)
def test_errors_say_what_to_do(run, capsys, changed, message):
    with pytest.raises(SystemExit) as refused:
        run(**changed)
    assert refused.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_the_embedded_model(script, world, tmp_path, capsys):
    """Three questions with the real model at the same time."""
    shown = arguments(
        world, tmp_path / "out", model="embedded:smollm2", limit=3, concurrency=3, max_new_tokens=16,
        systems=["plain", "pipeline"],
    )  # fmt: skip
    command.run(script.main, script.make_parser(), shown)
    rows = [json.loads(line) for line in lines(tmp_path / "out")]
    assert len(rows) == 6
    assert all(row["errors"] == [] for row in rows)
    answers = [row for row in rows if row["system"] == "pipeline"]
    assert all(row["calls"] >= 2 and row["tokens"] for row in answers)
    assert all(row["label"] in ("High", "Medium", "Low", "Very Low") for row in answers)
    assert "Confidence of pipeline" in capsys.readouterr().out
