"""The bytes of the embedded data set, on which published figures rest."""

import hashlib

import pytest

from acqo_rl.data.importer import EMBEDDED, write_embedded

SHA256 = {
    "corpus.jsonl": "74530dd400de4d92873919259ea622d1c48ca173986c7d36b8e2cc080aa989c3",
    "qrels/train.tsv": "ec312362e36e1a1f486d67f2cd76c11be072a2f28fd9ddb8ab3a46aa9e86226a",
    "qrels/dev.tsv": "fba8e46f0e0ab84d799206c6cc172d50475a5a73851d0e66d6845b0f9d873bc8",
    "qrels/test.tsv": "191b2ad34c56d3233a34e8a3d0294fa972c05e1e3d2f4791a50fd60bbf3c931b",
    "qrels/everyday.tsv": "3217fc12780a6e2adebdc61ce68eece87155155fe8fe1897db0b0e77d8bba0fa",
}
QUERIES = {
    "embedded": "5ae6c02a1fd396f3e82b193e6ece6c52fa4bf28ec72f92205ac463c660380f6d",
    "embedded_bridge": "08a5dcae6711451ddc9f159eb08101d163a73c21c3811bfff32ca8902935eab3",
    "embedded_more": "a872318ab7e3db39588fb9148347ea78d93e7bbf21cf103d4d0756e7904f6cb2",
}


@pytest.mark.parametrize("name", EMBEDDED)
def test_the_bytes_are_those_of_the_published_figures(tmp_path, name):
    readme = write_embedded(tmp_path, name)
    for file, expected in {**SHA256, "queries.jsonl": QUERIES[name]}.items():
        assert hashlib.sha256((tmp_path / file).read_bytes()).hexdigest() == expected, file
    assert all(word in readme for word in ("GeoNames", "CC BY 4.0", "pycountry", "LGPL-2.1"))
