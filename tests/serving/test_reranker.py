"""A service with a reranker after the fusion."""

from __future__ import annotations

from dataclasses import replace

from pipeline_stand_ins import ModelByRole
from serving_stand_ins import Words, collection, events, post, serving

from acqo_rl.roles import Reranker

ASKED = "capital of Japan"


class Backwards(Words):
    """Finds all documents, the best last."""

    def _one(self, text, k):
        found = super()._one(text, k)
        return replace(found, doc_ids=found.doc_ids[::-1])


class OfJapan(Reranker):
    """Prefers documents about Japan; the first call fails if ``broken``."""

    name = "of-japan"

    def __init__(self, broken=False):
        self.broken = broken

    def score(self, pairs):
        if self.broken:
            self.broken = False
            raise ConnectionError("the reranker is down")
        return [float("Japan" in passage) for _, passage in pairs]


def found_by(client):
    body = post(client, query=ASKED).json()
    return [document["document_id"] for document in body["results"]], [failure["step"] for failure in body["failures"]]


def test_results_are_those_of_the_reranker():
    world = [collection(retriever=Backwards())]
    with serving(world) as client:
        assert found_by(client)[0][-1] == "tokyo"
    with serving(world, reranker=OfJapan(), answer_model=ModelByRole()) as client:
        assert found_by(client)[0][0] == "tokyo"
        _, answer = events(post(client, "/v1/answer", query=ASKED, mode="simple").text)[-1]
        assert answer["passages"][0]["document_id"] == "tokyo"


def test_a_reranker_that_fails_is_reported_and_the_fused_results_returned():
    with serving([collection(retriever=Backwards())], reranker=OfJapan(broken=True)) as client:
        doc_ids, failures = found_by(client)
        assert (doc_ids[-1], failures) == ("tokyo", ["reranking"])
        assert found_by(client)[0][0] == "tokyo"
