"""acqo everyday prints one row a kind of question."""

from __future__ import annotations

import subprocess

from shared import ACQO

SCRIPT = "everyday"


def test_the_raw_query_is_right_where_a_question_should_pass():
    out = subprocess.run([*ACQO, SCRIPT], capture_output=True, text=True, check=True).stdout
    rows = {cells[1]: cells[2:5] for line in out.splitlines() if (cells := [c.strip() for c in line.split("|")])[1:]}
    assert rows["kind"] == ["questions", "raw", "rules"]
    assert rows["all"][:2] == [rows["all"][0], rows["pass"][0]]
    assert int(rows["all"][2]) > int(rows["all"][1])
