"""Indexes in folders: built, resumed, opened, refused."""

import json
from dataclasses import asdict, replace
from functools import partial

import faiss
import numpy as np
import pytest

from acqo_rl.data.beir import corpus_hash
from acqo_rl.errors import ConfigError, DataError, IndexMismatchError
from acqo_rl.retrieval import tokens
from acqo_rl.retrieval.build import Shards, build_bm25_index, build_dense_index
from acqo_rl.retrieval.engines.filters import read_filter
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.retrieval.manifest import _checksum, read_manifest
from acqo_rl.text import passage_text
from acqo_rl.types import Document, Scope


def files_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "manifest.json"}


@pytest.fixture
def dense(tmp_path, documents, encoder):
    build_dense_index(tmp_path / "dense", documents, encoder, shard_size=16)
    return tmp_path / "dense"


def test_an_interrupted_build_goes_on_and_ends_the_same(tmp_path, documents, encoder, dense):
    """Some shards are whole, one is cut off, one was not finished being written, one is of another shape."""
    shards = Shards(tmp_path / "resumed", documents, encoder, 16)
    shards.encode(rank=0, processes=2)
    assert shards.missing() == [1, 3]
    paths = sorted((tmp_path / "resumed").rglob("*.npy"))
    paths[0].write_bytes(paths[0].read_bytes()[:-40])
    paths[0].with_name("000001.tmp").write_bytes(b"half")
    np.save(paths[0].with_name("000003.npy"), np.zeros((2, 16), dtype=np.float32))
    assert shards.missing() == [0, 1, 3]
    encoder.calls.clear()
    build_dense_index(tmp_path / "resumed", documents, encoder, shard_size=16)
    assert encoder.calls == [16, 16, 16]
    assert files_of(tmp_path / "resumed") == files_of(dense)


def test_shards_of_another_corpus_or_encoder_are_not_taken(tmp_path, documents, encoder, make_encoder):
    Shards(tmp_path, documents, encoder, 16).encode()
    other_corpus = [replace(documents[0], text="changed"), *documents[1:]]
    assert len(Shards(tmp_path, other_corpus, encoder, 16).missing()) == 5
    assert len(Shards(tmp_path, documents, make_encoder(fingerprint="other"), 16).missing()) == 5
    assert Shards(tmp_path, documents, encoder, 16).missing() == []


@pytest.fixture
def passages(documents):
    """Every third document as three passages."""
    return [
        replace(document, text=f"{document.text} part {part}")
        for i, document in enumerate(documents)
        for part in range(1 if i % 3 else 3)
    ]


def test_an_index_of_passages_is_one_of_documents(tmp_path, documents, passages, encoder):
    """Resumed in the middle, it ends the same; each document is found by each of its passages."""
    Shards(tmp_path / "resumed", passages, encoder, 16).encode(rank=0, processes=2)
    build_dense_index(tmp_path / "whole", documents, encoder, passages=passages, shard_size=16)
    encoder.calls.clear()
    manifest = build_dense_index(tmp_path / "resumed", documents, encoder, passages=passages, shard_size=16)
    assert sum(encoder.calls) < len(passages)
    assert files_of(tmp_path / "resumed") == files_of(tmp_path / "whole")
    assert (manifest.document_count, manifest.corpus_hash) == (70, corpus_hash(documents))
    retriever = load_retriever(tmp_path / "resumed", encoder=encoder, expected_corpus_hash=corpus_hash(documents))
    every = retriever.search([passage_text(passage) for passage in passages], 70)
    assert all(sorted(ranking.doc_ids) == sorted(d.id for d in documents) for ranking in every)


def edit_manifest(folder, **changes):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(
    "damage",
    [
        lambda f: (f / "manifest.json").unlink(),
        lambda f: (f / "manifest.json").write_text("{"),
        lambda f: edit_manifest(f, kind="tree"),
        lambda f: edit_manifest(f, format_version=99),
        lambda f: (f / "index.faiss").unlink(),
        lambda f: cut(f / "doc_ids.json"),
        lambda f: (f / "index.faiss").write_bytes((f / "index.faiss").read_bytes()[:-8] + bytes(8)),
    ],
)
def test_a_damaged_index_is_refused(dense, encoder, damage):
    damage(dense)
    with pytest.raises(IndexMismatchError, match="dense"):
        load_retriever(dense, encoder=encoder)


@pytest.mark.parametrize("change", [{"words": tokens.VERSION + 1}, {"words": tokens.VERSION - 1}, {}])
def test_an_index_with_other_tokens_is_refused(tmp_path, documents, change):
    """One that does not say which tokens it has is older."""
    settings = asdict(build_bm25_index(tmp_path, documents).settings)
    del settings["words"]
    edit_manifest(tmp_path, settings=settings | change)
    with pytest.raises(IndexMismatchError, match="tokens"):
        read_manifest(tmp_path)


def as_vectors(file, change):
    index = faiss.read_index(str(file))
    vectors = change(index.reconstruct_n(0, index.ntotal))
    changed = faiss.IndexFlatIP(vectors.shape[1])
    changed.add(vectors)
    faiss.write_index(changed, str(file))


def as_array(file, change):
    np.save(file, change(np.load(file)))


def as_json(file, change):
    file.write_text(json.dumps(change(json.loads(file.read_text()))))


