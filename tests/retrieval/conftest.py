import itertools
import zlib

import numpy as np
import pytest
from engine_cases import ENGINES

from acqo_rl.retrieval import faiss_index
from acqo_rl.retrieval.encoder import SentenceTransformerEncoder
from acqo_rl.roles import Encoder
from acqo_rl.types import Document


class ExactEncoder(Encoder):
    """Small whole numbers that depend on the text alone: inner products are exact, whatever the batch."""

    def __init__(self, dim=16, fingerprint="exact"):
        self.dim = dim
        self.fingerprint = fingerprint
        self.calls = []

    def encode_queries(self, texts):
        self.calls.append(len(texts))
        rows = [np.random.default_rng(zlib.crc32(t.encode())).integers(-3, 4, self.dim) for t in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.dim)

    encode_passages = encode_queries


@pytest.fixture(autouse=True)
def one_thread():
    """FAISS waits for its threads in a busy loop, which takes minutes on a machine that others use too."""
    faiss_index.import_faiss().omp_set_num_threads(1)


@pytest.fixture
def encoder():
    return ExactEncoder()


@pytest.fixture(scope="session")
def make_encoder():
    return ExactEncoder


@pytest.fixture(scope="session")
def filled():
    """Makes a FAISS index of the given vectors, or of random ones."""

    def made(factory, vectors=400, build_parameters=""):
        if isinstance(vectors, int):
            vectors = np.random.default_rng(0).standard_normal((vectors, 32)).astype(np.float32)
        index = faiss_index.make_index(vectors.shape[1], factory, build_parameters)
        faiss_index.fill(index, np.array_split(vectors, 7), factory)
        return index

    return made


@pytest.fixture
def documents():
    """Sixty distinct passages, then the first ten again under other ids."""
    rows = [Document(f"d{i}", f"Title {i}" if i % 2 else "", f"passage number {i}") for i in range(60)]
    return rows + [Document(f"copy{i}", rows[i].title, rows[i].text) for i in range(10)]


@pytest.fixture(scope="session")
def minilm():
    return SentenceTransformerEncoder("embedded:minilm", dtype="float32")


@pytest.fixture(params=ENGINES)
def engine(request):
    """Name of an engine that the tests have."""
    return request.param


@pytest.fixture(scope="session")
def engine_index(tmp_path_factory, request):
    """Location of a new collection in an engine that the tests have."""
    numbers = itertools.count()

    def located(engine, name):
        if engine == "postgresql":
            return f"{request.getfixturevalue('postgres')}/{name}_{next(numbers)}"
        return f"{engine}:{tmp_path_factory.mktemp('templates')}/{name}_{next(numbers)}.yaml"

    return located
