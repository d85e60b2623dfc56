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
    script.main(command.parse(script.main, arguments))
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    measured = rows[2:]
    assert [row[:2] for row in measured] == [[name, size] for size in ("1", "2") for name in ("policy", "reasoning")]
    for policy, reasoning in (measured[:2], measured[2:]):
        assert float(policy[2]) > 0 and float(reasoning[2]) == 20
        assert float(reasoning[4]) == pytest.approx(float(reasoning[3]) / float(policy[3]), rel=0.1)
