"""The benchmark runs all cases on one batch and compares them; how fast they are is not tested."""

import re
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "grpo.py"


def test_each_case_and_its_ratios(tiny_model):
    settings = f"--model {tiny_model} --prompt_tokens 20 --completions 8 --completion_tokens 4 --steps 2"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *settings.split()], capture_output=True, text=True, timeout=300, check=True
    )
    rows = re.findall(r"^\| 20 \| ([\w -]+) \|.*\| (\d+\.\d\d) \| \d+\.\d\d \|$", done.stdout, re.M)
    assert [case for case, _ in rows] == [
        "plain TRL",
        "each prompt once in generation",
        "each prompt once in log-probabilities",
        "each prompt once in both",
    ]
    assert rows[0][1] == "1.00"
