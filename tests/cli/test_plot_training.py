"""acqo plot."""

from __future__ import annotations

import json

import pytest

from acqo_rl.cli import command, module_of
from acqo_rl.errors import ConfigError
from acqo_rl.training.curriculum import Difficulty, save_difficulties


def plot(*arguments):
    module = module_of("plot")
    module.main(*command.parse(module.make_parser(), [str(a) for a in arguments]))


@pytest.fixture
def runs(tmp_path):
    for name in ("one/run", "two/run"):
        (tmp_path / name).mkdir(parents=True)
        rows = [{"reward": float(step), "loss": 0.0, "step": step} for step in range(1, 4)]
        (tmp_path / name / "log.json").write_text(json.dumps(rows))
    return tmp_path / "one" / "run", tmp_path / "two" / "run"


def test_figures_and_tables_are_written(runs, tmp_path, capsys):
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        save_difficulties([Difficulty("1", 1.0, 0.5, 2.0)], tmp_path / name / "difficulty.jsonl")
    scored = (tmp_path / "before", tmp_path / "after")
    output = tmp_path / "figures"
    plot("--run", *runs, "--difficulty", *scored, "--output", output)
    names = {"loss", "reward", "difficulty"}
    assert {path.name for path in output.iterdir()} == {f"{n}.{end}" for n in names for end in ("png", "csv")}
    assert capsys.readouterr().out.split() == [str(output / f"{n}.png") for n in ("loss", "reward", "difficulty")]
    table = (output / "reward.csv").read_text().splitlines()
    assert table[:2] == ["run,step,reward", "one/run,1,1"]
    assert len(table) == 7


def test_invalid_inputs_are_rejected(runs, tmp_path):
    for arguments, message in (
        ((), "Nothing to draw"),
        (("--run", tmp_path), r"log\.json"),
        (("--difficulty", tmp_path), r"difficulty\.jsonl"),
    ):
        with pytest.raises(ConfigError, match=message):
            plot("--output", tmp_path / "figures", *arguments)
