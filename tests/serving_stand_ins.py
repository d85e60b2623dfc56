"""A real server over loopback, and scripted stand-ins of what it serves."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager

from stand_ins import ranking

from acqo_rl.types import Completion, Document, Reformulation, SubQuery

DOCUMENTS = {
    name: Document(name, name.title(), text, metadata)
    for name, text, metadata in (
        ("lima", "Lima is the capital of Peru.", {"url": "https://lima.example"}),
        ("ndjamena", "Ndjamena is the capital of Chad.", {}),
        ("tokyo", "Tokyo is the capital of Japan.", {}),
    )
}


@contextmanager
def running(app):
    """The URL of a server that runs the application in a thread."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False, timeout_graceful_shutdown=5))
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


def events(text):
    """Name and data of each server-sent event."""
    blocks = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


class Words:
    """A retriever that finds the documents that share a word with the text; fails and stalls on command."""

    def __init__(self, documents=DOCUMENTS, name="dense", cosine=True, extra=0.0):
        self.name, self.cosine, self.extra = name, cosine, extra
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
        scores = [overlap[d] + self.extra for d in best]
        return ranking(*best, scores=scores, retriever=self.name, query=text)


class Parts:
    """A reformulator that splits at " and ", slowly where it is told so, and keeps what it was asked."""

    name = "parts"

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


class Back:
    """A reformulator that searches "capital of Peru", and beside it the query, whose list has to lead by .2."""

    name = "back"

    def reformulate(self, queries):
        reading = SubQuery("capital of Peru", "reading")
        return [
            Reformulation(q, "disambiguate", (reading, SubQuery(q.text, "original", lead=0.2)), self.name, calls=1)
            for q in queries
        ]


class Weighted:
    """A reformulator that searches "capital of Peru" and an answer to it, of other weights, and says why."""

    name = "weighted"

    def reformulate(self, queries):
        subs = (
            SubQuery("capital of Peru", "original", 0.5),
            SubQuery("Lima is the capital of Peru.", "hypothetical", 1.5),
        )
        told = {"calls": 2, "query_type": "factual", "reasoning": "Selected hyde for factual query"}
        return [Reformulation(query, "expand", subs, self.name, **told) for query in queries]


class Gate:
    """A reformulator that waits until it is let go."""

    name = "gate"

    def __init__(self):
        self.open = threading.Event()
        self.entered = threading.Semaphore(0)

    def reformulate(self, queries):
        self.entered.release()
        assert self.open.wait(20)
        return Parts().reformulate(queries)


class Echo:
    """A language model that says what it was told, and keeps the sizes of its batches."""

    def __init__(self, seconds=0.0):
        self.seconds = seconds
        self.sizes = []

    def generate(self, conversations):
        self.sizes.append(len(conversations))
        time.sleep(self.seconds)
        return [Completion(conversation[-1]["content"], 1) for conversation in conversations]


class Scripted:
    """Strategies of given reformulators, as ``Strategies`` offers them."""

    def __init__(self, **reformulators):
        from acqo_rl.reformulation.pass_through import PassThrough
        from acqo_rl.serving.strategies import Offered

        self._offered = {name: Offered(r) for name, r in {**reformulators, "raw": PassThrough()}.items()}
        self.names = tuple(self._offered)
        self.default = self.names[0]
        self.asked = []

    def get(self, name, num_variants):
        from acqo_rl.errors import NotFoundError

        self.asked.append((name, num_variants))
        if name not in self._offered:
            raise NotFoundError(f"There is no strategy {name!r}.")
        return self._offered[name]
