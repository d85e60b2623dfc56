"""The benchmark of shapes of conversations: every shape gives the same prompts and results."""

from __future__ import annotations

from shared import load_script
from test_entry_points import ROOT

from acqo_rl.cli import command, index


def test_every_shape_gives_the_same_prompts_and_results(tmp_path, capsys):
    script = load_script(ROOT / "benchmarks" / "conversation_shapes.py", "benchmark_conversation_shapes")
    data, words = str(ROOT / "docs" / "example"), str(tmp_path / "bm25")
    index.main(*command.parse(index.make_parser(), ["--data", data, "--kind", "bm25", "--output", words]))
    arguments = ["--data", data, "--split", "test", "--index", words, "--output", str(tmp_path / "out")]
    script.main(*command.parse(script.make_parser(), arguments))
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    shapes = rows[-len(script.SHAPES) :]
    assert [row[0] for row in shapes] == list(script.SHAPES)
    assert {tuple(row[1:]) for row in shapes} == {tuple(shapes[0][1:])}
    assert shapes[0][1] == "18 of 18"
    raw, rules = map(float, shapes[0][2:])
    assert 0 < raw < rules < 1
