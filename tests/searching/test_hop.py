"""Hops: searches for names in the results, chosen after reading them."""

from dataclasses import replace

import numpy as np
import pytest
from stand_ins import ScriptedHop, ScriptedRetriever, features_in_short, random_scorer, ranking

from acqo_rl.errors import ConfigError
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.pass_through import PassThrough, pass_through
from acqo_rl.roles import RemoteCorpus
from acqo_rl.searching.corpus_words import CorpusWords
from acqo_rl.searching.hop import KIND, Hops, LearnedHop, with_name
from acqo_rl.searching.hop_candidates import FEATURES, CandidateReader
from acqo_rl.searching.path import SearchPath
from acqo_rl.searching.scorer import Scorer
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Document, Query

WHO = Query("q", "who?")
FOUND = {
    "who?": ("1", "2"),
    "BERT": ("3", "1"),
    "who? BERT": ("3", "2"),
    "Google": ("4",),
    "who? Google": ("1", "4"),
}
CORPUS = {
    "film": Document("film", "My Cousin (2017 film)", "It was produced by Free Range Films and shot in Oslo."),
    "firm": Document("firm", "Free Range Films", "A production company that is owned by Kevin Loader."),
    "city": Document("city", "Oslo", "The capital of Norway."),
    "untitled": Document("untitled", "", "nothing but plain words about gnarled arboretum pruning here"),
}


class Remote(dict, RemoteCorpus):
    def fetch(self, doc_ids):
        self.fetched = list(doc_ids)
        return {doc_id: self[doc_id] for doc_id in doc_ids if doc_id != "deleted"}


def searchers(hops, retriever, **settings):
    searcher = AdaptiveSearcher(PassThrough(), retriever, RankScoreFusion(), hops=hops, **settings)
    return searcher, SearchPath(PassThrough(), retriever, RankScoreFusion(), hops=hops)


@pytest.mark.parametrize("find", [lambda s, path: s.search_many([WHO]), lambda s, path: path.search([WHO])])
def test_a_name_is_searched_alone_and_after_the_question_and_fused_with_all_lists(find):
    retriever, hop = ScriptedRetriever(FOUND), ScriptedHop("BERT")
    [found] = find(*searchers(Hops(hop, 3), retriever))
    # 1/P: document 3 is first in two lists, 1 is first and second, 2 is second in two lists
    assert list(zip(found.fused.doc_ids, found.fused.scores, strict=True)) == [("3", 2.0), ("1", 1.5), ("2", 1.0)]
    assert retriever.calls == [["who?"], ["BERT", "who? BERT"]]
    assert [(s.text, s.kind) for s in found.reformulation.sub_queries[1:]] == [
        ("BERT", "hop"),
        ("who? BERT", "expansion"),
    ]
    assert [step.name for step in found.trace].count("hop") == 2


def test_each_hop_reads_the_results_of_all_searches_before_it():
    hop = ScriptedHop("BERT", "Google", "Alphabet")
    found = searchers(Hops(hop, 2), ScriptedRetriever(FOUND))[0].search("who?")
    assert hop.read == [[["who?"], ("1", "2")], [["who?", "BERT", "who? BERT"], ("3", "1", "2")]]
    assert found.fused.doc_ids[0] == "1"
    assert len(found.reformulation.sub_queries) == 5


def test_each_query_of_a_batch_has_its_own_name_or_none():
    names = {"who?": "BERT", "why?": None, "where?": "Oslo"}

    class ByQuery(ScriptedHop):
        def choose(self, searched, fused):
            return [names[made.query.text] if len(made.sub_queries) == 1 else None for made in searched]

    found = searchers(Hops(ByQuery(), 2), ScriptedRetriever(FOUND))[1].search([Query(t, t) for t in names])
    assert [[s.text for s in one.reformulation.sub_queries] for one in found] == [
        ["who?", "BERT", "who? BERT"],
        ["why?"],
        ["where?", "Oslo", "where? Oslo"],
    ]


class Down(ScriptedHop):
    def choose(self, searched, fused):
        raise ConnectionError("no documents")


def test_a_hop_that_fails_leaves_the_results_so_far_and_is_reported():
    searcher, path = searchers(Hops(Down()), ScriptedRetriever(FOUND))
    found = searcher.search("who?")
    assert (found.fused.doc_ids, [failure.step for failure in found.failures]) == (("1", "2"), ["hop"])
    with pytest.raises(ConnectionError):  # in training and evaluation, a failure never becomes a result
        path.search([Query("q", "who?")])


def read(corpus, fused, made=None, words=None):
    made = made or pass_through(Query("q", "Who owns the company that produced My Cousin?"), "raw")
    [found] = CandidateReader(corpus, words or CorpusWords.of(corpus)).read([made], [fused])
    return found


