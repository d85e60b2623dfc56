"""Published results: commands are accepted, tables show the recorded figures, pictures are there."""

import json
import re
import subprocess
import sys

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
        if named and not result.command.startswith("acqo headroom"):
            assert {system.partition(" / ")[0].partition(" ")[0] for system in systems} == {
                word.partition("=")[0] for word in named
            }, name


def test_the_tables_of_the_pages_are_up_to_date():
    made = subprocess.run(
        [sys.executable, "docs/make_results.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
