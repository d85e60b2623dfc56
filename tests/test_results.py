"""Published results: commands are accepted, tables show the recorded figures, pictures are there."""

import importlib
import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from test_entry_points import ROOT, accept

from acqo_rl.cli import module_of


@pytest.fixture(scope="module")
def listed():
    return module_of("reproduce").read_results(ROOT / "configs" / "results.yaml")


def test_every_command_and_config_is_accepted(listed, tmp_path):
    data_sets, results = listed
    places = {name: str(tmp_path / name) for name in ("work", *data_sets)}
    commands = [result.command.format(**places) for result in results.values() if result.command]
    assert commands
    for line in commands:
        accept(line, tmp_path)


def test_figures_are_of_listed_results_and_of_their_systems(listed):
    """A result that was taken out, or a system that is not evaluated any more, leaves no figures behind."""
    figures = json.loads((ROOT / "configs" / "figures.json").read_text())
    for name, systems in figures.items():
        result = listed[1][name]
        assert result.file, name
        assert result.tolerance > 0, name
        named = " ".join(re.findall(r"--(?:reformulator|pipeline) ([^-]+)", result.command)).split()
        if named:
            assert {system.partition(" / ")[0] for system in systems} == {word.partition("=")[0] for word in named}, (
                name
            )


def test_the_tables_of_the_pages_are_up_to_date():
    made = subprocess.run(
        [sys.executable, "docs/make_results.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr


PAGE = """<!-- table
rows:
  raw query: {system: raw}
  policy: {system: policy}
columns:
  nDCG@10: {result: set, figure: nDCG@10}
  searches: {result: set, figure: searches}
  difference: {result: set, measure: nDCG@10, figure: difference}
-->
old
<!-- end -->

<!-- text
The policy gains {set/policy/nDCG@10, difference}.
-->
old
<!-- end -->

<!-- plot
file: gains.svg
caption: AP & more
rows:
  one <system>: {result: set, system: policy, measure: nDCG@10}
  another: {result: set, system: better, measure: nDCG@10}
  a third: {result: set, system: worse, measure: nDCG@10}
-->
old
<!-- end -->
"""
FIGURES = {
    "set": {
        "raw": {"nDCG@10": 0.5, "searches": 1.0},
        "policy": {"nDCG@10": 0.6124, "searches": 1.25, "nDCG@10, difference": [0.1124, -0.05, 0.2]},
        "better": {"nDCG@10, difference": [0.2, 0.1, 0.3]},
        "worse": {"nDCG@10, difference": [-0.2, -0.3, -0.1]},
    }
}


def test_tables_sentences_and_plots_are_made_from_figures(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    make_results = importlib.import_module("make_results")
    made = make_results.filled(PAGE, FIGURES)
    assert "| raw query | .500 | 1.00 |  |\n| policy | .612 | 1.25 | +.112 [-.050, +.200] |" in made
    assert "The policy gains +.112 [-.050, +.200].\n<!-- end -->" in made
    assert "![AP & more](../figures/results/gains.svg)" in made
    assert "old" not in made
    assert make_results.filled(made, FIGURES) == made
    with pytest.raises(SystemExit):
        make_results.filled(PAGE.replace("{set/policy/", "{set/rules/"), FIGURES)
    circles = ElementTree.fromstring(make_results.plots(PAGE, FIGURES)["gains.svg"]).findall("{*}circle")
    assert [circle.get("class") for circle in circles] == ["unclear", "gain", "loss"]
    middle, right, left = (float(circle.get("cx")) for circle in circles)
    assert left < middle < right
