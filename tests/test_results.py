"""Published results: commands are accepted, tables show the recorded figures, pictures are there."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from test_entry_points import ROOT, accept

from acqo_rl.cli import command, module_of

PICTURE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)|<img[^>]*\ssrc=\"([^\"]+)\"")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.fixture(scope="module")
def reproduce():
    return module_of("reproduce")


@pytest.fixture(scope="module")
def listed(reproduce):
    config = command.parse(reproduce.main, ["--config", str(ROOT / "configs" / "results.yaml")])
    return config.data_sets, config.results


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


PAGE = """Before.

<!-- table
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
"""
FIGURES = {
    "set": {
        "raw": {"nDCG@10": 0.5, "searches": 1.0},
        "policy": {"nDCG@10": 0.6124, "searches": 1.25, "nDCG@10, difference": [0.1124, -0.05, 0.2]},
    }
}


@pytest.fixture
def make_results(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("make_results")


def test_tables_and_sentences_are_filled_with_figures(make_results):
    made = make_results.filled(PAGE, FIGURES)
    assert "| raw query | .500 | 1.00 |  |\n| policy | .612 | 1.25 | +.112 [-.050, +.200] |" in made
    assert "The policy gains +.112 [-.050, +.200].\n<!-- end -->" in made
    assert "old" not in made
    assert make_results.filled(made, FIGURES) == made
    with pytest.raises(SystemExit):
        make_results.filled(PAGE.replace("{set/policy/", "{set/rules/"), FIGURES)


PLOT = """<!-- plot
file: gains.svg
caption: AP & more
rows:
  one <system>: {result: set, system: clear, measure: AP@10}
  another: {result: set, system: open, measure: AP@10}
  a third: {result: set, system: worse, measure: AP@10}
-->
old
<!-- end -->
"""


def test_a_plot_has_one_interval_per_row_coloured_by_its_sign(make_results):
    differences = {"clear": [0.2, 0.1, 0.3], "open": [0.05, -0.05, 0.15], "worse": [-0.2, -0.3, -0.1]}
    figures = {"set": {system: {"AP@10, difference": values} for system, values in differences.items()}}
    assert "![AP & more](../figures/results/gains.svg)" in make_results.filled(PLOT, figures)
    drawing = ElementTree.fromstring(make_results.plots(PLOT, figures)["gains.svg"])
    name = "{http://www.w3.org/2000/svg}"
    circles = drawing.findall(f"{name}circle")
    assert [circle.get("class") for circle in circles] == ["gain", "unclear", "loss"]
    bars = [line for line in drawing.findall(f"{name}line") if line.get("stroke-width")]
    middles = [(float(bar.get("x1")) + float(bar.get("x2"))) / 2 for bar in bars]
    assert middles == pytest.approx([float(circle.get("cx")) for circle in circles], abs=0.1)
    assert middles[0] > middles[1] > middles[2]
    assert "one <system>" in [text.text for text in drawing.findall(f"{name}text")]
