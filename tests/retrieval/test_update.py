"""Index folders of a corpus that changes: only new passages are encoded, and the result equals a new build."""

import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from engine_cases import UnitEncoder
from shared import ACQO, ENVIRONMENT

from acqo_rl.cli import index as command
from acqo_rl.cli.index import BuildIndexConfig, FaissOptions
from acqo_rl.data.beir import corpus_hash, write_beir
from acqo_rl.errors import ConfigError, IndexMismatchError
from acqo_rl.retrieval.load import describe, load_retriever
from acqo_rl.types import Document

BEFORE = [Document(f"d{i}", f"Title {i}", f"passage {i} about a river", {"year": i}) for i in range(30)]
AFTER = [
    *(replace(d, metadata={"year": 0}) for d in BEFORE[:10]),
    replace(BEFORE[10], text="a volcano"),
    *BEFORE[12:],
    Document("new", "", "a new river"),
]
"""One document removed, one changed, one added, and metadata of ten."""


@pytest.fixture
def encoder(monkeypatch):
    encoder = UnitEncoder()
    monkeypatch.setattr(command, "load_encoder_of", lambda *_: encoder)
    return encoder


def run(data, output, documents, **settings):
    write_beir(data, documents, [], {})
    command.main(BuildIndexConfig(data=str(data), output=str(output), **settings))


@pytest.mark.parametrize(
    ("kind", "factory"),
    [("dense", "Flat"), ("dense", "HNSW8"), ("dense", "IVF2,Flat"), ("hybrid", "Flat"), ("bm25", "Flat")],
)
def test_an_update_encodes_what_is_new_and_equals_a_new_build(tmp_path, encoder, kind, factory):
    settings = {"kind": kind} if kind == "bm25" else {"kind": kind, "faiss": FaissOptions(factory=factory)}
    run(tmp_path / "data", tmp_path / "index", BEFORE, **settings)
    for number, (documents, encoded) in enumerate([(AFTER, 2), (AFTER, 0), (BEFORE, 2), (AFTER[:5], 0)]):
        encoder.encoded.clear()
        run(tmp_path / "data", tmp_path / "index", documents, **settings, update=True)
        assert len(encoder.encoded) == (0 if kind == "bm25" else encoded)
        run(tmp_path / "data", tmp_path / "index", documents, **settings)

        digest = corpus_hash(documents)
        run(tmp_path / "data", tmp_path / f"fresh-{number}", documents, **settings)
        updated, fresh = (
            load_retriever(place, encoder=encoder, expected_corpus_hash=digest)
            for place in (tmp_path / "index", tmp_path / f"fresh-{number}")
        )
        texts = ["river", "volcano", "passage 11"]
        assert updated.search(texts, 40) == fresh.search(texts, 40)
        assert updated.fingerprint == fresh.fingerprint
    assert len([*(tmp_path / "index" / "states").iterdir()]) <= 2


def test_other_settings_and_indexes_without_whole_vectors_are_refused(tmp_path, encoder):
    run(tmp_path / "data", tmp_path / "flat", BEFORE)
    for settings in ({"kind": "bm25"}, {"kind": "hybrid"}, {"faiss": FaissOptions(factory="SQ8")}):
        with pytest.raises(IndexMismatchError):
            run(tmp_path / "data", tmp_path / "flat", AFTER, **settings, update=True)
    encoder.fingerprint = "other"
    with pytest.raises(IndexMismatchError):
        run(tmp_path / "data", tmp_path / "flat", AFTER, update=True)
    run(tmp_path / "data", tmp_path / "sq8", BEFORE, faiss=FaissOptions(factory="SQ8"))
    with pytest.raises(ConfigError):
        run(tmp_path / "data", tmp_path / "sq8", AFTER, faiss=FaissOptions(factory="SQ8"), update=True)
    with pytest.raises(IndexMismatchError):
        run(tmp_path / "data", tmp_path / "nothing", AFTER, update=True)
    assert describe(str(tmp_path / "flat")).document_count == describe(str(tmp_path / "sq8")).document_count == 30


@pytest.mark.parametrize("last", ["acqo_rl.retrieval.build.write_manifest", "acqo_rl.cli.index.publish"])
def test_a_killed_update_leaves_the_old_index(tmp_path, last):
    data, folder = tmp_path / "data", tmp_path / "index"
    run(data, folder, BEFORE, kind="bm25")
    write_beir(data, AFTER, [], {})
    arguments = ["index", "--data", str(data), "--output", str(folder), "--kind", "bm25", "--update", "True"]
    module, _, name = last.rpartition(".")
    code = f"""if True:
        import os, signal, {module} as module
        from acqo_rl.cli import main
        module.{name} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        main({arguments!r})"""
    killed = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert load_retriever(folder, expected_corpus_hash=corpus_hash(BEFORE)).search(["passage"], 40)

    subprocess.run([*ACQO, *arguments], env=ENVIRONMENT, capture_output=True, check=True)
    assert load_retriever(folder, expected_corpus_hash=corpus_hash(AFTER)).search(["volcano"], 1)[0].doc_ids == ("d10",)
    assert os.listdir(folder / "states")
