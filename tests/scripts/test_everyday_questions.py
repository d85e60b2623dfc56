"""scripts/everyday_questions.py prints one row a kind of question."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "everyday_questions.py"


def test_the_raw_query_is_right_where_a_question_should_pass():
    out = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True).stdout
    rows = {cells[1]: cells[2:5] for line in out.splitlines() if (cells := [c.strip() for c in line.split("|")])[1:]}
    assert rows["kind"] == ["questions", "raw", "rules"]
    assert rows["all"][:2] == [rows["all"][0], rows["pass"][0]]
    assert int(rows["all"][2]) > int(rows["all"][1])
