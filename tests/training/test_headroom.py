"""Headroom: bounds that are measured honestly, and advice that follows from the intervals."""

import json
from pathlib import Path
from typing import get_args

import by_hand
import pytest

from acqo_rl.addresses import Address
from acqo_rl.cli import main
from acqo_rl.cli.headroom import HeadroomConfig
from acqo_rl.cli.headroom import main as estimate
from acqo_rl.cli.reproduce import figures_of
from acqo_rl.conversations import read_history
from acqo_rl.errors import DataError
from acqo_rl.training.headroom import (
    BEST,
    ONE_FORM,
    PASS,
    Decision,
    Headroom,
    advise,
    best_form,
    change_topics,
    choose_forms,
)
from acqo_rl.training.warm_start import ScoredCandidate, ScoredQuery
from acqo_rl.types import Query, Turn

EXAMPLE = Path(__file__).parents[2] / "docs" / "example"


def scored(query_id, raw=0.0, **rewards):
    options = [ScoredCandidate(form, "decompose", f"split\n{form}", value) for form, value in rewards.items()]
    return ScoredQuery(query_id, (ScoredCandidate(PASS, "pass", "pass", raw), *options))


@pytest.mark.parametrize(
    ("queries", "form"),
    [
        # "a" gains 1 once; "b" gains 0.4 three times; "c" gains 0.5 twice and loses 0.9 once.
        ([scored("1", a=1.0, b=0.4, c=0.5), scored("2", b=0.4, c=0.5), scored("3", raw=1.0, b=1.4, c=0.1)], "b"),
        ([scored("1", raw=1.0, a=1.0), scored("2", raw=1.0, a=1.0)], PASS),
    ],
)
def test_the_best_form_has_the_highest_total_and_a_query_without_it_passes(queries, form):
    assert best_form(queries) == form


def test_forms_are_chosen_on_the_other_half():
    """A form that always helps is chosen; a form that helps one query gains nothing on the other half."""
    chosen, forms = choose_forms([scored(str(i), a=1.0) for i in range(12)], seed=0)
    assert ({*forms}, {option.form for option in chosen.values()}) == ({"a"}, {"a"})
    chosen, _ = choose_forms([scored(str(i), **{f"form{i}": 2.0}) for i in range(12)], seed=0)
    assert {option.form for option in chosen.values()} == {PASS}


@pytest.mark.parametrize(
    ("decision", "raw", "rules", "form", "best"),
    [
        ("train", 0.4, 0.45, 0.5, 0.7),
        ("try", 0.4, 0.5, 0.5, 0.61),
        ("try", 0.4, 0.4, (0.45, 0.3), 0.7),  # the form gains within its interval
        ("use", 0.4, 0.5, 0.505, 0.59),
        ("keep_raw", 0.4, (0.45, 0.3), 0.405, 0.49),  # the rules gain within their interval
        ("keep_raw", 0.9, None, 0.9, 0.905),
    ],
)
def test_the_advice_follows_from_the_intervals(decision, raw, rules, form, best):
    """A value is the mean of 40 queries; in a pair, the second number is their distance from the mean."""

    def made(name, value):
        mean, spread = value if isinstance(value, tuple) else (value, 0.0)
        return by_hand.evaluation(name, [mean + spread * (-1) ** i for i in range(40)])

    baselines = tuple(made(name, value) for name, value in (("raw", raw), ("rules", rules)) if value is not None)
    headroom = Headroom(baselines, (made(ONE_FORM, form), made(BEST, best)))
    assert advise(headroom, "nDCG@10")[0] == decision


def test_what_loses_more_where_the_topic_changes_than_it_gains_is_not_advised():
    raw, turns, form, best = (
        by_hand.evaluation(name, [value] * 40)
        for name, value in (("raw", 0.4), ("turns", 0.6), (ONE_FORM, 0.45), (BEST, 0.46))
    )
    assert advise(Headroom((raw, turns), (form, best)), "nDCG@10")[0] == "use"
    for left, decision in ((0.79, "train"), (0.81, "use")):  # it gains 0.2 elsewhere
        topics = by_hand.evaluation("raw", [1.0] * 9), by_hand.evaluation("turns", [left] * 9)
        advice = advise(Headroom((raw, turns), (form, best), topics), "nDCG@10")
        assert advice[0] == decision
        assert ("turns loses" in advice[1], "not advised" in advice[1]) == (True, decision == "train")


def test_topics_change_between_conversations_and_only_for_queries_that_need_none():
    def asked(number, *talk):
        return Query(f"q{number}", f"text of q{number}", read_history(talk))

    queries = [asked(0), asked(1, "U: text of q0", "S: yes"), asked(2), asked(3, "U: ferries")]
    for seed in range(9):
        first, second = change_topics(queries, seed)
        assert (first.id, second.id) == ("q0", "q2")
        assert first.history == (*queries[3].history, Turn("user", "text of q3"))  # q1 goes on where q0 begins
        assert second.history[0].text in ("text of q0", "ferries")
    assert change_topics([asked(0), asked(2)], seed=0) == []


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
    content = json.loads((folder / "summary.json").read_text())
    values = {s["name"]: s["overall"]["measures"]["nDCG@10"] for s in content["systems"]}
    assert [*values] == ["raw", "auto", "rules", "turns", ONE_FORM, BEST]
    assert values[BEST] >= values[ONE_FORM]
    assert values[BEST] > values["raw"] > 0
    assert figures_of(folder / "summary.json").keys() == values.keys()  # acqo reproduce reads it
    assert {*content["settings"]["topic changes"]} == {"raw", "auto", "rules", "turns"}
    assert content["settings"]["decision"] in get_args(Decision)


def test_too_few_queries_are_refused_before_anything_is_opened_or_written(tmp_path):
    folder = str(tmp_path / "out")
    with pytest.raises(DataError, match="11 queries"):
        estimate(HeadroomConfig(str(EXAMPLE), Address("no index"), folder, split="test", limit=11))
    assert not any(tmp_path.iterdir())


def test_what_is_measured_is_what_evaluate_measures(estimated, tmp_path):
    """With the choice, the hops and the order of auto."""
    folder, arguments = estimated
    common = arguments[1 : arguments.index("--output")]
    main(["evaluate", *common, "--reformulator", "raw", "auto", "rules", "turns", "--output", str(tmp_path / "out")])
    found = figures_of(folder / "summary.json")
    wanted = figures_of(tmp_path / "out" / "summary.json")
    assert found["auto"]["searches"] > 1 < wanted["auto"]["searches"]
    for name in ("raw", "auto", "rules", "turns"):
        assert {key: wanted[name][key] for key in ("nDCG@10", "searches")}.items() <= found[name].items()
