"""Fixtures of the tests of all integrations."""

from __future__ import annotations

import ast
import importlib.util
import os
import textwrap
from pathlib import Path

import pytest
from small_world import DOCUMENTS, make_searcher
from stand_ins import BrokenRetriever

from acqo_rl.data.beir import write_beir
from acqo_rl.fusion import RankScoreFusion
from acqo_rl.reformulation.heuristic import Heuristic
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.searching.searcher import AdaptiveSearcher
from acqo_rl.types import Document

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A BEIR folder and its index, with the folder names of the demo."""
    folder = tmp_path_factory.mktemp("integrations")
    cities = [Document(city, city, f"{city} is in Norway.") for city in ("Oslo", "Bergen")]  # used by the examples
    write_beir(folder / "data", [*DOCUMENTS, *cities], [], {})
    build_bm25_index(folder / "index", [*DOCUMENTS, *cities])
    return folder


@pytest.fixture(scope="session")
def searcher():
    return make_searcher()


@pytest.fixture(scope="session")
def broken_searcher():
    return AdaptiveSearcher(Heuristic(), BrokenRetriever(), RankScoreFusion())


@pytest.fixture
def run_example(folder, capsys):
    """Runs the example in a module's docstring on the small index; returns its variables and its output."""

    def run(module):
        path = Path(importlib.util.find_spec(f"acqo_rl.integrations.{module}").origin)
        docstring = ast.get_docstring(ast.parse(path.read_text()))
        code = "\n".join(line for line in docstring.splitlines() if not line or line.startswith("    "))
        made = {}
        exec(compile(textwrap.dedent(code).replace("outputs/demo", str(folder)), str(path), "exec"), made)
        return made, capsys.readouterr().out

    return run
