"""Loading a service from settings, and the defaults."""

import pytest
from shared import bm25_folder
from stand_ins import eager_scorer

from acqo_rl.errors import SearchError
from acqo_rl.reformulation.settings import StrategySettings
from acqo_rl.serving.load import ServiceSettings, TimeoutSettings, load_service
from acqo_rl.types import Document, Query

DOCUMENTS = [
    Document("oslo", "Oslo", "Oslo is the capital of Norway."),
    Document("bergen", "Bergen", "Bergen is a city of Norway."),
    Document("fjord", "Fjord", "A fjord is a long inlet."),
]


@pytest.fixture
def load(tmp_path):
    opened = []

    def load(**settings):
        collections = [f"world={bm25_folder(tmp_path, DOCUMENTS)}"]
        opened.append(load_service(ServiceSettings(collections, **settings), StrategySettings(num_variants=2)))
        return opened[-1]

    yield load
    for service in opened:
        service.close()


def search(service, text):
    return service.searcher("raw", None, tuple(service.collections)).search(Query("q", text))


def test_hops_look_up_titles_of_local_documents(load, tmp_path):
    eager_scorer().save(tmp_path / "hop")
    service = load(strategies=["raw"], hops=1, hop=str(tmp_path / "hop"))
    [query, name, longer] = search(service, "What is the inlet near a city of norway?").reformulation.sub_queries
    assert longer.text == f"{query.text} {name.text}"


def test_warming_up_has_no_time_limit(load):
    """The first search of a process may take longer than any later one."""
    limits = TimeoutSettings(*[1e-9] * 5)
    with pytest.raises(SearchError):
        search(load(strategies=["raw"], timeouts=limits), "Norway")