def test_candidates_are_names_in_the_results_that_are_not_searched_yet():
    found = read(CORPUS, ranking("film", "untitled"))
    assert {"Free Range Films", "Oslo"} <= set(found.names)
    assert "My Cousin" in found.names
    assert read(CORPUS, ranking("untitled")).names  # rare phrases, in a corpus without titles
    expected = [-0.074, -3.7031, -1.4567, -0.4106, -1.7254, -1.5679, -2.267, -2.0744]  # as in the training
    assert features_in_short(found.features) == expected
    made = with_name(pass_through(Query("q", "Who owns it?"), "raw"), "Free Range Films")
    assert "Free Range Films" not in read(CORPUS, ranking("film"), made).names
    named = pass_through(Query("q", "Which company made the Quillon car of Mira?"), "raw")
    names = read(CORPUS, ranking("city"), named, CorpusWords()).names
    assert "Quillon car of Mira" in names
    assert not {"Which", "The"} & set(names)  # the first word of a sentence is no name by its capital alone
    assert "Quillon car of Mira" not in read(CORPUS, ranking("city"), named).names  # it is in no document
    asked = pass_through(Query("q", "What is the ISO of it?"), "raw")
    assert "ISO" in (names := read(CORPUS, ranking("city"), asked, CorpusWords()).names)
    assert not any(name.startswith("What") for name in names)


@pytest.mark.parametrize("number", ["3-16-148410-0", "CVE-2021-44228", "DE89 3704 0044", "(555) 123-4567", "10.5/A:7"])
def test_no_part_of_an_identifier_is_a_candidate(number):
    corpus = {"1": Document("1", "Orders", f"{number}. It is the number {number} of a shop, Oslo, and {number}, too.")}
    asked = pass_through(Query("q", f"{number}: who has {number} at Oslo?"), "raw")
    found = read(corpus, ranking("1"), asked, CorpusWords()).names
    assert "Oslo" in found
    whole = number.strip("()")
    assert all(whole in name.strip("()") for name in found if any(c.isdigit() for c in name)), found


def test_documents_on_a_server_are_fetched_and_their_titles_are_not_needed():
    corpus = Remote(CORPUS)
    found = read(corpus, ranking("film", "deleted", "untitled"), words=CorpusWords())
    assert corpus.fetched == ["film", "deleted", "untitled"]
    assert "Free Range Films" in found.names
    assert np.isfinite(found.features).all()


def test_a_scorer_is_saved_and_loaded(tmp_path):
    scorer, features = (
        replace(random_scorer(), margin=2.0),
        np.random.default_rng(0).normal(size=(5, FEATURES)).astype(np.float32),
    )
    scorer.save(tmp_path)
    assert np.array_equal(Scorer.load(str(tmp_path), KIND).score(features), scorer.score(features))
    without = replace(scorer, margin=0.0).score(features)
    assert scorer.score(features) - without == pytest.approx([2.0, 0.0, 0.0, 0.0, 0.0])
    assert np.allclose(sum([one.score(features) for one in scorer.networks()]) / 2, scorer.score(features), atol=1e-5)


SHIFTED = {
    "mean": [np.zeros(FEATURES - 1, np.float32), np.full(FEATURES, np.nan, np.float32)],
    "scale": [np.zeros(FEATURES, np.float32), np.full(FEATURES, np.inf, np.float32)],
    "margin": [float("nan")],
    "layers": [
        random_scorer().layers[1:],
        *(
            tuple((weights * factor, bias[..., cut:]) for weights, bias in random_scorer().layers)
            for factor, cut in ((np.float32(np.inf), 0), (1, 1))
        ),
    ],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in SHIFTED.items() for value in values])
def test_a_scorer_with_wrong_shapes_or_numbers_is_refused(tmp_path, name, value):
    replace(random_scorer(), **{name: value}).save(tmp_path)
    with pytest.raises(ConfigError):
        Scorer.load(str(tmp_path), KIND)


def test_a_scorer_of_other_features_or_with_a_damaged_file_is_refused(tmp_path):
    narrow = random_scorer().layers[1:]
    replace(random_scorer(), mean=np.zeros(8, np.float32), scale=np.ones(8, np.float32), layers=narrow).save(tmp_path)
    with pytest.raises(ConfigError, match="8 features"):
        Scorer.load(str(tmp_path), KIND)
    random_scorer(1).save(tmp_path)
    of_another = (tmp_path / "scorer.safetensors").read_bytes()
    random_scorer().save(tmp_path)
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        for damaged in (of_another, content[:-2], b"[]"):
            file.write_bytes(damaged)
            with pytest.raises(ConfigError):
                Scorer.load(str(tmp_path), KIND)
        file.write_bytes(content)


def test_a_learned_hop_stops_without_candidates():
    hop = LearnedHop(random_scorer(), {}, CorpusWords())
    assert hop.choose([pass_through(Query("q", "???"), "raw")], [ranking()]) == [None]
