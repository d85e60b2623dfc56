"""benchmarks/service.py on a policy of random weights; how fast it is, is not tested."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import httpx
import pytest
from server_process import ROOT
from shared import load_script
from tiny_policy import full_model

from acqo_rl.cli import command
from acqo_rl.conversations import read_history
from acqo_rl.data.beir import write_beir
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.types import Document, Query

PLACES = {"Peru": "Lima", "Chad": "Ndjamena", "Norway": "Oslo", "Japan": "Tokyo"}


@pytest.fixture
def script(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return load_script(ROOT / "benchmarks" / "service.py", "benchmark_service")


@pytest.mark.slow
def test_nothing_is_lost_or_mixed_up(tmp_path):
    documents = [Document(place, place, f"{city} is the capital of {place}.") for place, city in PLACES.items()]
    queries = [Query(place, f"What is the capital of {place}?") for place in PLACES]
    write_beir(tmp_path, documents, queries, {"dev": {place: {place: 1} for place in PLACES}})
    build_bm25_index(tmp_path / "index", documents)
    policy = full_model(tmp_path, feedback_results=2, max_new_tokens=4)
    settings = ("--collection", f"world={tmp_path},{tmp_path}/index", "--strategy", f"policy={policy}")
    size = ("--clients", "1", "4", "--requests", "9", "--turns", "2")
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "service.py"), *settings, *size],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    machine, _, *table = done.stdout.splitlines()
    assert "of " in machine and "load before the run" in machine
    rows = [re.split(r" *\| *", line.strip("| ")) for line in table[2:]]
    assert [row[:3] for row in rows] == [["auto", batching, clients] for clients in "14" for batching in ("off", "on")]
    assert all(row[9:] == ["0", "0", "0", "0", "9"] for row in rows)
    assert all(float(cell) > 0 for row in rows for cell in row[3:9])


async def test_a_query_is_sent_with_its_conversation(script):
    sent = []

    def answer(request):
        sent.append(json.loads(request.content))
        return httpx.Response(200, json={})

    async with httpx.AsyncClient(base_url="http://service", transport=httpx.MockTransport(answer)) as http:
        await script.ask(
            http, "1", Query("q", "And its capital?", read_history(["U: Where is Peru?", "S: In South America."]))
        )
    assert sent[0]["query"] == "And its capital?"
    assert sent[0]["history"] == ["U: Where is Peru?", "S: In South America."]


KNOWN = {"a and b": (frozenset(["a", "b"]), ("1", "2")), "c": (frozenset(["c"]), ("3",))}


class TestVerdicts:
    def answer(self, *searched, failed=(), found="12", **changed):
        return {
            "asked as": "1",
            "request_id": "1",
            "query_rewrite_info": {"original_query": "a and b"},
            "rankings": [{"query": text} for text in searched],
            "failures": [{"sub_query": text} for text in failed],
            "results": [{"document_id": doc_id} for doc_id in found],
        } | changed

    def test_each(self, script):
        def verdict(answer):
            return script.verdict("a and b", answer, KNOWN)

        assert verdict(self.answer("a", "b")) == "fine"
        assert verdict(None) == "errors"
        assert verdict(self.answer("a", failed=["b"])) == "partial"
        assert verdict(self.answer("a")) == "other"
        assert verdict(self.answer("c")) == "mixed up"
        assert verdict(self.answer("a", "b", request_id="2")) == "mixed up"
        assert verdict(self.answer("a", "b", found="3")) == "mixed up"
        assert verdict(self.answer("a", "b", found="21")) == "other"
        assert verdict(self.answer("a", "b", query_rewrite_info={"original_query": "c"})) == "mixed up"

    def test_percentiles(self, script):
        line = script.Line([i / 1000 for i in range(101)], 2.0, ["fine"] * 100 + ["errors"], 10.1, 700.0)
        assert script.figures(line) == ["50.0", "100", "700", "50", "95", "99", "1", "0", "0", "0", "101"]


def test_a_service_that_does_not_start_says_why(script, tmp_path, capsys):
    write_beir(tmp_path, [Document("1", "", "x")], [Query("1", "x")], {"dev": {"1": {"1": 1}}})
    with pytest.raises(SystemExit) as ended:
        command.run(script.main, ["--collection", f"world={tmp_path},nowhere"])
    assert ended.value.code == 2
    assert "nowhere" in capsys.readouterr().err
