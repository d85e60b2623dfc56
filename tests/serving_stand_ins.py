"""A real server on this machine, and scripted stand-ins for its models and indexes."""

import json
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import httpx
from stand_ins import ranking

from acqo_rl.errors import NotFoundError
from acqo_rl.reformulation.pass_through import PassThrough
from acqo_rl.retrieval.manifest import IndexInfo
from acqo_rl.roles import Reformulator, Retriever
from acqo_rl.searching.description import PathSpec
from acqo_rl.searching.searcher import Timeouts
from acqo_rl.serving.app import make_app
from acqo_rl.serving.collections import Collection, InCollection
from acqo_rl.serving.http import Web
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.retriever_app import make_retriever_app
from acqo_rl.serving.server import make_server
from acqo_rl.serving.service import Service
from acqo_rl.types import Document, Reformulation, SubQuery

DOCUMENTS = {
    name: Document(name, name.title(), text, metadata)
    for name, text, metadata in (
        ("lima", "Lima is the capital of Peru.", {"url": "https://lima.example"}),
        ("ndjamena", "Ndjamena is the capital of Chad.", {}),
        ("tokyo", "Tokyo is the capital of Japan.", {}),
    )
}
PERU_AND_CHAD = "capital of Peru and capital of Chad"


def post(client, path="/v1/search", **body):
    """Sends the question, or the given fields, and returns the response."""
    return client.post(path, json={"query": PERU_AND_CHAD, **body})


@contextmanager
def running(app, shutdown_seconds=5):
    """Runs the application on a server in a thread; yields its URL."""
    server = make_server(app, "127.0.0.1", 0, shutdown_seconds)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def collection(name="world", retriever=None, documents=DOCUMENTS, *, cosine=True):
    """A collection with one index, which by default finds documents by their words."""
    retriever = retriever or Words(documents, cosine=cosine)
    return Collection(name, documents, (InCollection(retriever, name, "dense 1"),))


@contextmanager
def serving(
    collections=None,
    *,
    strategies=None,
    path=None,
    timeouts=None,
    limits=None,
    web=Web(),
    shutdown_seconds=5,
    **settings,
):
    """Runs a service of stand-ins; yields a client. ``path`` are attributes of all search paths."""
    strategies = strategies or Scripted(parts=Parts())
    strategies.paths = {name: replace(spec, **(path or {})) for name, spec in strategies.paths.items()}
    service = Service(
        [collection()] if collections is None else collections,
        strategies,
        timeouts or Timeouts(),
        **settings,
    )
    app = make_app(service, limits or Limits(), web)
    with running(app, shutdown_seconds) as url, httpx.Client(base_url=url, timeout=20) as client:
        yield client


@contextmanager
def serving_index(retriever=None, *, limits=None, web=Web()):
    """Runs the server of an index; yields a client."""
    info = IndexInfo("dense", "fingerprint", "corpus", len(DOCUMENTS), "encoder")
    app = make_retriever_app(retriever or Words(), info, limits or Limits(), web)
    with running(app) as url, httpx.Client(base_url=url, timeout=20) as client:
        yield client


def events(text):
    """Name and data of each server-sent event."""
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


class Words(Retriever):
    """Finds the documents that share a word with the text; "broken" in a text raises an error, "stall" waits."""

    def __init__(self, documents=DOCUMENTS, name="dense", cosine=True, extra=0.0):
        self.name = name
        self.cosine = cosine
        self.extra = extra
        self.documents = documents
        self.calls = []

    def search(self, texts, k):
        self.calls.append(list(texts))
        if any("stall" in text for text in texts):
            time.sleep(1.0)
        if any("broken" in text for text in texts):
            raise ConnectionError("the index is down")
        return [self._one(text, k) for text in texts]

    def _one(self, text, k):
        words = set(text.lower().split())
        overlap = {d.id: len(words & set(d.text.lower().rstrip(".").split())) / 10 for d in self.documents.values()}
        best = sorted((d for d in overlap if overlap[d]), key=lambda d: (-overlap[d], d))[:k]
        return ranking(*best, scores=[overlap[d] + self.extra for d in best], retriever=self.name, query=text)


class Parts(Reformulator):
    """Splits queries at " and ", optionally with a delay, and records its batches."""

    name = "parts"
    max_calls = 1

    def __init__(self, seconds=0.0):
        self.seconds = seconds
        self.batches = []

    def reformulate(self, queries):
        self.batches.append([query.text for query in queries])
        time.sleep(self.seconds)
        return [
            Reformulation(
                query,
                "decompose",
                tuple(SubQuery(part, "part") for part in query.text.split(" and ")),
                self.name,
                calls=1,
                query_type="complex",
            )
            for query in queries
        ]


class Back(Reformulator):
    """Searches "capital of Peru" with weight 0.5, and the raw query, whose list must lead by 0.2; gives a reason."""

    name = "back"
    max_calls = 2

    def reformulate(self, queries):
        details = {"calls": 2, "query_type": "factual", "reasoning": "a reason"}
        return [
            Reformulation(
                query,
                "disambiguate",
                (SubQuery("capital of Peru", "reading", 0.5), SubQuery(query.text, "original", min_margin=0.2)),
                self.name,
                **details,
            )
            for query in queries
        ]


class Gate(Reformulator):
    """A reformulator that waits until ``open`` is set."""

    name = "gate"
    max_calls = 1

    def __init__(self):
        self.open = threading.Event()
        self.entered = threading.Semaphore(0)

    def reformulate(self, queries):
        self.entered.release()
        assert self.open.wait(20)
        return Parts().reformulate(queries)


class Scripted:
    """The given reformulators with the interface of ``Strategies``."""

    def __init__(self, **reformulators):
        self._offered = {**reformulators, "raw": PassThrough()}
        self.paths = {name: PathSpec(reformulator=name) for name in self._offered}
        self.names = tuple(self._offered)
        self.default = self.names[0]
        self.asked = []

    def has_variants(self, name):
        return name == "parts"

    def get(self, name, num_variants=None):
        self.asked.append((name, num_variants))
        if name not in self._offered:
            raise NotFoundError(f"Unknown strategy {name!r}.")
        return self._offered[name]
