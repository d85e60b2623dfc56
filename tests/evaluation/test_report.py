"""The folder of evaluations and its report."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import ir_measures
import pytest

from acqo_rl.errors import ConfigError, DataError
from acqo_rl.evaluation.folder import EvaluationFolder
from acqo_rl.evaluation.plots import draw_plots
from acqo_rl.evaluation.report import write_report
from acqo_rl.evaluation.store import read_per_query, write_per_query, write_trec
from acqo_rl.measures import MEASURES, mean
from acqo_rl.types import Query, Ranking, Snippet

EVIL = "<script>alert(1)</script> ![x](http://example.org/x.png) `| $a$ {{ 7*7 }}\n# no heading \x07\u2028 end"


@pytest.fixture
def evil(good):
    """An evaluation whose every text was written by somebody who does not wish us well."""

    def spoil(result):
        made = result.reformulation
        subs = tuple(replace(sub, text=f"{EVIL} {sub.text}") for sub in made.sub_queries)
        query = replace(made.query, text=EVIL * 500, history=(EVIL,), feedback=(Snippet(EVIL, EVIL),))
        made = replace(made, query=query, sub_queries=subs, completion=EVIL, problem=EVIL)
        return replace(result, reformulation=made, kind=EVIL[:60], gold_ranks={EVIL: 3})

    return replace(good, results=tuple(spoil(result) for result in good.results))


def test_per_query_results_come_back_as_they_were(tmp_path, good, evil):
    for evaluation in (good, evil):
        write_per_query(tmp_path / "x.jsonl", evaluation)
        assert read_per_query(tmp_path / "x.jsonl", "good", evaluation.unmeasured) == evaluation
    lone_surrogate = replace(
        good.results[0], reformulation=replace(good.results[0].reformulation, query=Query("q", "\ud800"))
    )
    evaluation = replace(good, results=(lone_surrogate,))
    write_per_query(tmp_path / "x.jsonl", evaluation)
    assert read_per_query(tmp_path / "x.jsonl", "good", 1) == evaluation


def test_damaged_results_are_named(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"ranking": 1\n')
    with pytest.raises(DataError, match=re.escape(str(path))):
        read_per_query(path, "x", 0)


def test_trec_run_gives_the_same_measures_elsewhere(tmp_path, raw, world):
    _, qrels, _, _ = world
    path = tmp_path / "raw.trec"
    write_trec(path, raw)
    assert path.read_text().splitlines()[0] == "simple Q0 peru 1 3 raw"
    run = list(ir_measures.read_trec_run(str(path)))
    relevant = {query_id: qrels[query_id] for query_id in ("simple", "compound", "ambiguous")}
    got = ir_measures.calc_aggregate([ir_measures.parse_measure("nDCG@10")], relevant, run)
    assert next(iter(got.values())) == pytest.approx(raw.scores("nDCG@10").mean())


def test_trec_run_survives_white_space_in_ids(tmp_path, raw):
    spaced = replace(raw.results[0], ranking=Ranking(("a b\tc", "d"), (2.0, 1.0)))
    write_trec(tmp_path / "x.trec", replace(raw, results=(spaced,)))
    assert (tmp_path / "x.trec").read_text() == "simple Q0 a_b_c 1 2 raw\nsimple Q0 d 2 1 raw\n"


def test_folder_keeps_what_is_finished(tmp_path, raw, good):
    folder = EvaluationFolder(tmp_path / "new" / "folder", {"data": "x", "measures": MEASURES})
    assert folder.load("raw", {}) is None
    folder.save(raw, {})
    folder.save(good, {"model": "m"})
    again = EvaluationFolder(tmp_path / "new" / "folder", {"data": "x", "measures": MEASURES})
    assert again.load("raw", {}) == raw
    assert again.load("good", {"model": "m"}) == good
    assert again.load("bad", {}) is None


def test_folder_refuses_other_settings_another_model_and_strange_folders(tmp_path, good):
    folder = EvaluationFolder(tmp_path / "folder", {"data": "x", "fusion": "rsf"})
    folder.save(good, {"model": "m"})
    with pytest.raises(ConfigError, match=r"fusion: there 'rsf', wanted 'rrf'"):
        EvaluationFolder(tmp_path / "folder", {"data": "x", "fusion": "rrf"})
    with pytest.raises(ConfigError, match="another name"):
        folder.load("good", {"model": "other"})
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigError, match="holds no evaluation"):
        EvaluationFolder(tmp_path / "strange", {})
    (tmp_path / "folder" / "settings.json").write_text("{")
    with pytest.raises(ConfigError, match="damaged"):
        EvaluationFolder(tmp_path / "folder", {"data": "x", "fusion": "rsf"})


def test_folder_without_anything_finished_takes_other_settings(tmp_path, good):
    EvaluationFolder(tmp_path, {"index": "wrong"})
    EvaluationFolder(tmp_path, {"index": "right"}).save(good, {})
    assert EvaluationFolder(tmp_path, {"index": "right"}).load("good", {}) == good


def test_an_interrupted_save_is_not_finished(tmp_path, good, monkeypatch):
    settings = {"data": "x"}
    folder = EvaluationFolder(tmp_path, settings)
    monkeypatch.setattr(
        "acqo_rl.evaluation.folder.write_per_query", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        folder.save(good, {})
    assert EvaluationFolder(tmp_path, settings).load("good", {}) is None


def test_an_evaluation_in_which_calls_failed_is_made_again(tmp_path, good):
    failed = replace(good.results[0], reformulation=replace(good.results[0].reformulation, failed_calls=1))
    folder = EvaluationFolder(tmp_path, {})
    folder.save(replace(good, results=(failed, *good.results[1:])), {})
    assert folder.load("good", {}) is None
    folder.save(good, {})
    assert folder.load("good", {}) == good


def test_report_of_several(tmp_path, raw, good, bad):
    folder = EvaluationFolder(tmp_path, {"data": "x", "limit": None})
    for evaluation in (raw, good, bad):
        folder.save(evaluation, {})
    folder.report([raw, good, bad], MEASURES)
    summary = json.loads((tmp_path / "summary.json").read_text())
    expected = mean({"nDCG@10": {r.reformulation.query.id: r.measures["nDCG@10"] for r in raw.results}})["nDCG@10"]
    assert summary["reformulators"]["raw"]["overall"]["measures"]["nDCG@10"] == pytest.approx(expected)
    assert [c["system"] for c in summary["comparisons"]] == ["good", "bad"]
    markdown = (tmp_path / "report.md").read_text()
    for heading in (
        "Retrieval quality",
        "Difference to raw",
        "Every pair",
        "good: biggest gains",
        "bad: biggest losses",
    ):
        assert f"## {heading}\n" in markdown
    assert "rank of the relevant: `peru` 3 → 2, `chad-money` 2 → 1" in markdown
    for name in re.findall(r"\(plots/(.+?)\)", markdown):
        assert (tmp_path / "plots" / name).read_bytes().startswith(b"\x89PNG")


def test_report_of_one(tmp_path, raw):
    write_report(tmp_path, [raw], MEASURES, {})
    assert [path.name for path in (tmp_path / "plots").iterdir()] == ["sub_queries_by_kind.png"]
    assert "biggest" not in (tmp_path / "report.html").read_text()


class Tags(HTMLParser):
    """Collects tags and addresses, and what is never closed."""

    void = frozenset(("meta", "img", "source", "link", "br", "hr"))

    def __init__(self):
        super().__init__()
        self.tags, self.addresses, self.open = set(), [], []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.addresses += [value for key, value in attributes if key in ("src", "srcset", "href")]
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_nothing_in_the_data_becomes_part_of_the_page(tmp_path, raw, evil):
    pairs = [
        replace(r, reformulation=e.reformulation, gold_ranks=e.gold_ranks, kind=e.kind)
        for r, e in zip(raw.results, evil.results, strict=True)
    ]
    write_report(tmp_path, [replace(raw, results=tuple(pairs)), evil], MEASURES, {"data": EVIL})
    page = (tmp_path / "report.html").read_text()
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "script" not in tags.tags
    assert tags.addresses
    assert all(address.startswith("data:image/png;base64,") for address in tags.addresses)
    assert "{{ 7*7 }}" in page
    markdown = (tmp_path / "report.md").read_text()
    prose = re.sub(r"(?<![\\`])(`+)(?!`).*?(?<!`)\1(?!`)", "", markdown)
    assert not re.search(r"(?<!\\)(<script>|\]\(http)", prose)
    assert not re.search(r"^# no heading", markdown, re.MULTILINE)
    assert max(len(line) for line in markdown.splitlines()) < 5000


@pytest.mark.parametrize("dark", [False, True])
def test_plots_take_any_name(raw, good, dark):
    strange = replace(good, name="$x$ \\frac{ <b>")
    pictures = draw_plots([raw, strange], "nDCG@10", dark=dark)
    assert set(pictures) == {"gain_by_kind.png", "gain_per_query.png", "sub_queries_by_kind.png"}
    assert pictures == draw_plots([raw, strange], "nDCG@10", dark=dark)
