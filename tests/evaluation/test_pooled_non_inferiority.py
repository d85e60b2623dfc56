"""The test over several evaluations pools their queries."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from by_hand import evaluation

from acqo_rl.evaluation.files import write_files
from acqo_rl.evaluation.study import Study
from acqo_rl.evaluation.systems import System

ROOT = Path(__file__).parents[2]


def evaluated(folder, values):
    """The output folder of an evaluation with the measure of each query: reformulator -> values."""
    systems = {System(name, "i", "rsf"): evaluation(name, seen) for name, seen in values.items()}
    write_files(folder, Study(systems, {}, "old", ["nDCG@10"]), [], {})
    return folder


def run(*folders):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = str(ROOT / "benchmarks" / "pooled_non_inferiority.py")
    arguments = ["--evaluations", *map(str, folders), "--baseline", "old", "--system", "new"]
    return subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, env=environment)


def test_the_last_row_is_over_all_queries(tmp_path):
    worse = evaluated(tmp_path / "worse", {"old": [0.5, 0.5], "new": [0.4, 0.4]})
    better = evaluated(tmp_path / "better", {"old": [0.5] * 8, "new": [0.6] * 8})
    done = run(worse, better)
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]
    assert [row[:3] for row in rows] == [
        ["worse", "2", "-0.1000"],
        ["better", "8", "+0.1000"],
        ["all", "10", "+0.0600"],
    ]
    assert [row[4] for row in rows] == ["no", "yes", "yes"]


def test_other_queries_are_refused(tmp_path):
    folder = evaluated(tmp_path / "one", {"old": [0.5, 0.5]})
    assert run(folder).returncode == 2
    (folder / "queries.jsonl").write_text("")
    assert run(folder).returncode == 2
