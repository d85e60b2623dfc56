"""BM25 against hand arithmetic and its own saved form."""

import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acqo_rl.errors import ConfigError, DataError
from acqo_rl.retrieval.bm25 import Bm25Retriever

TEXTS = ["The cat sat on the mat", "Dogs chase cats", "A dog and a dog", "", "Vitamin C and C++"]
IDS = ["mat", "chase", "dogs", "empty", "vitamin"]


@pytest.fixture(scope="module")
def retriever():
    return Bm25Retriever.build(TEXTS, IDS)


def test_scores_by_hand(retriever):
    """Lucene's variant: idf = ln(1 + (N - n + .5) / (n + .5)), tf = f / (f + k1 (1 - b + b length / mean length))."""
    lengths = {"mat": 3, "chase": 3, "dogs": 2, "empty": 0, "vitamin": 4}
    mean = sum(lengths.values()) / 5
    idf = math.log(1 + (5 - 2 + 0.5) / (2 + 0.5))

    def score(count, length):
        return idf * count / (count + 1.5 * (1 - 0.75 + 0.75 * length / mean))

    ranking = retriever.search(["dog"], 10)[0]
    assert ranking.doc_ids == ("dogs", "chase")
    assert ranking.scores == pytest.approx((score(2, 2), score(1, 3)), rel=1e-5)
    assert (ranking.retriever, ranking.query) == ("bm25", "dog")


@settings(deadline=None)
@given(text=st.text(st.characters(categories=("M", "Nd"))) | st.text())
def test_any_text_is_indexed_and_searched(retriever, text):
    [alone] = retriever.search([text], 9)
    [beside] = Bm25Retriever.build(["beside", text], ["beside", "it"]).search([text], 2)
    assert set(beside.doc_ids) <= {"beside", "it"}
    assert all(map(math.isfinite, alone.scores + beside.scores))


@settings(max_examples=30, deadline=None)
@given(
    texts=st.lists(st.lists(st.sampled_from(["red", "green", "blue"])).map(" ".join), max_size=9), k=st.integers(1, 9)
)
def test_ties_are_in_document_order_and_every_document_has_a_word_of_the_text(texts, k):
    corpus = ["red", "green red", "red", "blue", "red", "green green"]
    retriever = Bm25Retriever.build(corpus, list("abcdef"))
    for ranking in retriever.search(texts, k):
        assert list(zip(ranking.scores, ranking.doc_ids, strict=True)) == sorted(
            zip(ranking.scores, ranking.doc_ids, strict=True), key=lambda pair: (-pair[0], pair[1])
        )
        assert all(score > 0 for score in ranking.scores)


def test_saved_index_is_the_same_for_every_hash_seed(tmp_path):
    code = (
        "import sys; from pathlib import Path; from acqo_rl.retrieval.bm25 import Bm25Retriever;"
        "Bm25Retriever.build(['one two three four', 'five six'], ['a', 'b']).save(Path(sys.argv[1]))"
    )
    for seed in "12":
        subprocess.run([sys.executable, "-c", code, tmp_path / seed], env={"PYTHONHASHSEED": seed}, check=True)
    for path in (tmp_path / "1").iterdir():
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes()


def test_wrong_settings_are_refused():
    for wrong in ({"language": "klingon"}, {"b": 2}):
        with pytest.raises(ConfigError):
            Bm25Retriever.build(TEXTS, IDS, **wrong)
    with pytest.raises(DataError):
        Bm25Retriever.build(["", "the"], ["a", "b"])
