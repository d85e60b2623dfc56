"""Evaluations whose every number is given."""

from acqo_rl.evaluation.run import Evaluation, QueryResult
from acqo_rl.types import Query, Ranking, Reformulation, SubQuery


def result(
    query_id,
    value,
    *,
    kind="",
    route="pass",
    searches=1,
    embedded=0,
    tokens=0,
    ms=(0.0, 1.0),
    problem=None,
    failed_calls=0,
):
    """One query's result with the value ``value`` of the only measure; a model wrote it where there are tokens."""
    query = Query(query_id, f"text of {query_id}")
    sub_queries = (SubQuery(query.text, "original"),)
    completion = "written" if tokens else ""
    calls = int(bool(completion))
    made = Reformulation(query, route, sub_queries, "by hand", completion, tokens, problem, calls, failed_calls)
    measures = {"nDCG@10": value}
    return QueryResult(made, Ranking(("d",), (1.0,)), measures, {"d": 1}, searches, kind, *ms, embedded)


def evaluation(name, values, **settings):
    """Queries q0, q1, ... with these values; a setting given as a list has one entry a query."""
    rows = [{k: v[i] if isinstance(v, list) else v for k, v in settings.items()} for i in range(len(values))]
    return Evaluation(
        name, tuple(result(f"q{i}", value, **row) for i, (value, row) in enumerate(zip(values, rows, strict=True)))
    )
