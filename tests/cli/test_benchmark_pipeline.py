"""The benchmark runs its cases side by side; how fast they are is not tested."""

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "pipeline.py"


def test_one_line_a_case():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--queries", "3", "--retriever_ms", "0", "1"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    rows = re.findall(r"^\| (\d) \| ([^|]+) (?:\| -?\d+\.\d{3} ){3}\| (\d+\.\d\d) \|$", done.stdout, re.M)
    assert [case for wait, case, _ in rows if wait == "0"][:3] == [
        "ours, one call a retriever",
        "ours, a call and a time-out a sub-query",
        "asyncio.gather, no fusion",
    ]
    assert rows[0][2] == "1.00"
