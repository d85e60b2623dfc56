"""benchmarks/service.py on a policy of random weights; how fast it is, is not tested."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from server_process import ROOT
from tiny_policy import full_model

from acqo_rl.data.beir import write_beir
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.types import Document, Query

PLACES = {"Peru": "Lima", "Chad": "Ndjamena", "Norway": "Oslo", "Japan": "Tokyo"}


@pytest.mark.slow
def test_nothing_is_lost_or_mixed_up(tmp_path):
    documents = [Document(place, place, f"{city} is the capital of {place}.") for place, city in PLACES.items()]
    queries = [Query(place, f"What is the capital of {place}?") for place in PLACES]
    write_beir(tmp_path, documents, queries, {"dev": {place: {place: 1} for place in PLACES}})
    build_bm25_index(tmp_path / "index", documents)
    policy = full_model(tmp_path, feedback_results=2, max_new_tokens=4)
    settings = ("--collection", f"world={tmp_path},{tmp_path}/index", "--strategy", f"policy={policy}")
    size = ("--clients", "1", "4", "--requests", "9", "--turns", "2")
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "service.py"), *settings, *size],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    machine, _, *table = done.stdout.splitlines()
    assert "of " in machine and "load before the run" in machine
    rows = [re.split(r" *\| *", line.strip("| ")) for line in table[2:]]
    assert [row[:3] for row in rows] == [["auto", batching, clients] for clients in "14" for batching in ("off", "on")]
    assert all(row[9:] == ["0", "0", "0", "0", "9"] for row in rows)
    assert all(float(cell) > 0 for row in rows for cell in row[3:9])
