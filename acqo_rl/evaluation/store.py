"""Evaluations on disk: one line a query as JSON, complete enough to be compared later, and a trec run file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acqo_rl.data.beir import write_atomic
from acqo_rl.errors import DataError
from acqo_rl.evaluation.run import Evaluation, QueryResult
from acqo_rl.measures import to_run
from acqo_rl.types import Query, Ranking, Reformulation, Snippet, SubQuery

_WHITE_SPACE = re.compile(r"\s")


def write_per_query(path: Path, evaluation: Evaluation) -> None:
    """One JSON object a line: query, reformulation, ranking, measures, gold ranks and times."""
    write_atomic(path, (json.dumps(asdict(result)) for result in evaluation.results))


def read_per_query(path: Path, name: str, unmeasured: int) -> Evaluation:
    """The evaluation that ``write_per_query`` wrote.

    Raises:
        DataError: the file is missing or is not what this version writes.
    """
    try:
        with path.open(encoding="utf-8", newline="\n") as lines:
            results = tuple(_result(json.loads(line)) for line in lines)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"The finished evaluation {path} cannot be read ({type(error).__name__}: {error}). "
            "Delete its folder or choose another one, and evaluate again."
        ) from error
    return Evaluation(name, results, unmeasured)


def write_trec(path: Path, evaluation: Evaluation) -> None:
    """A run file for trec_eval: query id, Q0, document id, rank, score, name.

    Scores fall strictly with the rank, so that trec_eval sees the order that was measured. White space in an id,
    which the format cannot hold, becomes an underscore.
    """
    write_atomic(path, _trec_lines(evaluation))


def reformulation_of(row: dict[str, Any]) -> Reformulation:
    """The reformulation whose ``asdict`` came back from JSON."""
    asked = row["query"]
    feedback = tuple(Snippet(**snippet) for snippet in asked["feedback"])
    sub_queries = tuple(SubQuery(**sub_query) for sub_query in row["sub_queries"])
    return Reformulation(**{**row, "query": Query(**{**asked, "feedback": feedback}), "sub_queries": sub_queries})


def _trec_lines(evaluation: Evaluation) -> Iterator[str]:
    run = to_run({result.reformulation.query.id: result.ranking for result in evaluation.results})
    for query_id, scores in run.items():
        for rank, (doc_id, score) in enumerate(scores.items(), start=1):
            yield f"{_token(query_id)} Q0 {_token(doc_id)} {rank} {score:g} {_token(evaluation.name)}"


def _token(text: str) -> str:
    return _WHITE_SPACE.sub("_", text)


def _result(row: dict[str, Any]) -> QueryResult:
    row["reformulation"] = reformulation_of(row["reformulation"])
    row["ranking"] = Ranking(**_with_tuples(row["ranking"]))
    return QueryResult(**row)


def _with_tuples(row: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
