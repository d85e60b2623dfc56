"""acqo reproduce: results are computed in order, and their figures are checked or recorded."""

import json
import re

import pytest

from acqo_rl.cli import main, reproduce
from acqo_rl.data.beir import write_beir
from acqo_rl.errors import AcqoError, ConfigError, DataError
from acqo_rl.types import Document, Query

LISTED = {
    "index": {"command": "a"},
    "warm": {"command": "b", "needs": ["index"]},
    "other": {"command": "c"},
    "final": {"command": "d", "needs": ["warm"]},
}


@pytest.mark.parametrize(
    ("names", "chain"),
    [
        (["final", "warm"], ["index", "warm", "final"]),
        (["other"], ["other"]),
        (["all"], list(LISTED)),
        (["finel"], r"finel.*mean final\?"),
    ],
)
def test_needs_come_first_and_once(names, chain):
    results = {name: reproduce.Result(**entry) for name, entry in LISTED.items()}
    if isinstance(chain, list):
        assert reproduce.order(names, results) == chain
    else:
        with pytest.raises(ConfigError, match=chain):
            reproduce.order(names, results)


SUMMARY = {
    "settings": {"kinds": "data set"},
    "systems": [
        {
            "name": "raw",
            "overall": {
                "measures": {"nDCG@10": 0.5, "R@10": 0.25},
                "quantities": {"texts": 1.0, "tokens": 0.0, "calls": 0.0},
            },
            "by_kind": {},
        },
        {
            "name": "policy",
            "overall": {
                "measures": {"nDCG@10": 0.61239, "R@10": 0.5},
                "quantities": {"texts": 1.5, "tokens": 9.0, "calls": 1.0},
            },
            "by_kind": {"simple": {"measures": {"nDCG@10": 0.7, "R@10": 0.5}}},
        },
    ],
    "comparisons": [{"system": "policy", "differences": {"nDCG@10": {"mean": 0.1124, "low": 0.05, "high": 0.2}}}],
}
FIGURES = {
    "raw": {"nDCG@10": 0.5, "R@10": 0.25, "searches": 1.0, "tokens": 0.0, "calls": 0.0},
    "policy": {
        "nDCG@10": 0.6124,
        "R@10": 0.5,
        "searches": 1.5,
        "tokens": 9.0,
        "calls": 1.0,
        "nDCG@10, simple": 0.7,
        "nDCG@10, difference": [0.1124, 0.05, 0.2],
    },
}


def test_the_figures_of_an_evaluation_are_measures_costs_and_differences(tmp_path):
    file = tmp_path / "summary.json"
    file.write_text(json.dumps(SUMMARY))
    assert reproduce.figures_of(file) == FIGURES
    file.write_text(json.dumps(SUMMARY | {"settings": {"kinds": "rules"}}))
    assert "nDCG@10, simple" not in reproduce.figures_of(file)["policy"]
    file.write_text('{"settings": {}, "systems": [{}], "comparisons": []}')
    with pytest.raises(DataError, match=re.escape(str(file))):
        reproduce.figures_of(file)


def test_a_difference_is_compared_by_its_mean_and_a_missing_figure_does_not_hold():
    found = {"policy": {"nDCG@10, difference": [0.12, -1.0, 1.0]}}
    published = {"policy": {"nDCG@10, difference": [0.11, 0.05, 0.2], "R@10": 0.5}}
    difference, missing = reproduce.compare("r", published, found, 0.01)  # inclusive
    assert difference[2:] == ("0.11", "0.12", "0.01", "yes")
    assert missing[2:] == ("0.5", "-", "0.01", "NO")
    assert reproduce.compare("r", published, found, 0.009)[0][-1] == "NO"
    assert reproduce.compare("r", found, published, 0.009)[0][-1] == "NO"  # a lower figure


def test_a_command_that_fails_is_reported():
    with pytest.raises(AcqoError, match=r"1/1 bad.*3"):
        reproduce.run("1/1 bad", "python -c 'raise SystemExit(3)'", {})


def test_missing_data_is_reported_with_its_licence_before_anything_runs(tmp_path):
    file = tmp_path / "results.yaml"
    file.write_text("data_sets: {secret: Secrets (CC BY 4.0)}\nresults: {bad: {command: 'python {secret}'}}\n")
    config = reproduce.ReproduceConfig(["bad"], data=str(tmp_path / "data"), results=str(file))
    with pytest.raises(DataError, match=r"data/secret .*Secrets \(CC BY 4.0\)"):
        reproduce.main(config)


REAL = """
data_sets: {tiny: "four sentences (public domain)"}
results:
  index:
    command: acqo index --data {tiny} --output {work}/index --kind bm25
  raw:
    needs: [index]
    command: acqo evaluate --data {tiny} --split test --index {work}/index --reformulator raw rules
      --measures nDCG@10 AllGold@10 --output {work}/evaluation
    file: "{work}/evaluation/summary.json"
    tolerance: 0.0001
"""


def test_real_commands_are_replayed_and_resume(tmp_path, monkeypatch, capsys):
    """One query finds its only document, the other one of two: nDCG is 1 and 1 / (1 + 1 / log2(3)) = 0.6131."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduce, "run_program", lambda _, words: main(words[words.index("acqo_rl.cli") + 1 :]))
    documents = [Document("1", "", "lima peru"), Document("2", "", "ndjamena chad"), Document("3", "", "franc")]
    queries = [Query("a", "lima"), Query("b", "ndjamena")]
    write_beir("tiny", documents, queries, {"test": {"a": {"1": 1}, "b": {"2": 1, "3": 1}}})
    (tmp_path / "results.yaml").write_text(REAL)

    def replay(*words):
        main(["reproduce", *words, "--results", "results.yaml", "--data", ".", "--work", "work"])
        return capsys.readouterr().out

    replay("raw", "--record")
    file = tmp_path / "figures.json"
    figures = json.loads(file.read_text())["raw"]
    assert figures["raw"] == {"nDCG@10": 0.8066, "AllGold@10": 0.5, "searches": 1.0, "tokens": 0.0, "calls": 0.0}
    assert figures["rules"]["nDCG@10, difference"] == [0.0, 0.0, 0.0]
    again = replay("raw")
    assert "already exists" in again and "12 of 12 figures hold." in again
    file.write_text(file.read_text().replace("0.8066", "0.9"))
    with pytest.raises(SystemExit):
        replay("raw")
    wrong = capsys.readouterr().out
    assert wrong.count(" NO |") == 2 and "10 of 12 figures hold." in wrong
