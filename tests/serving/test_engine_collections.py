"""A collection of a search engine or an index folder behind the service: filters, tenants, caches and batches."""

import time
from functools import partial
from urllib.parse import urlencode

import pytest
from engine_cases import put_documents
from pipeline_stand_ins import ModelByRole
from serving_stand_ins import collection, events, post, serving
from shared import bm25_folder
from stand_ins import eager_scorer

from acqo_rl.errors import ConfigError
from acqo_rl.searching.searcher import Timeouts
from acqo_rl.searching.settings import StepSettings
from acqo_rl.serving.batching import Batcher
from acqo_rl.serving.collections import open_collection
from acqo_rl.serving.strategies import Strategies
from acqo_rl.types import Document

CITIES = [
    Document("lima", "Peru", "Lima is the capital.", {"owner": "anna", "year": 2020}),
    Document("cusco", "Peru", "Cusco was the capital.", {"owner": "anna", "year": 1990}),
    Document("oslo", "Norway", "Oslo is the capital.", {"owner": "ben", "year": 2020}),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """Location of the cities in an engine, by mode and options."""
    return put_documents("http+json", f"http+json:{tmp_path_factory.mktemp('cities')}/cities.yaml", CITIES)


@pytest.fixture(scope="module", params=["engine", "folder"])
def place(request, index, tmp_path_factory):
    """Location of the cities in an engine or in a folder, by options."""
    if request.param == "engine":
        return lambda **options: index("text", **options)
    folder = bm25_folder(tmp_path_factory.mktemp("cities"), CITIES)
    return lambda **options: f"{folder}?{urlencode(options)}" if options else folder


def serving_cities(place, steps=None, **options):
    cities = open_collection(f"cities={place}", batcher=partial(Batcher, size=8))
    strategies = Strategies((steps or StepSettings()).paths(["rules", "auto", "raw"]))
    return serving([cities], strategies=strategies, timeouts=Timeouts(sub_query=20.0), **options)


@pytest.fixture(scope="module")
def client(place):
    with serving_cities(place()) as client:
        yield client


@pytest.fixture(scope="module")
def of_tenants(place):
    with serving_cities(place(tenant="owner")) as client:
        yield client


def found(client, status=200, path="/v1/search", **body):
    answer = post(client, path, **{"query": "capital", **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def answered(client):
    return events(post(client, "/v1/answer", query="capital").text)[-1][1]


def ids(body):
    return {result["document_id"] for result in body["results"]}


def test_a_filter_has_results_of_its_own(client):
    assert ids(found(client)) == {"lima", "cusco", "oslo"}
    assert ids(found(client, filter={"year": {"gte": 2000}})) == {"lima", "oslo"}
    assert ids(found(client, filter={"owner": ["anna"], "year": 1990})) == {"cusco"}
    for city, where in (
        ("lima", {"owner": "anna", "year": 2020}),
        ("cusco", {"year": 1990}),
        ("oslo", {"owner": "ben"}),
    ):
        assert ids(found(client, filter=where, limit=1)) == {city}  # the first of a search of its own


def test_answers_from_documents_that_may_be_deleted_are_cached_for_a_shorter_time(index, tmp_path, monkeypatch):
    monkeypatch.setattr("acqo_rl.serving.service._CHANGING", 0.1)
    for place in (index("text"), bm25_folder(tmp_path, CITIES)):
        with serving_cities(
            place, answer_model=ModelByRole(analyzer="simple", synthesis="Lima.", grounding='{"claims": []}')
        ) as client:
            cached = [answered(client)["cached"] for _ in range(2)]
            time.sleep(0.2)
            assert [*cached, answered(client)["cached"]] == [False, True, place[0] == "/"]


def test_a_search_names_a_tenant_where_there_are_some(client, of_tenants):
    assert found(of_tenants, 409)["detail"]
    assert found(of_tenants, 409, "/v1/answer")["detail"]
    assert found(client, 409, tenant="anna")["detail"]
    assert of_tenants.get("/readyz").status_code == 200


def test_an_index_that_cannot_filter_is_refused():
    with serving([collection()]) as client:
        assert found(client, 409, filter={"year": 2020})["detail"]
        assert len(ids(found(client))) == 3


def test_all_indexes_of_a_collection_have_tenants_or_none(index):
    with pytest.raises(ConfigError):
        open_collection(f"cities={index('text', tenant='owner')},{index()}")


@pytest.mark.parametrize(
    ("seen", "hidden", "restriction"),
    [
        ({"lima", "cusco"}, ("Norway", "Oslo", "oslo"), {"tenant": "anna"}),
        ({"oslo"}, ("Peru", "Lima", "lima"), {"tenant": "ben"}),
        ({"cusco"}, ("Norway", "Lima", "lima"), {"tenant": "anna", "filter": {"year": {"lt": 2000}}}),
    ],
)
@pytest.mark.parametrize("strategy", ["rules", "auto"])
def test_choice_and_hops_read_and_search_only_what_may_be_seen(place, tmp_path, strategy, seen, hidden, restriction):
    eager_scorer().save(tmp_path)
    steps = StepSettings(hops=2, hop=str(tmp_path))
    with serving_cities(place(tenant="owner"), steps=steps) as client:
        answer = found(client, rewriting_strategy=strategy, **restriction)
    assert ids(answer) == seen
    assert "'kind': 'hop'" in str(answer)
    assert ("Chosen after reading results" in str(answer)) == (strategy == "auto")
    assert not any(word in str(answer) for word in hidden)
