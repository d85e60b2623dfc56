"""acqo reproduce: what a result needs comes first, and a figure holds or it does not."""

from __future__ import annotations

import json
import os
import subprocess
from argparse import Namespace

import pytest
from shared import ACQO

from acqo_rl.cli import module_of
from acqo_rl.data.beir import write_beir
from acqo_rl.errors import AcqoError, ConfigError, DataError
from acqo_rl.types import Document, Query

SCRIPT = "reproduce"


@pytest.fixture(scope="module")
def reproduce():
    return module_of(SCRIPT)


LISTED = {
    "index": {},
    "warm": {"needs": ["index"]},
    "other": {},
    "final": {"needs": ["warm"]},
}


class TestOrder:
    def order(self, reproduce, *names):
        return reproduce.order(names, reproduce.read_results(LISTED))

    def test_needs_come_first_and_once(self, reproduce):
        assert self.order(reproduce, "final", "warm") == ["index", "warm", "final"]
        assert self.order(reproduce, "other") == ["other"]
        assert self.order(reproduce, "all") == list(LISTED)

    def test_unknown_names_are_refused(self, reproduce):
        with pytest.raises(ConfigError, match=r"no result nothing\. --list names all"):
            self.order(reproduce, "nothing")
        with pytest.raises(ConfigError, match="no result finel; was final, index meant"):
            self.order(reproduce, "finel")
        with pytest.raises(ConfigError, match="Name what to replay, or all: --list names the 4 results"):
            self.order(reproduce)

    def test_entries_that_cannot_be_read_are_refused(self, reproduce):
        for listed, message in (
            ({"a": {"needs": ["b"]}, "b": {}}, "'a' needs b: write what it needs above it"),
            ({"a": {"comand": "x"}}, "'a' wants command"),
            ({"a": "python x.py"}, "'a' wants command"),
            ({"a": {"figures": {"nDCG@10": "x"}}}, r"'a' wants .* figures \(numbers\)"),
        ):
            with pytest.raises(ConfigError, match=message):
                reproduce.read_results(listed)


class TestValues:
    def test_logs_are_read_by_step_and_comparisons_by_system(self, reproduce):
        log = [{"step": 0, "eval": 0.5}, {"step": 20, "loss": 1}, {"step": 20, "eval": 0.75}]
        assert reproduce.value_at(log, ("20", "eval")) == 0.75
        assert reproduce.value_at(log, ("20", "loss")) == 1
        content = {"comparisons": [{"system": "a", "helped": 0.25}, {"system": "b", "helped": 0.5}]}
        assert reproduce.value_at(content, ("comparisons", "b", "helped")) == 0.5
        assert (
            reproduce.value_at(
                [{"name": "a / dense / rsf", "cost": {"calls": 1}}], ("a / dense / rsf", "cost", "calls")
            )
            == 1
        )

    def test_what_is_not_there_is_none(self, reproduce):
        for keys in (("a",), ("b", "c"), ("b",), ("b", "c", "d"), ("e", "f")):
            assert reproduce.value_at({"b": {"c": "text"}, "e": [{"step": 1}]}, keys) is None

    def test_the_tolerance_is_inclusive(self, reproduce):
        def holds(got):
            return reproduce.Figure("r", "k", 0.5, 0.01, got).holds

        assert [holds(got) for got in (0.49, 0.51, 0.4899, 0.5101, None)] == [True, True, False, False, False]


MAKER = """
import json, sys
from pathlib import Path
file = Path(sys.argv[1])
file.parent.mkdir(parents=True, exist_ok=True)
file.write_text(json.dumps({"score": {"nDCG@10": float(sys.argv[2])}}))
"""


@pytest.fixture
def replay(reproduce, tmp_path):
    """Replays results that a program of the test makes."""
    (tmp_path / "make it.py").write_text(MAKER)

    def run(names, data_sets=None, **results):
        config = reproduce.ReproduceConfig(
            data=str(tmp_path / "data"), work=str(tmp_path / "work"), data_sets=data_sets or {}, results=results
        )
        reproduce.main(config, Namespace(names=names))

    run.make = f"python '{tmp_path / 'make it.py'}' {{work}}/"
    return run


def entry(replay, value, **more):
    return {
        "command": f"{replay.make}out.json {value}",
        "file": "{work}/out.json",
        "tolerance": 0.01,
        "figures": {"score": {"nDCG@10": 0.5}},
        **more,
    }


