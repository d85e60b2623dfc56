"""Filters mean the same in every engine and index folder: they find what a test of each document's metadata finds."""

import operator
from datetime import UTC, datetime

import pytest
from engine_cases import ENGINES, FOLDERS, UnitEncoder, index_folder, located, put_documents, put_rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acqo_rl.errors import ConfigError
from acqo_rl.retrieval.engines.filters import read_filter
from acqo_rl.retrieval.engines.opening import documents_of
from acqo_rl.retrieval.load import load_retriever
from acqo_rl.searching.feedback import fetch
from acqo_rl.serving.collections import Collection
from acqo_rl.types import Document, Scope

BOUNDS = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}


def type_of(value):
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value)


def instant(value):
    try:
        time = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def holds(value, wanted):
    """What a filter means, for one field."""
    if isinstance(wanted, dict) and any(isinstance(bound, str) for bound in wanted.values()):
        time = instant(value)
        return time is not None and all(BOUNDS[name](time, instant(bound)) for name, bound in wanted.items())
    if isinstance(wanted, dict):
        return type_of(value) == "number" and all(BOUNDS[name](value, bound) for name, bound in wanted.items())
    values, all_wanted = (one if isinstance(one, list) else [one] for one in (value, wanted))
    return any(type_of(one) == type_of(other) and one == other for one in values for other in all_wanted)


VALUES = [
    *(1, 1.0, True, False, 0, -0.0, "1", "", "true", -3, -3.0, 2.5, -2.5, 2**53 + 1, 1e300, "a'b", None),
    *([1, "a"], ["z", "b"], [2.5, True], ["2.5"], [-7, 7], [], {"inner": 1}, [{"inner": 1}], {"inner": [1, 2]}),
    *("2024-01-10", "2024-01-10T12:00:00Z", "2024-01-10T23:30:00-05:00", "2024-01-11T00:00:00+02:00"),
]
scalars = st.sampled_from(
    [value for value in VALUES if isinstance(value, str) or (isinstance(value, (int, float)) and abs(value) <= 2**53)]
    + [7, "a", "b", 2**53]
)
numbers = st.sampled_from([-3, 0, 0.5, 2.5, 2**53])
times = st.sampled_from(["2024-01-10", "2024-01-10T12:00:00Z", "2024-01-11T04:30:00Z", "2024-01-11", "2024-01-09"])
bounds = st.one_of(*(st.dictionaries(st.sampled_from(list(BOUNDS)), of, min_size=1) for of in (numbers, times)))
inner = st.sampled_from([1, 2, [2, "a"], {"gte": 1}])
conditions = st.one_of(scalars, st.lists(scalars, min_size=1, max_size=3), bounds)


ROWS = [
    {"page": 1, "rate": 1.0, "draft": True, "owner": "New York", "day": "2024-01-01", "tags": ["x", "a b"]},
    {"page": -3, "rate": 2.5, "draft": False, "owner": "1", "day": "2024-01-02", "tags": []},
    {"page": 0, "rate": -3.0, "draft": False, "owner": "true", "day": "2024-02-01", "tags": ["1"]},
    {"page": 9, "rate": 0.25, "draft": False, "owner": "fr", "day": "2024-03-01", "tags": ["x", "1"]},
]
typed_filters = st.fixed_dictionaries(
    {},
    optional={
        "page": st.sampled_from([1, 1.0, 1.5, True, "1", -3, 2**40, [0, "a"], {"gt": 0.5}, {"lte": -2.5}]),
        "rate": st.sampled_from([1, 2.5, -3, True, "2.5", 0.25, [0.25, 1], {"gt": 0.25}, {"lte": 0.25}]),
        "draft": st.sampled_from([True, False, 1, 0, "true", {"gte": 0}, [1, True]]),
        "owner": st.sampled_from(["New York", "new", 1, True, "1", {"lt": 5}]),
        "tags": st.sampled_from(["a b", "1", 1, ["x", 3], {"gt": 0}]),
        "day": st.sampled_from(["2024-01-02", 5, {"gte": "2024-01-02", "lt": "2024-02-01"}]),
        "nothing": st.sampled_from([1, "a", {"lt": 3}]),
    },
)  # fmt: skip


@pytest.fixture(scope="module", params=[*ENGINES, *FOLDERS])
def typed(request, engine_index, tmp_path_factory):
    """A collection that another program made: fields with one type each, and one with values of all types."""
    fields = [{"more": {"v": v}, **ROWS[n % len(ROWS)]} for n, v in enumerate(VALUES)]
    if request.param in FOLDERS:
        documents = {f"k{n}": Document(f"k{n}", "", f"common {n}", row) for n, row in enumerate(fields)}
        folder = tmp_path_factory.mktemp("typed") / "index"
        index_folder(request.param, folder, [*documents.values()])
        return load_retriever(folder, encoder=UnitEncoder()), Collection("typed", documents, ())
    index = engine_index(request.param, "typed")
    rows = [{"number": n, "key": f"k{n}", "body": f"common {n}", **row} for n, row in enumerate(fields)]
    put_rows(request.param, index, rows)
    place = located(request.param, index, metadata="")
    return load_retriever(place, encoder=UnitEncoder()), Collection("typed", documents_of(place), ())


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    given=st.one_of(
        typed_filters,
        conditions.map(lambda wanted: {"more.v": wanted}),
        inner.map(lambda wanted: {"more.v.inner": wanted}),
    )
)
def test_a_filter_finds_what_a_test_of_each_value_finds(typed, given):
    retriever, collection = typed
    scope = Scope(read_filter(given))
    [ranking] = retriever.restrict(scope).search(["common"], 100)

    rows = [
        {
            **ROWS[n % len(ROWS)],
            "more.v": value,
            "more.v.inner": value.get("inner") if isinstance(value, dict) else None,
        }
        for n, value in enumerate(VALUES)
    ]
    wanted = {f"k{n}" for n, row in enumerate(rows) if all(holds(row.get(name), w) for name, w in given.items())}
    assert set(ranking.doc_ids) == wanted
    assert set(fetch(collection.restrict(scope).documents, [f"k{n}" for n in range(len(VALUES))])) == wanted


@pytest.mark.parametrize("kind", [*ENGINES, *FOLDERS])
def test_a_tenant_may_be_a_number_in_the_documents(engine_index, kind, tmp_path):
    owners = [7, 7.0, "7", 70, True, "07", -7]
    documents = [Document(f"d{i}", "", f"common {i}", {"owner": o}) for i, o in enumerate(owners)]
    if kind in FOLDERS:
        index_folder(kind, tmp_path / "index", documents)
        place = f"{tmp_path}/index?tenant=owner"
    else:
        place = put_documents(kind, engine_index(kind, "tenants"), documents)(tenant="owner")
    retriever = load_retriever(place, encoder=UnitEncoder())

    def found(tenant):
        return set(retriever.restrict(Scope(tenant=tenant)).search(["common"], 9)[0].doc_ids)

    assert [found(tenant) for tenant in ("7", "1", "-7")] == [{"d0", "d1", "d2"}, set(), {"d6"}]
    with pytest.raises(ConfigError):
        retriever.search(["common"], 9)
