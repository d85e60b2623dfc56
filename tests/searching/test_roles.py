"""What a role says of itself, and what is assumed where it says nothing."""

from __future__ import annotations

import pytest
from stand_ins import ranking

from acqo_rl.errors import ConfigError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.roles import Retriever
from acqo_rl.searching.path import SearchPath, search
from acqo_rl.types import Query, Reformulation, SubQuery


class Unmarked(Retriever):
    """A retriever that does not say whether its scores are cosines."""

    name = "unmarked"

    def search(self, texts, k):
        return [ranking("a", scores=[7.0], query=text) for text in texts]


def test_the_scores_of_a_retriever_that_does_not_say_are_no_cosines():
    with pytest.raises(ConfigError):
        SearchPath(PassThrough(), Unmarked(), RankScoreFusion(), score_threshold=0.5)
    subs = (SubQuery("reading", "reading"), SubQuery("raw", "original", min_margin=0.1))
    [found] = search([Reformulation(Query("q", "raw"), "disambiguate", subs, "x")], Unmarked(), RankScoreFusion())
    assert [s.text for s in found.reformulation.sub_queries] == ["reading"]


def test_a_reformulator_that_does_not_say_reads_no_results():
    [found] = SearchPath(PassThrough(), Unmarked(), RankScoreFusion()).search([Query("q", "raw")])
    assert [step.name for step in found.trace] == ["reformulation", "retrieval", "fusion"]
