"""The benchmarks run all their cases; how fast these are is not tested."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from test_entry_points import ROOT


def rows_of(name, settings, pattern):
    """The rows of a table that a benchmark prints."""
    words = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py"), *settings.split()]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
    return re.findall(pattern, done.stdout, re.M)


def test_grpo(tiny_model):
    settings = f"--model {tiny_model} --prompt_tokens 20 --completions 8 --completion_tokens 4 --steps 2"
    rows = rows_of("grpo", settings, r"^\| 20 \| ([\w -]+) \|.*\| (\d+\.\d\d) \| \d+\.\d\d \|$")
    assert [case for case, _ in rows] == [
        "plain TRL",
        "each prompt once in generation",
        "each prompt once in log-probabilities",
        "each prompt once in both",
    ]
    assert rows[0][1] == "1.00"


def test_pipeline():
    pattern = r"^\| (\d) \| ([^|]+) (?:\| -?\d+\.\d{3} ){3}\| (\d+\.\d\d) \|$"
    rows = rows_of("pipeline", "--queries 3 --retriever_ms 0 1", pattern)
    assert [case for wait, case, _ in rows if wait == "0"][:3] == [
        "ours, one call a retriever",
        "ours, a call and a time-out a sub-query",
        "asyncio.gather, no fusion",
    ]
    assert rows[0][2] == "1.00"


@pytest.mark.slow
def test_rewriting():
    """The rewriter that reasons writes as many tokens as it is told."""
    pattern = r"^\| (policy|reasoning) \| (\d) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$"
    measured = rows_of("rewriting", "--queries 2 --batch_size 2 --reasoning_tokens 20", pattern)
    assert [row[:2] for row in measured] == [(name, size) for size in "12" for name in ("policy", "reasoning")]
    for policy, reasoning in (measured[:2], measured[2:]):
        assert float(policy[2]) > 0 and float(reasoning[2]) == 20
        assert float(reasoning[4]) == pytest.approx(float(reasoning[3]) / float(policy[3]), rel=0.1)
