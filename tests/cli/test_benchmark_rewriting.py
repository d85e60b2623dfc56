"""The benchmark of short completions against reasoning."""

from __future__ import annotations

import pytest
from shared import load_script
from test_entry_points import ROOT

from acqo_rl.cli import command

pytestmark = pytest.mark.slow


def test_the_rewriter_that_reasons_writes_as_many_tokens_as_it_is_told(capsys):
    script = load_script(ROOT / "benchmarks" / "rewriting.py", "benchmark_rewriting")
    arguments = ["--queries", "2", "--batch_size", "2", "--reasoning_tokens", "20"]
    script.main(*command.parse(script.make_parser(), arguments))
    _, _, *rows = capsys.readouterr().out.splitlines()
    cells = [row.strip("| ").split(" | ") for row in rows]
    assert [row[0] for row in cells] == ["1", "2"]
    for _, short, reasoning, *seconds, ratio in cells:
        assert (float(short) > 0, reasoning) == (True, "20")
        assert float(ratio) == pytest.approx(float(seconds[1]) / float(seconds[0]), rel=0.1)
