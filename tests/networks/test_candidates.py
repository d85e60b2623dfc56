"""Candidates of a hop: which names in the results and in the question may be searched, and what the network reads."""

import numpy as np
import pytest
from stand_ins import ranking, read_in_short

from acqo_rl.networks.corpus_words import CorpusWords
from acqo_rl.networks.hop import FEATURES
from acqo_rl.reformulation.pass_through import pass_through
from acqo_rl.roles import RemoteCorpus
from acqo_rl.searching.hop import LearnedHop, with_name
from acqo_rl.types import Document, Query

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


def read(*doc_ids, text="Who owns the company that produced My Cousin?", made=None, corpus=CORPUS, words=None):
    """The options of a hop after these results."""
    made = made or pass_through(Query("q", text), "raw")
    [options] = LearnedHop(None, corpus, words or CorpusWords.of(corpus)).read([made], [ranking(*doc_ids)])
    return options


def test_names_in_the_results_and_in_the_question_are_candidates():
    assert {"Free Range Films", "Oslo", "My Cousin"} <= set(read("film", "untitled").names)


def test_rare_phrases_are_candidates_in_a_corpus_without_titles():
    assert "but plain" in read("untitled").names


def test_a_name_that_was_searched_is_no_candidate():
    made = pass_through(Query("q", "Who owns it?"), "raw")
    assert "Free Range Films" in read("film", made=made).names
    assert "Free Range Films" not in read("film", made=with_name(made, "Free Range Films")).names


def test_the_first_word_of_a_sentence_is_no_name_by_its_capital_alone():
    names = read("city", text="Which company made the Quillon car of Mira?", words=CorpusWords()).names
    assert "Quillon car of Mira" in names
    assert not {"Which", "The"} & set(names)
    names = read("city", text="What is the ISO of it?", words=CorpusWords()).names
    assert "ISO" in names
    assert not any(name.startswith("What") for name in names)


def test_a_name_in_the_question_that_is_in_no_document_is_no_candidate():
    assert "Quillon car of Mira" not in read("city", text="Which company made the Quillon car of Mira?").names


@pytest.mark.parametrize("number", ["3-16-148410-0", "CVE-2021-44228", "DE89 3704 0044", "(555) 123-4567", "10.5/A:7"])
def test_no_part_of_an_identifier_is_a_candidate(number):
    corpus = {"1": Document("1", "Orders", f"{number}. It is the number {number} of a shop, Oslo, and {number}, too.")}
    names = read("1", text=f"{number}: who has {number} at Oslo?", corpus=corpus).names
    assert "Oslo" in names
    whole = number.strip("()")
    assert all(whole in name.strip("()") for name in names if any(c.isdigit() for c in name)), names


def test_documents_on_a_server_are_fetched_and_their_titles_are_not_needed():
    corpus = Remote(CORPUS)
    options = read("film", "deleted", "untitled", corpus=corpus, words=CorpusWords())
    assert corpus.fetched == ["film", "deleted", "untitled"]
    assert "Free Range Films" in options.names
    assert np.isfinite(options.features).all()


def test_the_shipped_network_reads_what_it_was_trained_with():
    expected = [-0.074, -3.7031, -1.4567, -0.4106, -1.7254, -1.5679, -2.267, -2.0744]
    features = read("film", "untitled").features
    assert read_in_short("hop", FEATURES, features) == pytest.approx(expected, abs=1e-3)
