"""The choice of the first search: what is searched, when the model is asked, and what happens on failures."""

import time

import numpy as np
import pytest
from stand_ins import linear_scorer, read_in_short

from acqo_rl.fusion import RankScoreFusion
from acqo_rl.networks.choice import FEATURES
from acqo_rl.networks.corpus_words import CorpusWords
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.retrieval.bm25 import Bm25Retriever
from acqo_rl.roles import Reformulator
from acqo_rl.searching.assemble import open_path
from acqo_rl.searching.choice import OPTIONS, Choice
from acqo_rl.searching.concurrent import ConcurrentSearch
from acqo_rl.searching.description import NAMED
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.searcher import AdaptiveSearcher, Timeouts
from acqo_rl.types import Document, Query, Reformulation, SubQuery, Turn

CORPUS = {
    d.id: d
    for d in (
        Document("oslo", "Oslo", "Oslo is the capital of Norway. Its opera house opened in 2008."),
        Document("bergen", "Bergen", "Bergen is a harbour in Norway with much rain."),
        Document("opera", "Opera", "An opera is a drama that is set to music."),
        Document("rain", "Rain", "Rain is water that falls from clouds."),
    )
}
HISTORY = (Turn("user", "Tell me about Oslo"), Turn("system", "Oslo is the capital of Norway."))
ASKED = Query("q", "When did its opera open?", HISTORY)


class Model(Reformulator):
    """Writes one search, and records the queries."""

    name = "model"
    searches = (SubQuery("opening of the opera house in Oslo", "reading"),)

    def __init__(self, seconds=0.0):
        self.queries = []
        self.seconds = seconds

    def reformulate(self, queries):
        time.sleep(self.seconds)
        self.queries += queries
        made = ("disambiguate", self.searches, self.name, "text", 7)
        return [Reformulation(q, *made, calls=1, notes=("partly read",)) for q in queries]


def retriever():
    return Bm25Retriever.build([f"{d.title} {d.text}" for d in CORPUS.values()], list(CORPUS))


def choice(one=None, **options):
    return Choice(one, CORPUS, CorpusWords.of(CORPUS), **options)


def read(queries, *, may_ask, model=None, index=None):
    reader = choice()
    arms = [one.reformulate(queries) for one in (*reader.reformulators, *([model] if model else []))]
    search = ConcurrentSearch(index or retriever(), 100).rankings
    return reader.read(list(zip(*arms, strict=True)), search, RankScoreFusion(), may_ask=may_ask)


def path(model=None, asks=True, **weights):
    """The path of a choice that prefers options by their arms."""
    chosen = choice(linear_scorer(FEATURES, **weights), asks=asks)
    return SearchPath(model or Model(), retriever(), RankScoreFusion(), CORPUS, choice=chosen)


def test_options_search_different_texts_and_the_first_one_is_the_query():
    alone, talked = read([Query("p", "rain"), ASKED], may_ask=True)
    assert alone.arms == ((0,), ())
    assert (talked.arms[0], talked.arms[-1]) == ((0,), ())
    assert set(talked.arms[:-1]) <= set(OPTIONS)
    texts = [tuple(sorted(s.text for s in made.sub_queries)) for made in talked.searched]
    assert len(set(texts)) == len(texts) == len(talked.arms) - 1
    assert talked.features.shape == (len(talked.arms), len(FEATURES.names))
    assert np.isfinite(talked.features).all()


@pytest.mark.parametrize("more", [(), (SubQuery(ASKED.text, "original", min_margin=0.05),)])
def test_the_searches_of_the_model_are_options_once_it_was_asked(more):
    model = Model()
    model.searches += more
    [both] = read([ASKED], may_ask=False, model=model)
    assert {(5,), (0, 5)} <= set(both.arms)
    assert () not in both.arms


def test_what_is_chosen_is_searched_and_said():
    [found] = path(searches_last_turn=1.0).search([ASKED])
    [sub_query] = found.reformulation.sub_queries
    assert sub_query.text == "S: Oslo is the capital of Norway. When did its opera open?"
    assert "last turn" in found.reformulation.reasoning
    assert found.reformulation.made_by == "auto"


def test_the_model_is_asked_only_if_that_is_chosen_and_possible():
    model = Model()
    path(model, searches_last_turn=1.0).search([ASKED])
    [alone] = path(model, asks=False, asks_model=9.0, searches_query=1.0).search([ASKED])
    assert (alone.reformulation.route, model.queries, alone.reformulation.calls) == ("pass", [], 0)
    [asked] = path(model, asks_model=2.0, searches_model=1.0).search([ASKED])
    assert [query.id for query in model.queries] == ["q"]
    assert "opening of the opera house in Oslo" in [s.text for s in asked.reformulation.sub_queries]
    assert asked.reformulation.notes == ("partly read",)


def test_the_query_may_be_kept_after_the_model_was_asked_and_the_costs_stay():
    [kept] = path(asks_model=2.0, searches_query=1.0, searches_model=-5.0).search([ASKED])
    made = kept.reformulation
    assert (made.route, made.notes) == ("pass", ())
    assert (made.calls, made.tokens, made.completion) == (1, 7, "text")


def test_notes_of_a_model_stay_if_its_texts_are_those_of_an_earlier_option():
    """As those of a model that passes."""
    model = Model()
    model.searches = (SubQuery(ASKED.text, "original"),)
    [passed] = path(model, asks_model=2.0, searches_query=1.0).search([ASKED])
    assert passed.reformulation.notes == ("partly read",)


def test_networks_for_english_leave_queries_in_other_languages_as_they_are():
    index = retriever()
    hindi = Query("h", "Oslo में क्या देखें? और कहाँ?")
    raw = SearchPath(PassThrough(), index, RankScoreFusion(), CORPUS)
    english, other = open_path(NAMED["auto"], CORPUS, index).search([ASKED, hindi])
    assert [other.rankings] == [found.rankings for found in raw.search([hindi])]
    assert ["language" in str(found.notes) for found in (english, other)] == [False, True]


def test_a_choice_that_fails_leaves_the_searches_of_the_model():
    class Failing(Choice):
        def choose(self, *arguments, **settings):
            raise RuntimeError("damaged")

    failing = Failing(linear_scorer(FEATURES), CORPUS, CorpusWords.of(CORPUS))
    found = AdaptiveSearcher(Model(), retriever(), RankScoreFusion(), corpus=CORPUS, choice=failing).search(ASKED)
    assert [s.text for s in found.reformulation.sub_queries] == ["opening of the opera house in Oslo"]
    assert {failure.step for failure in found.failures} == {"choice"}


def test_a_model_that_is_late_costs_only_its_searches():
    chosen = choice(linear_scorer(FEATURES, asks_model=9.0, searches_last_two_turns=1.0))
    searcher = AdaptiveSearcher(
        Model(seconds=2.0), retriever(), RankScoreFusion(), corpus=CORPUS, choice=chosen,
        timeouts=Timeouts(reformulation=0.05),
    )  # fmt: skip
    found = searcher.search(ASKED)
    assert "last two turns" in found.reformulation.reasoning
    assert {failure.step for failure in found.failures} == {"reformulation"}


def test_the_shipped_network_reads_what_it_was_trained_with():
    [options] = read([ASKED], may_ask=True)
    expected = [3.9078, 2.4628, 0.8581, 1.8968, 3.1023, 3.5526, 2.8811, 3.6773]
    assert read_in_short("choice", FEATURES, options.features) == pytest.approx(expected, abs=1e-3)
