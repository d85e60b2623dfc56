"""The commands with a collection of a search engine in place of an index folder."""

from dataclasses import replace

import pytest
from engine_cases import of_qdrant, put_documents
from forked import run_command
from shared import PLACES

from acqo_rl.data.beir import write_beir
from acqo_rl.types import Document, Query

DOCUMENTS = [
    Document(f"{name}-capital", name, f"{city} is the capital of {name}.", {"city": city})
    for name, city in PLACES.items()
]
QUERIES = [Query("q1", "Compare the capitals of Peru and Chad"), Query("q2", "What is the capital of Japan?")]
QRELS = {"q1": {"Peru-capital": 1, "Chad-capital": 1}, "q2": {"Japan-capital": 1}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("engine_commands")
    write_beir(folder / "data", DOCUMENTS, QUERIES, {"test": QRELS})
    return folder


@pytest.fixture
def unrelated(tmp_path):
    """A collection of another program whose ids are none of the corpus."""
    place = f"qdrant:{tmp_path}/other/pages"
    index = put_documents("qdrant", place, [replace(d, id=str(n)) for n, d in enumerate(DOCUMENTS)])
    of_qdrant(place)[0].close()  # one process at a time may open the folder
    return f"{index}&mode=text"


@pytest.mark.parametrize(
    "command",
    [("evaluate", "--split", "test"), ("label",), ("headroom", "--split", "test")],
)
def test_data_of_which_a_collection_of_others_holds_nothing_are_refused(folder, unrelated, tmp_path, command):
    done = run_command(
        *command, "--data", folder / "data", "--index", unrelated, "--output", tmp_path / "output", status=2
    )

    assert "Traceback" not in done.stderr
    assert "-capital'" in done.stderr
