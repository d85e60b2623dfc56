"""The package installed from its wheel, without the repository."""

import json
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from server_process import started
from shared import ACQO, PLACES

from acqo_rl.data.beir import write_beir
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.types import Document, Query

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder in which the wheel is installed; dependencies are those of the tests."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-deps", "--target", folder, ROOT], check=True, timeout=300)  # via a wheel
    return folder


@pytest.fixture
def acqo(installed, tmp_path):
    """Runs the command of the wheel in an empty folder."""

    def run(*arguments):
        environment = {**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [*ACQO, *map(str, arguments)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stderr[-3000:]

    return run


def test_evaluation_and_service(acqo, installed, tmp_path, monkeypatch):
    assert (installed / "bin" / "acqo").is_file()
    assert (installed / "acqo_rl" / "configs" / "grpo" / "stage1.yaml").is_file()
    documents = [Document(place, place, f"{city} is the capital of {place}.") for place, city in PLACES.items()]
    queries = [Query("1", "capital of Peru"), Query("2", "compare the capitals of Chad and Norway")]
    write_beir(tmp_path / "data", documents, queries, {"dev": {"1": {"Peru": 1}, "2": {"Chad": 1, "Norway": 1}}})

    build_bm25_index(tmp_path / "index", documents)
    where = ("--data", "data", "--index", "index", "--reformulator", "rules")
    acqo("evaluate", *where, "--split", "dev", "--output", "evaluation")
    summary = json.loads((tmp_path / "evaluation" / "summary.json").read_text())
    assert summary["systems"][0]["overall"]["measures"]["AllGold@10"] == 1

    monkeypatch.chdir(tmp_path)  # Python imports from the current folder first
    served = ("serve", "--collections", f"world={tmp_path}/data,{tmp_path}/index", "--strategies", "rules")
    with started(*served, PYTHONPATH=str(installed)) as server:
        answer = httpx.post(f"{server.url}/v1/search", json={"query": "capital of Peru"}, timeout=60).json()
        page = httpx.get(server.url, timeout=60)
    assert answer["results"][0]["document_id"] == "Peru"
    assert page.status_code == 200
