"""Where a FAISS index is searched: a stand-in records the calls of FAISS's GPU functions; the real ones need a GPU."""

import logging
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import faiss
import numpy as np
import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.build import build_dense_index
from acqo_rl.retrieval.faiss_devices import _name_missing_package, to_device
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.retrieval.manifest import INDEX_NAME


class Gpus:
    """The functions of FAISS with GPU support, on a machine with two GPUs."""

    def __init__(self, monkeypatch):
        self.calls = []
        self.failure = None
        self.inside = 0
        self.crowded = False
        self.is_half = False
        monkeypatch.delenv("LOCAL_RANK", raising=False)
        functions = {
            "StandardGpuResources": SimpleNamespace,
            "GpuMultipleClonerOptions": SimpleNamespace,
            "get_num_gpus": lambda: 2,
            "index_cpu_to_gpu": lambda resources, device, index, options: self.copy(device, index, options),
            "index_cpu_to_all_gpus": lambda index, options: self.copy("all", index, options),
        }
        for name, function in functions.items():
            monkeypatch.setattr(faiss, name, function, raising=False)

    def copy(self, device, index, options):
        assert options.shard == (device == "all")
        self.calls.append((device, type(index).__name__))
        self.is_half = options.useFloat16
        if self.failure:
            raise RuntimeError(self.failure)

        def search(vectors, k):
            self.inside += 1
            found = index.search(vectors, k)
            self.crowded |= self.inside > 1
            self.inside -= 1
            return found

        return SimpleNamespace(d=index.d, ntotal=index.ntotal, search=search, nprobe=getattr(index, "nprobe", None))


@pytest.fixture
def gpus(monkeypatch):
    return Gpus(monkeypatch)


@pytest.mark.parametrize("device", ["auto", "gpu"])
def test_each_process_of_a_training_has_the_whole_index_on_its_own_gpu(filled, gpus, monkeypatch, device):
    """The third process of a machine with two GPUs shares the first one."""
    for rank in ("0", "1", "2"):
        monkeypatch.setenv("LOCAL_RANK", rank)
        to_device(filled("IVF4,PQ8"), device)
    assert gpus.calls == [(0, "IndexIVFPQ"), (1, "IndexIVFPQ"), (0, "IndexIVFPQ")]


@pytest.mark.parametrize("device", ["cpu", "auto", "gpu", "gpu_float16", "shards"])
def test_a_retriever_finds_the_same_wherever_its_index_is(gpus, tmp_path, documents, encoder, device):
    """Search parameters are set before it is copied."""
    build_dense_index(tmp_path, documents, encoder, factory="IVF4,Flat", search_parameters="nprobe=2")
    texts = ["passage number 3", "other"]
    retriever = load_retriever(tmp_path, encoder=encoder, device=device)
    found = retriever.search(texts, 5)
    assert getattr(retriever._index, "_index", retriever._index).nprobe == 2
    assert len(gpus.calls) == (device != "cpu")
    assert gpus.is_half == (device == "gpu_float16")
    assert found == load_retriever(tmp_path, encoder=encoder, device="cpu").search(texts, 5)


@pytest.mark.parametrize("factory", ["HNSW16", "SQ8", "PCA16,HNSW16", "Flat"])
def test_an_index_that_no_gpu_can_hold_stays_on_the_cpu_under_auto_and_is_refused_otherwise(
    filled, gpus, factory, caplog
):
    """FAISS's own function copies some types to the CPU without a word; another index is too large."""
    index = filled(factory)
    gpus.failure = "Failed to cudaMalloc 9 bytes"
    assert to_device(index, "auto") is index
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    for device in ("gpu", "shards"):
        with pytest.raises(ConfigError, match="Flat or IVF"):
            to_device(index, device)
    assert (gpus.calls == []) == (factory != "Flat")


@pytest.mark.skipif(faiss.get_num_gpus() > 0, reason="FAISS finds a GPU")
def test_without_a_gpu_auto_is_the_cpu_and_gpu_is_refused(filled, caplog):
    index = filled("Flat")
    assert to_device(index, "auto") is index
    assert not caplog.records
    for device in ("gpu", "shards", "tpu"):
        with pytest.raises(ConfigError, match=device):
            to_device(index, device)


@pytest.mark.skipif(faiss.get_num_gpus() > 0, reason="FAISS finds a GPU")
@pytest.mark.parametrize("rank", ["0", "1"])
def test_a_machine_with_a_gpu_is_told_once_which_package_is_missing(filled, monkeypatch, caplog, rank):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setenv("LOCAL_RANK", rank)
    _name_missing_package.cache_clear()
    for device in ("cpu", "auto", "auto"):
        to_device(filled("Flat"), device)
    assert ["acqo-rl[gpu]" in record.message for record in caplog.records] == [True] * (rank == "0")


@pytest.mark.skipif(faiss.get_num_gpus() > 0, reason="FAISS finds a GPU")
def test_a_missing_gpu_is_noticed_before_an_index_and_its_encoder_are_read(tmp_path, documents, encoder):
    build_dense_index(tmp_path, documents, encoder)
    (tmp_path / INDEX_NAME).write_bytes(b"damaged")
    with pytest.raises(ConfigError, match="faiss-gpu"):
        load_retriever(tmp_path, device="gpu")


@pytest.mark.gpu
@pytest.mark.skipif(faiss.get_num_gpus() == 0, reason="FAISS finds no GPU")
@pytest.mark.parametrize("device", ["auto", "gpu", "gpu_float16", "shards"])
@pytest.mark.parametrize("factory", ["Flat", "IVF16,Flat"])
def test_four_threads_find_on_a_gpu_what_the_cpu_finds(filled, factory, device):
    queries = np.random.default_rng(1).standard_normal((4, 50, 32)).astype(np.float32)
    index = filled(factory, 2000)
    moved = to_device(index, device)
    assert moved is not index
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda rows: moved.search(rows, 10)[0], queries))
    for scores, rows in zip(found, queries, strict=True):
        np.testing.assert_allclose(scores, index.search(rows, 10)[0], atol=0.05 if device == "gpu_float16" else 1e-4)


def test_threads_search_an_index_on_a_gpu_one_after_another(filled, gpus):
    """FAISS's GPU indexes do not allow concurrent searches; the service searches with several threads."""
    index = to_device(filled("Flat", 20_000), "gpu")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: index.search(np.zeros((50, 32), np.float32), 3), range(8)))
    assert not gpus.crowded