CUTS = [lambda some: some[1:], lambda some: some[:-1]]
OF_IDS = [*CUTS, lambda ids: [*ids, "more"], lambda ids: [ids[-1], *ids[1:]], lambda ids: [*map(len, ids)], repr]
OF_IDS += [lambda ids: ids[::-1], lambda ids: ["", *ids[1:]]]
OF_NUMBERS = [*CUTS, lambda numbers: -1 - numbers, lambda numbers: numbers[None], lambda numbers: numbers * np.nan]
OF_NUMBERS += [lambda numbers: numbers * 0]
OF_WORDS = [list, lambda words: dict.fromkeys(words, 0), lambda words: {word: i + 1 for word, i in words.items()}]
OF_VECTORS = [*CUTS, lambda vectors: vectors * np.nan, lambda vectors: vectors[:, 1:].copy()]
DAMAGES = {
    "doc_ids.json": (as_json, OF_IDS),
    "index.faiss": (as_vectors, OF_VECTORS),
    "bm25/vocab.index.json": (as_json, OF_WORDS),
    **{f"bm25/{name}.csc.index.npy": (as_array, OF_NUMBERS) for name in ("data", "indices", "indptr")},
}


@pytest.mark.parametrize("kind", ["dense", "bm25"])
def test_damages_whose_checksums_fit_are_refused(tmp_path, documents, encoder, kind):
    if kind == "dense":
        build_dense_index(tmp_path, documents, encoder)
    else:
        build_bm25_index(tmp_path, documents)
    ids = [document.id for document in documents]
    load_retriever(tmp_path, encoder=encoder, expected_ids=ids)
    manifest = (tmp_path / "manifest.json").read_text()

    def is_refused(what):
        with pytest.raises(IndexMismatchError) as refused:
            load_retriever(tmp_path, encoder=encoder, expected_ids=ids).restrict(Scope(read_filter({"lang": "en"})))
        assert "\n" not in str(refused.value), what

    for name, checksum in json.loads(manifest)["checksums"].items():
        file = tmp_path / name
        content = file.read_bytes()
        if name == "passages.npy":  # only updates read it
            continue
        edit, changes = DAMAGES.get(name, (None, ()))
        cut = partial(file.write_bytes, content[: len(content) // 2])
        for damage in (cut, *(partial(edit, file, change) for change in changes)):
            damage()
            (tmp_path / "manifest.json").write_text(manifest.replace(checksum, _checksum(file)))
            is_refused(damage)
            file.write_bytes(content)
    row = json.loads(manifest)
    for inner in (row, row["settings"]):
        for entry in inner.keys() - {"build_parameters", "search_parameters", "passages", "encoder", "checksums"}:
            for wrong in (None, [], -1):
                changed = json.loads(manifest)
                (changed if inner is row else changed["settings"])[entry] = wrong
                (tmp_path / "manifest.json").write_text(json.dumps(changed))
                is_refused((entry, wrong))
    for listed in ({}, *({name: row["checksums"][name]} for name in row["checksums"])):
        (tmp_path / "manifest.json").write_text(json.dumps(row | {"checksums": listed}))
        is_refused(listed)


def test_an_index_of_another_corpus_or_encoder_is_refused(dense, documents, encoder, make_encoder):
    load_retriever(dense, encoder=encoder, expected_corpus_hash=corpus_hash(documents))
    for refused in (
        {"encoder": encoder, "expected_corpus_hash": "abc"},
        {"encoder": make_encoder(fingerprint="other")},
        {"encoder": make_encoder(dim=32)},
    ):
        with pytest.raises(IndexMismatchError):
            load_retriever(dense, **refused)
    with pytest.raises(ConfigError):
        load_retriever(dense)


def test_fingerprint_counts_what_a_search_depends_on(tmp_path, documents, encoder):
    changes = [{}, {"factory": "SQ8"}, *({"factory": "IVF2,Flat", "search_parameters": f"nprobe={n}"} for n in (1, 2))]
    manifests = [build_dense_index(tmp_path / str(n), documents, encoder, **c) for n, c in enumerate(changes)]
    manifests.append(build_dense_index(tmp_path / "fewer", documents[:-1], encoder))
    assert len({manifest.fingerprint for manifest in manifests}) == 5
    assert (
        build_dense_index(tmp_path / "again", documents, encoder, shard_size=7).fingerprint == manifests[0].fingerprint
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda documents, _: {"documents": []},
        lambda documents, _: {"documents": [*documents, documents[0]]},
        *(
            lambda _, passages, of=of: {"passages": of(passages)}
            for of in (lambda p: p[3:], lambda p: p[::-1], lambda p: [*p, p[0]], lambda p: p[:-3])
        ),
    ],
)
def test_a_corpus_and_passages_that_do_not_fit_are_refused(tmp_path, documents, passages, encoder, change):
    with pytest.raises(DataError):
        build_dense_index(tmp_path, **{"documents": documents, "encoder": encoder} | change(documents, passages))
    assert not (tmp_path / "manifest.json").exists()


def test_a_bm25_index_is_opened_with_its_language_and_refuses_an_id_twice(tmp_path):
    build_bm25_index(
        tmp_path / "german", [Document("a", "", "viele Kinder"), Document("b", "", "Hund")], language="german"
    )
    assert load_retriever(tmp_path / "german").search(["Kinder"], 1)[0].doc_ids == ("a",)
    with pytest.raises(DataError):
        build_bm25_index(tmp_path / "twice", [Document("a", "", "x"), Document("a", "", "y")])


def test_too_few_vectors_to_train_leave_no_index_but_keep_the_shards(tmp_path, documents, encoder):
    with pytest.raises(ConfigError):
        build_dense_index(tmp_path, documents, encoder, factory="IVF256,Flat")
    encoder.calls.clear()
    build_dense_index(tmp_path, documents, encoder, factory="IVF4,Flat")
    assert encoder.calls == []