def test_a_figure_that_holds(replay, capsys):
    replay(["good"], good=entry(replay, 0.495))
    out = capsys.readouterr().out
    assert "== 1/1 good" in out
    assert " ".join(out.split()).endswith("| good | score.nDCG@10 | 0.5 | 0.495 | 0.01 | yes | 1 of 1 figures hold.")


def test_one_that_does_not_hold_or_is_missing_ends_with_status_1(replay, capsys):
    figures = {"score": {"nDCG@10": 0.5, "AP@10": 0.5}}
    with pytest.raises(SystemExit) as ended:
        replay(["all"], bad=entry(replay, 0.7, figures=figures))
    assert ended.value.code == 1
    out = capsys.readouterr().out
    assert out.count(" NO |") == 2
    assert "0 of 2 figures hold." in out


def test_only_named_results_are_compared_but_their_needs_are_made(replay, tmp_path, capsys):
    replay(["second"], first=entry(replay, 0.9), second={**entry(replay, 0), "command": "", "needs": ["first"],
           "figures": {"score": {"nDCG@10": 0.9}}})  # fmt: skip
    assert "1 of 1 figures hold." in capsys.readouterr().out


def test_a_command_that_fails_is_told(replay):
    with pytest.raises(AcqoError, match="1/1 bad ended with status 1"):
        replay(["bad"], bad=entry(replay, "nonsense"))
    with pytest.raises(DataError, match="does not hold the figures of 'bad'"):
        replay(["bad"], bad=entry(replay, 0.5, file="{work}/elsewhere.json"))


def test_missing_data_is_told_with_its_licence_before_anything_runs(replay, tmp_path):
    wanting = {"command": f"{replay.make}x.json 1 {{secret}}", "needs": ["good"]}
    with pytest.raises(DataError, match=r"data/secret is no BEIR folder.*Secrets \(CC BY 4.0\)"):
        replay(["bad"], {"secret": "Secrets (CC BY 4.0)"}, good=entry(replay, 0.5), bad=wanting)
    assert not (tmp_path / "work").exists()
    replay(["good"], {"secret": "Secrets (CC BY 4.0)"}, good=entry(replay, 0.5), bad=wanting)
    with pytest.raises(ConfigError, match=r"speak of \{secret\}"):
        replay(["bad"], {}, good=entry(replay, 0.5), bad=wanting)


REAL = """
data_sets: {tiny: "four sentences (public domain)"}
results:
  index:
    command: acqo index --data {tiny} --output {work}/index --kind bm25
  raw:
    needs: [index]
    command: acqo evaluate --data {tiny} --split test --index {work}/index --reformulator raw
      --measures nDCG@10 AllGold@10 --output {work}/evaluation
    file: "{work}/evaluation/summary.json"
    tolerance: 0.0001
    figures:
      reformulators: {raw: {overall: {measures: {nDCG@10: EXPECTED, AllGold@10: 0.5}}, searches: 1}}
"""


@pytest.mark.slow
def test_real_commands_are_replayed_and_go_on_where_they_were(tmp_path):
    """The first query finds its one document, the second one of two: nDCG 1 and 1 / (1 + 1 / log2(3)) = .6131."""
    documents = [Document("1", "", "lima peru"), Document("2", "", "ndjamena chad"), Document("3", "", "franc")]
    queries = [Query("a", "lima"), Query("b", "ndjamena")]
    qrels = {"test": {"a": {"1": 1}, "b": {"2": 1, "3": 1}}}
    write_beir(tmp_path / "tiny", documents, queries, qrels)
    (tmp_path / "results.yaml").write_text(REAL.replace("EXPECTED", "0.8066"))

    def replay(name):
        words = [name, "--config", "results.yaml", "--data", ".", "--work", "work"]
        return subprocess.run(
            [*ACQO, SCRIPT, *words], cwd=tmp_path, capture_output=True, text=True, timeout=600,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip

    first = replay("raw")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "3 of 3 figures hold." in first.stdout
    summary = tmp_path / "work" / "evaluation" / "summary.json"
    assert json.loads(summary.read_text())["reformulators"]["raw"]["overall"]["queries"] == 2
    again = replay("index")
    assert again.returncode == 0
    assert "was there already" in again.stdout
