"""Where a FAISS index is searched: a stand-in records the calls of FAISS's GPU functions; the real ones need a GPU."""

import logging
import threading
import time

import faiss
import numpy as np
import pytest

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval import build_bm25_index, build_dense_index, faiss_index, load_retriever
from acqo_rl.retrieval.gpu import to_device
from acqo_rl.retrieval.settings import IndexSettings


def filled(factory, count=400):
    vectors = np.random.default_rng(0).standard_normal((count, 32)).astype(np.float32)
    index = faiss_index.make_index(32, factory)
    faiss_index.fill(index, [vectors], factory)
    return index


class Options:
    """As FAISS's cloner options: attributes that are set before the call."""


class Copy:
    """A copy on a GPU, which remembers whether two threads were in it at the same time."""

    def __init__(self, index):
        self.d, self.ntotal = index.d, index.ntotal
        self.index, self.inside, self.crowded = index, 0, False

    def search(self, vectors, k):
        self.inside += 1
        time.sleep(0.01)
        self.crowded |= self.inside > 1
        self.inside -= 1
        return self.index.search(vectors, k)


class Gpus:
    """The functions of FAISS with GPU support, on a machine with some GPUs."""

    def __init__(self, monkeypatch, count):
        self.calls, self.copies, self.failure = [], [], None
        functions = {
            "StandardGpuResources": Options, "GpuMultipleClonerOptions": Options,
            "get_num_gpus": lambda: count, "index_cpu_to_gpu": self.to_one, "index_cpu_to_all_gpus": self.to_all,
        }  # fmt: skip
        for name, function in functions.items():
            monkeypatch.setattr(faiss, name, function, raising=False)

    def to_one(self, resources, device, index):
        assert isinstance(resources, faiss.StandardGpuResources)
        return self.copy(device, index)

    def to_all(self, index, options, ngpu=-1):
        assert isinstance(options, faiss.GpuMultipleClonerOptions)
        assert options.shard
        return self.copy("all", index)

    def copy(self, device, index):
        self.calls.append((device, type(index).__name__))
        if self.failure:
            raise RuntimeError(self.failure)
        self.copies.append(Copy(index))
        return self.copies[-1]


@pytest.fixture
def gpus(monkeypatch):
    """Two of them."""
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    return Gpus(monkeypatch, 2)


@pytest.fixture
def without_gpu(monkeypatch):
    """FAISS with GPU support on a machine without a GPU."""
    return Gpus(monkeypatch, 0)


@pytest.mark.parametrize("device", ["auto", "gpu"])
def test_an_index_goes_whole_to_one_gpu(gpus, device):
    to_device(filled("Flat"), device)
    to_device(filled("IVF4,PQ8"), device)
    assert gpus.calls == [(0, "IndexFlat"), (0, "IndexIVFPQ")]


def test_each_process_of_a_training_takes_its_own_gpu(gpus, monkeypatch):
    """The third process of a machine with two GPUs shares the first one."""
    for rank in ("0", "1", "2"):
        monkeypatch.setenv("LOCAL_RANK", rank)
        to_device(filled("Flat"), "auto")
    assert [device for device, *_ in gpus.calls] == [0, 1, 0]


def test_search_parameters_are_set_before_the_index_is_copied(gpus, tmp_path, documents, encoder):
    build_dense_index(tmp_path, documents, encoder, factory="IVF4,Flat", search_parameters="nprobe=3")
    load_retriever(tmp_path, encoder=encoder)
    [copy] = gpus.copies
    assert copy.index.nprobe == 3


@pytest.mark.parametrize("device", ["cpu", "auto", "gpu", "shards"])
def test_a_retriever_finds_the_same_wherever_its_index_is(gpus, tmp_path, documents, encoder, device):
    build_dense_index(tmp_path, documents, encoder)
    texts = ["passage number 3", "other"]
    found = load_retriever(tmp_path, encoder=encoder, device=device).search(texts, 5)
    assert len(gpus.calls) == (device != "cpu")
    assert found == load_retriever(tmp_path, encoder=encoder, device="cpu").search(texts, 5)


def test_two_threads_do_not_search_an_index_on_a_gpu_at_the_same_time(gpus):
    """FAISS's GPU indexes do not allow it; the service searches with several threads."""
    index = to_device(filled("Flat"), "gpu")
    vectors = np.zeros((1, 32), np.float32)
    threads = [threading.Thread(target=index.search, args=(vectors, 3)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not gpus.copies[0].crowded


@pytest.mark.parametrize("factory", ["HNSW16", "SQ8", "PCA16,HNSW16"])
def test_an_index_type_without_gpu_stays_on_the_cpu_under_auto_and_is_refused_otherwise(gpus, factory, caplog):
    """FAISS's own function copies some of them to the CPU without a word."""
    index = filled(factory)
    assert to_device(index, "auto") is index
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    for device in ("gpu", "shards"):
        with pytest.raises(ConfigError, match="Flat or IVF"):
            to_device(index, device)
    assert gpus.calls == []


def test_an_index_that_does_not_fit_stays_on_the_cpu_under_auto_and_is_refused_otherwise(gpus, caplog):
    gpus.failure = "Error in virtual void* faiss::gpu::allocMemory(): Error: Failed to cudaMalloc 9 bytes"
    index = filled("Flat")
    assert to_device(index, "auto") is index
    assert "cudaMalloc" in caplog.text
    with pytest.raises(ConfigError, match="cudaMalloc"):
        to_device(index, "gpu")


def test_without_a_gpu_auto_is_the_cpu_and_gpu_is_refused(without_gpu, caplog):
    index = filled("Flat")
    assert to_device(index, "auto") is index
    assert not caplog.records
    for device in ("gpu", "shards"):
        with pytest.raises(ConfigError, match="CUDA_VISIBLE_DEVICES"):
            to_device(index, device)


def test_an_unknown_device_is_refused():
    with pytest.raises(ConfigError, match="'tpu'"):
        to_device(filled("Flat"), "tpu")


def test_the_settings_of_a_command_place_its_index(gpus, tmp_path, documents, encoder):
    build_dense_index(tmp_path / "dense", documents, encoder)
    build_bm25_index(tmp_path / "bm25", documents)
    settings = IndexSettings(index_device="shards")
    settings.open_index(str(tmp_path / "dense"), encoder=encoder)
    settings.open_index(str(tmp_path / "bm25"))
    assert gpus.calls == [("all", "IndexFlatIP")]


real = [pytest.mark.gpu, pytest.mark.skipif(faiss.get_num_gpus() == 0, reason="FAISS finds no GPU")]


class TestOnAGpu:
    pytestmark = real

    @pytest.mark.parametrize("device", ["auto", "gpu", "shards"])
    @pytest.mark.parametrize("factory", ["Flat", "IVF16,Flat"])
    def test_it_finds_what_the_cpu_finds(self, factory, device):
        queries = np.random.default_rng(1).standard_normal((20, 32)).astype(np.float32)
        index = filled(factory, 2000)
        moved = to_device(index, device)
        assert moved is not index
        np.testing.assert_allclose(moved.search(queries, 10)[0], index.search(queries, 10)[0], atol=1e-4)

    def test_four_threads_search_one_index(self):
        index = filled("Flat", 2000)
        moved = to_device(index, "gpu")
        queries = np.random.default_rng(1).standard_normal((4, 50, 32)).astype(np.float32)
        found = [None] * 4

        def search(i):
            found[i] = moved.search(queries[i], 10)[1]

        threads = [threading.Thread(target=search, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i in range(4):
            np.testing.assert_array_equal(found[i][:, 0], index.search(queries[i], 10)[1][:, 0])
