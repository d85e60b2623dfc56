"""A service of stand-ins behind a real server."""

from __future__ import annotations

from contextlib import contextmanager

import httpx
import pytest
from serving_stand_ins import DOCUMENTS, Parts, Scripted, Words, running
from stand_ins import ScriptedLanguageModel

from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.policy import Policy, PolicySettings, prompt_of
from acqo_rl.searching.searcher import Timeouts
from acqo_rl.serving.app import make_app
from acqo_rl.serving.collections import Collection, InCollection
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.service import Service


def collection(name, retriever=None, documents=DOCUMENTS, *, cosine=True):
    retriever = retriever or Words(documents, cosine=cosine)
    return Collection(name, documents, (InCollection(retriever, name, "dense 1"),))


@pytest.fixture
def serving():
    """Starts a service; yields a client for it."""

    @contextmanager
    def start(collections=None, limits=None, timeouts=None, strategies=None, **settings):
        service = Service(
            collections or [collection("world")],
            strategies or Scripted(parts=Parts()),
            RankScoreFusion(),
            timeouts or Timeouts(),
            **settings,
        )
        with (
            running(make_app(service, Metrics(), limits or Limits())) as url,
            httpx.Client(base_url=url, timeout=20) as client,
        ):
            yield client

    return start


@pytest.fixture
def in_collection():
    return collection


@pytest.fixture(scope="module")
def client():
    """A service shared by several tests."""
    service = Service([collection("world")], Scripted(parts=Parts()), RankScoreFusion(), Timeouts())
    with running(make_app(service, Metrics(), Limits())) as url, httpx.Client(base_url=url, timeout=20) as client:
        yield client


@pytest.fixture
def passing_policy(monkeypatch):
    """Replaces every policy by one that always passes; returns the list of loaded policies."""
    loaded = []

    def from_pretrained(path, *, name, **_):
        loaded.append((path, name))
        settings = PolicySettings(feedback_results=1, feedback_words=5)
        return Policy(ScriptedLanguageModel("pass"), prompt_of(settings, len), settings, name)

    monkeypatch.setattr(Policy, "from_pretrained", from_pretrained)
    return loaded
