"""The benchmark of engines, with a tiny policy of random weights."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_policy import adapter_model

from acqo_rl.data.beir import read_corpus
from acqo_rl.retrieval.build import build_bm25_index

ROOT = Path(__file__).parents[2]


def run(*arguments):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "benchmarks" / "serving_engines.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.slow
def test_one_row_per_engine_and_the_reason_of_one_that_fails(tmp_path):
    data = ROOT / "docs" / "example"
    build_bm25_index(tmp_path / "index", list(read_corpus(data).values()))
    policy = adapter_model(tmp_path, max_new_tokens=8, feedback_results=1)
    done = run("--data", data, "--split", "test", "--index", tmp_path / "index", "--policy", policy, "--queries", 2,
               "--batches", 3, "--engines", "transformers float32", "CTranslate2 int8")  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[4:]]
    assert [row[0] for row in rows] == ["transformers float32", "CTranslate2 int8"]
    assert rows[0][-1] == "100%"
    assert all(float(cell) >= 0 for cell in rows[0][1:-1])


def test_unknown_engines_are_named(tmp_path):
    done = run("--data", tmp_path, "--index", tmp_path, "--engines", "abacus")
    assert done.returncode == 2
    assert "abacus" in done.stderr
