"""What was repaired or fell back is logged for review, without a word of the query."""

from __future__ import annotations

import logging

import pytest
from stand_ins import ScriptedRetriever

from acqo_rl.fusion import RankScoreFusion
from acqo_rl.roles import Reformulator
from acqo_rl.searching.searcher import FELL_BACK, REPAIRED, REWRITTEN, AdaptiveSearcher
from acqo_rl.types import Reformulation, SubQuery

QUERY = "secret question"


class Scripted(Reformulator):
    name = "scripted"

    def __init__(self, *texts, kind="part", error=None):
        self.texts, self.kind, self.error = texts, kind, error

    def reformulate(self, queries):
        if self.error:
            raise self.error
        subs = tuple(SubQuery(text, self.kind) for text in self.texts)
        return [Reformulation(query, "decompose", subs, self.name) for query in queries]


@pytest.fixture
def logged(caplog):
    """The events of one search, except the one that each reformulation has."""

    def search(reformulator):
        searcher = AdaptiveSearcher(reformulator, ScriptedRetriever({QUERY: ("a",)}), RankScoreFusion())
        with caplog.at_level(logging.INFO, logger="acqo_rl"):
            searcher.search(QUERY)
        searcher.close()
        assert "secret" not in str([vars(record) for record in caplog.records])
        return [record for record in caplog.records if record.message != REWRITTEN]

    return search


def test_a_decomposition_into_the_query_itself(logged):
    [event] = logged(Scripted(QUERY.upper()))
    assert (event.message, event.strategy, event.route_before, event.route) == (
        REPAIRED,
        "scripted",
        "decompose",
        "pass",
    )


def test_the_reason_says_what_was_repaired(logged):
    [alone] = logged(Scripted(QUERY.upper()))
    assert alone.reason == "the only sub-query is the query itself"


def test_sub_queries_that_are_left_out(logged):
    [event] = logged(Scripted("secret one", "", "Secret one?", "secret two"))
    assert event.reason == "sub-queries were left out"
    assert (event.message, event.num_variants_before, event.num_variants, event.route) == (REPAIRED, 4, 2, "decompose")


def test_nothing_that_can_be_used(logged):
    [event] = logged(Scripted("", " "))
    assert (event.message, event.num_variants, event.route) == (REPAIRED, 1, "pass")


def test_a_reformulation_that_fails(logged):
    [event] = logged(Scripted(error=ConnectionError("secret address")))
    assert (event.message, event.levelno, event.error) == (FELL_BACK, logging.WARNING, "ConnectionError")


@pytest.mark.parametrize("reformulator", [Scripted("secret one", "secret two"), Scripted(QUERY, kind="original")])
def test_nothing_is_logged_where_nothing_is_changed(logged, reformulator):
    reformulator.reformulate = _passing(reformulator)
    assert logged(reformulator) == []


def _passing(reformulator):
    route = "pass" if reformulator.kind == "original" else "decompose"
    subs = tuple(SubQuery(text, reformulator.kind) for text in reformulator.texts)
    return lambda queries: [Reformulation(query, route, subs, "scripted") for query in queries]
