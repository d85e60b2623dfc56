"""What schemathesis makes of the OpenAPI of both applications, sent to a real server."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pipeline_stand_ins import ModelByRole
from serving_stand_ins import DOCUMENTS, Parts, Scripted, Words, running

from acqo_rl.fusion import RankScoreFusion
from acqo_rl.retrieval.remote import IndexInfo
from acqo_rl.searching.searcher import Timeouts
from acqo_rl.serving.app import make_app
from acqo_rl.serving.collections import Collection, InCollection
from acqo_rl.serving.limits import Limits
from acqo_rl.serving.metrics import Metrics
from acqo_rl.serving.retriever_app import make_retriever_app
from acqo_rl.serving.service import Service

OPTIONS = ["--max-examples", "5", "--generation-deterministic", "--no-color", "--workers", "1"]


def service_app():
    collections = [
        Collection("world", DOCUMENTS, (InCollection(Words(), "world", "dense 1"),)),
        Collection("words", DOCUMENTS, (InCollection(Words(cosine=False), "words", "bm25"),)),
    ]
    model = ModelByRole(analyzer="simple", synthesis="Lima.", grounding='{"claims": []}')
    strategies = Scripted(rules=Parts())
    service = Service(collections, strategies, RankScoreFusion(), Timeouts(10, 5, 5), answer_model=model)
    return make_app(service, Metrics(), Limits())


def retriever_app():
    info = IndexInfo("dense", "fingerprint", "corpus", len(DOCUMENTS), "encoder")
    return make_retriever_app(Words(), info, Metrics(), Limits(body_bytes=16_777_216, concurrency=1))


@pytest.mark.slow
@pytest.mark.parametrize("make", [service_app, retriever_app])
def test_schemathesis_finds_nothing(make, tmp_path):
    """Examples, edge cases and random bodies of every operation: statuses, types, headers, schemas of the answers."""
    app = make()
    operations = sum(map(len, app.openapi()["paths"].values()))
    with running(app) as url:
        done = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json", *OPTIONS],
            capture_output=True,
            text=True,
            timeout=100,
            cwd=tmp_path,
        )
    told = "\n".join(line[:400] for line in done.stdout.splitlines())
    assert done.returncode == 0, told + done.stderr
    assert f"Tested: {operations}\n" in told
    assert "No issues found" in told
