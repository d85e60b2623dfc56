"""The files of a study: JSON and CSV for programs, and run files for trec_eval.

summary.json        settings, means, costs, comparisons: everything in the report, not rounded
systems.csv         one row per system
queries.csv         one row per system and query
queries.jsonl       the same, complete: reformulation, ranking, measures, costs
runs/NAME.trec      one run file per system
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acqo_rl.data.beir import write_atomic
from acqo_rl.errors import ConfigError
from acqo_rl.evaluation.answers import score_answer, summarise_answers, summarise_step
from acqo_rl.evaluation.cache import reformulation_of
from acqo_rl.evaluation.pipeline import outcome_of
from acqo_rl.evaluation.run import Evaluation, QueryResult
from acqo_rl.evaluation.study import PairedComparison, Study, difficulties, routing_of
from acqo_rl.evaluation.summary import commonest_problems, cost_of, summarise
from acqo_rl.evaluation.systems import System
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
    _write_csv(folder / "systems.csv", _system_rows(study, gains))
    _write_csv(folder / "queries.csv", _query_rows(study))
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
    row["outcome"] = row["outcome"] and outcome_of(row["outcome"])
    return QueryResult(**row)


def _content(study: Study, gains: Sequence[PairedComparison]) -> dict[str, Any]:
    group = study.with_same_retrieval()
    routings = {evaluation.name: routing_of(evaluation, group, study.measures[0]) for evaluation in group}
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
            name: [
                {"name": study.name(system), "measures": summarise(evaluation).overall.measures}
                for system, evaluation in evaluations.items()
            ]
            for name, evaluations in study.variants.items()
        },
        "routing": {name: asdict(routing) for name, routing in routings.items() if routing},
    }


def _system(study: Study, system: System) -> dict[str, Any]:
    evaluation = study.evaluations[system]
    step, answers = summarise_step(evaluation), summarise_answers(evaluation, study.gold)
    return {
        **asdict(system),
        **asdict(summarise(evaluation)),
        "name": study.name(system),
        "cost": asdict(cost_of(evaluation)),
        "commonest_problems": dict(commonest_problems(evaluation)),
        **({"step": asdict(step)} if step else {}),
        **({"answers": asdict(answers)} if answers else {}),
    }


def _system_rows(study: Study, gains: Sequence[PairedComparison]) -> Iterator[dict[str, Any]]:
    by_system = {gain.system: gain for gain in gains}
    for system, evaluation in study.evaluations.items():
        row = {**asdict(system), "queries": len(evaluation.results)}
        gain = by_system.get(system)
        for measure in study.measures:
            difference = gain.comparison.differences[measure] if gain else None
            row |= {
                measure: evaluation.scores(measure).mean(),
                f"{measure} difference": difference and difference.mean,
                f"{measure} low": difference and difference.low,
                f"{measure} high": difference and difference.high,
                f"{measure} p": difference and difference.p,
                f"{measure} p_holm": gain and gain.corrected[measure],
            }
        row |= {"helped": gain and gain.comparison.helped, "hurt": gain and gain.comparison.hurt}
        yield row | asdict(cost_of(evaluation))


def _query_rows(study: Study) -> Iterator[dict[str, Any]]:
    thirds = difficulties(study.evaluations[study.reference], study.measures[0])
    has_steps = any(e.results[0].outcome for e in study.evaluations.values())
    for name, evaluations in {"": study.evaluations, **study.variants}.items():
        for system, evaluation in evaluations.items():
            for result in evaluation.results:
                reformulation = result.reformulation
                row = {
                    "variant": name,
                    **asdict(system),
                    "query_id": reformulation.query.id,
                    "kind": result.kind,
                    "difficulty": thirds[reformulation.query.id],
                    "route": reformulation.route,
                    **result.measures,
                    "calls": reformulation.calls,
                    "tokens": reformulation.tokens,
                    "embedded": result.embedded,
                    "searches": result.searches,
                    "reformulation_ms": result.reformulation_ms,
                    "retrieval_ms": result.retrieval_ms,
                    "reranking_ms": result.reranking_ms,
                    "searched": " | ".join(sub_query.text for sub_query in reformulation.sub_queries),
                    "problem": reformulation.problem or "",
                }
                yield row | (_step_cells(result, study.gold) if has_steps else {})


def _step_cells(result: QueryResult, gold: Mapping[str, tuple[str, ...] | None]) -> dict[str, Any]:
    """What a step of the pipeline answered and left out; empty for a reformulator."""
    outcome, accepted = result.outcome, gold.get(result.reformulation.query.id)
    answer = outcome.answer if outcome else None
    score = score_answer(answer, accepted) if answer is not None and accepted is not None else None
    return {
        "passages": len(outcome.doc_ids) if outcome else "",
        "strategies": " ".join(outcome.strategies) if outcome else "",
        "skipped": " | ".join(outcome.skipped) if outcome else "",
        "answer": answer,
        "gold": " | ".join(accepted or ()),
        "em": score and score.em,
        "f1": score and score.f1,
        "holds": score and score.holds,
        "confidence": outcome and outcome.confidence,
        "label": outcome.label if outcome else "",
    }


def _write_csv(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes rows (at least one); the columns are the keys of the first row."""
    listed = list(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(listed[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(listed)
    write_atomic(path, [text.getvalue().removesuffix("\n")])
