"""The embedded data set: its bytes, on which published figures rest, and what is true of its splits."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest

from acqo_rl.data.beir import read_beir
from acqo_rl.data.embedded import EMBEDDED, write_embedded

SPLITS = {"train": 1500, "dev": 300, "test": 500, "everyday": 100, "train-more": 4500}
SHARES = {"simple": 0.4, "ambiguous": 0.3, "compound": 0.3}
SHARES_OF_MORE = {"simple": 0.2, "ambiguous": 0.4, "compound": 0.4}
SHA256 = {
    "corpus.jsonl": "74530dd400de4d92873919259ea622d1c48ca173986c7d36b8e2cc080aa989c3",
    "qrels/train.tsv": "ec312362e36e1a1f486d67f2cd76c11be072a2f28fd9ddb8ab3a46aa9e86226a",
    "qrels/dev.tsv": "fba8e46f0e0ab84d799206c6cc172d50475a5a73851d0e66d6845b0f9d873bc8",
    "qrels/test.tsv": "191b2ad34c56d3233a34e8a3d0294fa972c05e1e3d2f4791a50fd60bbf3c931b",
    "qrels/everyday.tsv": "3217fc12780a6e2adebdc61ce68eece87155155fe8fe1897db0b0e77d8bba0fa",
}
QUERIES = {
    "embedded": "5ae6c02a1fd396f3e82b193e6ece6c52fa4bf28ec72f92205ac463c660380f6d",
    "embedded_more": "a872318ab7e3db39588fb9148347ea78d93e7bbf21cf103d4d0756e7904f6cb2",
}


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_bytes_are_those_of_the_published_figures(tmp_path, name):
    write_embedded(tmp_path, name, "acqo data")
    for file, expected in {**SHA256, "queries.jsonl": QUERIES[name]}.items():
        assert hashlib.sha256((tmp_path / file).read_bytes()).hexdigest() == expected, file
    readme = (tmp_path / "README.md").read_text()
    assert all(word in readme for word in ("GeoNames", "CC BY 4.0", "pycountry", "LGPL-2.1", "`acqo data`"))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("embedded")
    write_embedded(folder, "embedded_more")
    return read_beir(folder, *SPLITS)


@pytest.mark.parametrize("split", SPLITS)
def test_needs_are_the_judged_documents_and_kinds_have_their_shares(data, split):
    queries = data.queries[split]
    about = {query.id: data.metadata[query.id] for query in queries}
    assert len(queries) == SPLITS[split]
    assert all(len(data.qrels[split][query_id]) == one["needs"] for query_id, one in about.items())
    if split != "everyday":
        shares = SHARES_OF_MORE if split == "train-more" else SHARES
        kinds = Counter(one["kind"] for one in about.values())
        assert kinds == {kind: share * SPLITS[split] for kind, share in shares.items()}
        assert all(len(set(one["oracle"])) == one["needs"] for one in about.values())


def test_entities_of_one_split_are_not_asked_about_in_another(data):
    """A document id is kind-code-attribute."""
    train, dev, test, more = (
        {doc_id.rsplit("-", 1)[0] for judged in data.qrels[split].values() for doc_id in judged}
        for split in ("train", "dev", "test", "train-more")
    )
    assert not (train | more) & (dev | test)
    assert not dev & test
