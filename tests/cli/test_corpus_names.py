"""The lexicon of a corpus is built only if the rules are used, because it takes seconds for a large corpus."""

from __future__ import annotations

import io

import pytest

from acqo_rl.cli import command, module_of
from acqo_rl.data.beir import write_beir
from acqo_rl.reformulation.names import Lexicon
from acqo_rl.retrieval.build import build_bm25_index
from acqo_rl.types import Document, Query

DOCUMENTS = [Document("oslo", "Oslo", "Oslo is the capital of Norway."), Document("lima", "Lima", "A city in Peru.")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    write_beir(folder, DOCUMENTS, [Query("q", "capital of Norway")], {"dev": {"q": {"oslo": 1}}})
    build_bm25_index(folder / "index", DOCUMENTS)
    return folder


@pytest.mark.parametrize(("reformulator", "times"), [("raw", 0), ("turns", 0), ("rules", 1)])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search", ["--index", "{0}/index", "--query", "capital of Peru"]),
        ("evaluate", ["--index", "{0}/index", "--split", "dev", "--output", "{1}"]),
    ],
)
def test_the_lexicon_is_built_only_for_the_rules(folder, tmp_path, monkeypatch, name, arguments, reformulator, times):
    read = []
    monkeypatch.setattr(Lexicon, "of", lambda documents: read.append(list(documents)) or Lexicon())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    script = module_of(name)
    given = [argument.format(folder, tmp_path / "out") for argument in arguments]
    command.run(script.main, ["--data", str(folder), "--reformulator", reformulator, *given])
    assert read == [DOCUMENTS] * times
