"""The files of a study: JSON for programs, and run files for trec_eval.

summary.json        settings, means, costs, comparisons: everything in the report, not rounded
queries.jsonl       one row per system and query: reformulation, ranking, measures, costs
runs/NAME.trec      one run file per system
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.cache import reformulation_of
from acqo_rl.evaluation.run import Evaluation, QueryResult
from acqo_rl.evaluation.study import PairedComparison, Study, confusions_of
from acqo_rl.evaluation.summary import commonest_problems, summarise
from acqo_rl.evaluation.systems import System
from acqo_rl.files import write_atomic
from acqo_rl.measures import to_run
from acqo_rl.types import Ranking

SUMMARY = "summary.json"
_RESULTS = "queries.jsonl"
_WHITE_SPACE = re.compile(r"\s")
_NOT_IN_FILES = re.compile(r"[^\w.+-]+")


def write_files(folder: Path, study: Study, gains: Sequence[PairedComparison], further: Mapping[str, Any]) -> None:
    """Writes all files; those of an earlier report are replaced.

    Args:
        folder: the output folder.
        study: all evaluations.
        gains: the systems compared to the baseline with the same retriever and fusion.
        further: further entries of ``summary.json``, such as the settings; JSON-serialisable.
    """
    content = {**further, **_content(study, gains)}
    write_atomic(folder / SUMMARY, [json.dumps(content, indent=2, ensure_ascii=False)])
    rows = ((study.name(system), result) for system, e in study.evaluations.items() for result in e.results)
    write_atomic(folder / _RESULTS, (json.dumps({"system": name, **asdict(result)}) for name, result in rows))
    for old in (folder / "runs").glob("*.trec"):
        old.unlink()
    for system, evaluation in study.evaluations.items():
        name = _NOT_IN_FILES.sub("_", study.name(system))
        write_atomic(folder / "runs" / f"{name}.trec", trec_lines(evaluation, name))


def read_results(folder: str | Path) -> dict[str, Evaluation]:
    """Name of a system -> its evaluation, as :func:`write_files` wrote them.

    Raises:
        ConfigError: the folder has no results, or they were written by another version.
    """
    results: dict[str, list[QueryResult]] = {}
    try:
        systems = json.loads(Path(folder, SUMMARY).read_text(encoding="utf-8"))["systems"]
        with Path(folder, _RESULTS).open(encoding="utf-8", newline="\n") as lines:
            for line in lines:
                row = json.loads(line)
                results.setdefault(row.pop("system"), []).append(_result(row))
        return {s["name"]: Evaluation(s["name"], tuple(results[s["name"]]), s["unmeasured"]) for s in systems}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{folder} has no results that can be read ({type(error).__name__}: {error}); run acqo evaluate."
        ) from error


def trec_lines(evaluation: Evaluation, name: str) -> Iterator[str]:
    """The lines of a run file for trec_eval: query id, Q0, document id, rank, score, name.

    Scores decrease strictly with the rank, so that trec_eval uses the order that was measured. White space in ids,
    which the format does not allow, becomes an underscore.
    """
    run = to_run({result.reformulation.query.id: result.ranking for result in evaluation.results})
    for query_id, scores in run.items():
        for rank, (doc_id, score) in enumerate(scores.items(), start=1):
            yield f"{_token(query_id)} Q0 {_token(doc_id)} {rank} {score:g} {name}"


def _token(text: str) -> str:
    return _WHITE_SPACE.sub("_", text)


def _result(row: dict[str, Any]) -> QueryResult:
    row["reformulation"] = reformulation_of(row["reformulation"])
    ranking: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in row["ranking"].items()}
    row["ranking"] = Ranking(**ranking)
    return QueryResult(**row)


def _content(study: Study, gains: Sequence[PairedComparison]) -> dict[str, Any]:
    group = study.with_same_retrieval()
    return {
        "baseline": study.baseline,
        "systems": [_system(study, system) for system in study.evaluations],
        "comparisons": [
            {
                **asdict(gain.comparison),
                "system": study.name(gain.system),
                "baseline": study.name(gain.against),
                "corrected": gain.corrected,
            }
            for gain in gains
        ],
        "robustness": {
            name: [{"name": study.name(s), "measures": summarise(e).overall.measures} for s, e in evaluations.items()]
            for name, evaluations in study.variants.items()
        },
        "confusions": {e.name: [*map(asdict, confusions_of(e, group, study.measures[0]))] for e in group},
    }


def _system(study: Study, system: System) -> dict[str, Any]:
    evaluation = study.evaluations[system]
    return {
        **asdict(system),
        "name": study.name(system),
        "unmeasured": evaluation.unmeasured,
        **asdict(summarise(evaluation)),
        "commonest_problems": dict(commonest_problems(evaluation)),
    }
