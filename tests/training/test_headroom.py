"""Headroom: bounds that are measured honestly, and advice that follows from the intervals."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

from acqo_rl.cli import main
from acqo_rl.cli.reproduce import figures_of
from acqo_rl.errors import DataError
from acqo_rl.training.headroom import (
    BEST,
    ONE_FORM,
    PASS,
    Headroom,
    advise,
    best_form,
    choose_forms,
)
from acqo_rl.training.warm_start import ScoredCandidate, ScoredQuery

sys.path.append(str(Path(__file__).parents[1] / "evaluation"))
by_hand = importlib.import_module("by_hand")

EXAMPLE = Path(__file__).parents[2] / "docs" / "example"


def scored(query_id, raw=0.0, **rewards):
    options = [ScoredCandidate(form, "decompose", f"split\n{form}", value) for form, value in rewards.items()]
    return ScoredQuery(query_id, (ScoredCandidate(PASS, "pass", "pass", raw), *options))


class TestForms:
    def test_the_best_form_has_the_highest_total_and_counts_a_query_without_it_as_passed(self):
        """ "a" gains 1 once; "b" gains 0.4 three times; "c" gains 0.5 twice and loses 0.9 once."""
        some = [scored("1", a=1.0, b=0.4, c=0.5), scored("2", b=0.4, c=0.5), scored("3", raw=1.0, b=1.4, c=0.1)]
        assert best_form(some) == "b"

    def test_no_form_is_chosen_where_passing_is_as_good(self):
        assert best_form([scored("1", raw=1.0, a=1.0), scored("2", raw=1.0, a=1.0)]) == PASS

    def test_a_form_that_always_helps_is_chosen_by_both_halves(self):
        chosen, forms = choose_forms([scored(str(i), a=1.0) for i in range(12)], seed=0)
        assert forms == ("a", "a")
        assert {option.form for option in chosen.values()} == {"a"}

    def test_a_form_chosen_by_chance_gains_nothing_on_the_other_half(self):
        """Each query has a form that helps only this query, so the other half passes whatever form is chosen."""
        chosen, _ = choose_forms([scored(str(i), **{f"form{i}": 2.0}) for i in range(12)], seed=0)
        assert {option.form for option in chosen.values()} == {PASS}

    def test_too_few_queries_are_rejected(self):
        with pytest.raises(DataError):
            choose_forms([scored(str(i), a=1.0) for i in range(11)], seed=0)


class TestAdvice:
    def advise(self, **values):
        """The decision for values of the measure of 40 queries each: a mean, and two that differ by ``spread``."""

        def made(name, mean, spread=0.0):
            return by_hand.evaluation(name, [mean + spread * (-1) ** i for i in range(40)])

        baselines = tuple(made(name, *values[name]) for name in ("raw", "rules") if name in values)
        bounds = tuple(made(name, *values[key]) for name, key in ((ONE_FORM, "form"), (BEST, "best")))
        return advise(Headroom(baselines, bounds, (PASS, PASS)), "nDCG@10").decision

    def test_train_if_a_form_gains_on_other_queries(self):
        assert self.advise(raw=(0.4,), rules=(0.45,), form=(0.5,), best=(0.7,)) == "train"

    def test_try_if_no_form_gains_but_the_best_candidates_gain_much(self):
        assert self.advise(raw=(0.4,), rules=(0.5,), form=(0.5,), best=(0.61,)) == "try"
        assert self.advise(raw=(0.4,), rules=(0.4,), form=(0.45, 0.3), best=(0.7,)) == "try"

    def test_use_the_rules_if_nothing_adds_much_to_them(self):
        assert self.advise(raw=(0.4,), rules=(0.5,), form=(0.505,), best=(0.59,)) == "use"

    def test_rules_that_gain_within_their_interval_do_not_count(self):
        assert self.advise(raw=(0.4,), rules=(0.45, 0.3), form=(0.405,), best=(0.49,)) == "keep_raw"

    def test_leave_it_if_even_the_best_candidates_gain_little(self):
        assert self.advise(raw=(0.9,), form=(0.9,), best=(0.905,)) == "keep_raw"


@pytest.fixture(scope="module")
def estimated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("headroom")
    main(["index", "--data", str(EXAMPLE), "--kind", "bm25", "--output", str(folder / "index")])
    arguments = ["headroom", "--data", str(EXAMPLE), "--index", str(folder / "index"), "--split", "test"]
    arguments += ["--output", str(folder / "out")]
    main(arguments)
    return folder / "out", arguments


def test_the_command_reports_bounds_in_their_order(estimated):
    folder, _ = estimated
    content = json.loads((folder / "headroom.json").read_text())
    values = {s["name"]: s["overall"]["measures"]["nDCG@10"] for s in content["systems"]}
    assert [*values] == ["raw", "rules", "turns", ONE_FORM, BEST]
    assert values[BEST] > values["raw"] > 0
    assert figures_of(folder / "headroom.json").keys() == values.keys()  # acqo reproduce reads it
    assert values[BEST] >= values[ONE_FORM]
    assert content["decision"] in ("train", "try", "use", "keep_raw")
    assert content["reason"] in (folder / "report.md").read_text()
    assert (folder / "gains.png").read_bytes().startswith(b"\x89PNG")


def test_a_second_run_scores_nothing_again(estimated, monkeypatch):
    folder, arguments = estimated
    before = figures_of(folder / "headroom.json")
    monkeypatch.setattr("acqo_rl.training.candidates.candidates_in", None)
    main(arguments)
    assert figures_of(folder / "headroom.json") == before


def test_an_interrupted_run_gives_the_same_report(estimated, tmp_path):
    folder, arguments = estimated
    other = [*arguments[:-1], str(tmp_path / "out")]
    main(other)
    lines = (folder / "scored.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "out" / "scored.jsonl").write_text("".join(lines[:10]))
    main(other)
    assert (tmp_path / "out" / "scored.jsonl").read_text() == "".join(lines)
