"""The files of a study and its report."""

import json
import re
from dataclasses import replace

import pytest
from by_hand import evaluation

from acqo_rl.conversations import read_history
from acqo_rl.evaluation.report import answer_of, write_report
from acqo_rl.evaluation.summary import Study
from acqo_rl.evaluation.systems import System
from acqo_rl.evaluation.tables import aligned
from acqo_rl.measures import MEASURES
from acqo_rl.types import Snippet

EVIL = "<script>alert(1)</script> ![x](http://example.org/x.png) `| $a$ {{ 7*7 }}\n# no heading \x07\u2028 end"


def study_of(*evaluations):
    return Study({System(e.name, "words", "rsf"): e for e in evaluations}, {}, evaluations[0].name, MEASURES)


def test_report_of_several(tmp_path, raw, good, bad):
    """It replaces an earlier one."""
    (tmp_path / "queries.jsonl").write_text("old")
    answer, tables = write_report(tmp_path, study_of(raw, good, bad), {"data": "../x", "limit": None})
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["systems"][0]["overall"]["measures"]["nDCG@10"] == pytest.approx(raw.scores("nDCG@10").mean())
    assert [c["system"] for c in summary["comparisons"]] == ["good", "bad"]
    assert (summary["baseline"], summary["settings"]["data"]) == ("raw", "../x")
    assert summary["table"] == aligned(tables[0])
    rows = [json.loads(line) for line in (tmp_path / "queries.jsonl").read_text().splitlines()]
    assert [(row["system"], row["measures"]["nDCG@10"]) for row in rows if row["system"] == "good"] == [
        ("good", result.measures["nDCG@10"]) for result in good.results
    ]
    page = (tmp_path / "report.html").read_text()
    parts = (answer, ">Results<", ">Cost<", ">good: biggest", ">Settings<")
    assert all(part in page for part in parts)


def test_the_answer_compares_the_best_system_with_the_baseline():
    """Gains of a half on twenty queries at a further search; on three queries the gain may be chance."""
    raw = evaluation("raw", [0.25] * 20, ms=(0.0, 10.0))
    policy = evaluation("policy", [0.75] * 20, searches=2, ms=(390.0, 10.0))
    worse = evaluation("worse", [0.1] * 20)
    study = Study({System(e.name, "i", "rsf"): e for e in (raw, policy, worse)}, {}, "raw", ["nDCG@10"])
    answer = answer_of(study)
    for part in ("policy has nDCG@10 0.750 against 0.250 of raw", "+0.500 [+0.500, +0.500]", "2.0 searches", "0.4 s",
                 "20 queries"):  # fmt: skip
        assert part in answer
    assert "chance" not in answer
    few = {system: replace(e, results=e.results[:3]) for system, e in study.evaluations.items()}
    assert "chance" in answer_of(replace(study, evaluations=few))
    assert answer_of(replace(study, evaluations={System("raw", "i", "rsf"): raw})).startswith("raw has nDCG@10 0.250")


TAGS = re.compile("html|head|meta|title|style|body|h[12]|p|table|thead|tbody|t[rhd]")


def test_nothing_in_the_data_becomes_part_of_the_page(tmp_path, raw, good):
    """Every text was written by somebody who wants to change the page."""

    def spoil(result):
        made = result.reformulation
        subs = tuple(replace(sub, text=f"{EVIL} {sub.text}") for sub in made.sub_queries)
        query = replace(made.query, text=EVIL * 100, history=read_history((EVIL,)), feedback=(Snippet(EVIL, EVIL),))
        made = replace(made, query=query, sub_queries=subs, completion=EVIL, problem=EVIL)
        return replace(result, reformulation=made, kind=EVIL[:60], gold_ranks={EVIL: 3})

    before, evil = (replace(e, results=tuple(map(spoil, e.results))) for e in (raw, good))
    write_report(tmp_path, study_of(before, replace(evil, name="evil")), {"data": EVIL})
    page = (tmp_path / "report.html").read_text()
    assert [tag for tag in re.findall(r"<(\w+)", page) if not TAGS.fullmatch(tag)] == []
    assert "{{ 7*7 }}" in page
    assert "<h1>no heading" not in page
    assert max(len(line) for line in page.splitlines()) < 5000
