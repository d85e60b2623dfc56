"""A comparison of many systems on disk: report for people, JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from acqo_rl.data.beir import write_atomic
from acqo_rl.evaluation.claims import Claim, check_claims
from acqo_rl.evaluation.classifier import Judged, classifier_content, judge_rules
from acqo_rl.evaluation.compare import summarise
from acqo_rl.evaluation.cost import commonest_problems, cost_of
from acqo_rl.evaluation.groups import difficulties
from acqo_rl.evaluation.plots import Point, draw_confusions, draw_costs, draw_plots
from acqo_rl.evaluation.report import Report, examples_of, write_pages
from acqo_rl.evaluation.routing import routing_of
from acqo_rl.evaluation.study import Contrast, Study, beside, contrasts
from acqo_rl.evaluation.study_tables import study_tables
from acqo_rl.evaluation.tables import Table


def write_study(folder: Path, study: Study, claims: Sequence[Claim], settings: Mapping[str, Any]) -> list[Table]:
    """Writes the whole comparison; files of the same names are replaced. Returns the tables of the report.

    ``report.html`` (one file that needs no network), ``report.md`` with ``plots/``, ``comparison.json`` (all that the
    report says, unrounded), ``systems.csv`` (one row a system) and ``queries.csv`` (one a system and query).

    Args:
        folder: where they go.
        study: what was measured.
        claims: what is set beside it.
        settings: how it was measured; values that JSON can hold.
    """
    findings = check_claims(claims, study)
    gains = contrasts(study.evaluations, "reformulator", study.baseline, study.measures)
    judged = judge_rules()
    tables = study_tables(study, gains, findings, judged)
    group = beside(study.evaluations, study.reference)
    measure = study.measures[0]
    shown = {key: value if isinstance(value, str) else json.dumps(value) for key, value in settings.items()}
    report = Report(
        title=f"Comparison of {len(study.evaluations)} systems with {study.baseline}",
        settings=shown,
        tables=tables,
        draw=lambda dark: _pictures(study, judged, dark),
        examples=examples_of(group, measure),
        measure=measure,
    )
    write_pages(folder, report)
    routings = {evaluation.name: routing_of(evaluation, group, measure) for evaluation in group}
    content = {
        "settings": settings,
        "baseline": study.baseline,
        "systems": [
            {
                **asdict(system),
                **asdict(summarise(evaluation)),
                "cost": asdict(cost_of(evaluation)),
                "commonest_problems": dict(commonest_problems(evaluation)),
            }
            for system, evaluation in study.evaluations.items()
        ],
        "variants": {
            name: [
                {**asdict(system), "measures": summarise(evaluation).overall.measures}
                for system, evaluation in evaluations.items()
            ]
            for name, evaluations in study.variants.items()
        },
        "contrasts": [asdict(gain) for gain in gains],
        "routing": {name: asdict(routing) for name, routing in routings.items() if routing},
        "classifier": classifier_content(judged),
        "claims": [{**asdict(f), "claim": f.claim.claim, "verdict": f.verdict} for f in findings],
    }
    write_atomic(folder / "comparison.json", [json.dumps(content, indent=2, ensure_ascii=False)])
    write_csv(folder / "systems.csv", _system_rows(study, gains))
    write_csv(folder / "queries.csv", _query_rows(study))
    return tables


def _pictures(study: Study, judged: Sequence[Judged], dark: bool) -> dict[str, bytes]:
    measure = study.measures[0]
    costs = {system: cost_of(evaluation) for system, evaluation in study.evaluations.items()}
    means = {system: float(evaluation.scores(measure).mean()) for system, evaluation in study.evaluations.items()}

    def points(cost: str) -> list[Point]:
        return [
            Point(system.name, system.reformulator, getattr(costs[system], cost), mean)
            for system, mean in means.items()
        ]

    return {
        "quality_against_milliseconds.png": draw_costs(points("ms"), "milliseconds a query, mean", measure, dark=dark),
        "quality_against_searches.png": draw_costs(points("searches"), "searches a query, mean", measure, dark=dark),
        **draw_plots(beside(study.evaluations, study.reference), measure, dark=dark),
        "classifier_query_types.png": draw_confusions(
            {f"{one.name} questions": one.agreements["query_type"].confusion for one in judged}, dark=dark
        ),
    }


def _system_rows(study: Study, gains: Sequence[Contrast]) -> Iterator[dict[str, Any]]:
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
        yield (
            row
            | {"helped": gain and gain.comparison.helped, "hurt": gain and gain.comparison.hurt}
            | asdict(cost_of(evaluation))
        )


def _query_rows(study: Study) -> Iterator[dict[str, Any]]:
    thirds = difficulties(study.evaluations[study.reference], study.measures[0])
    for name, evaluations in {"": study.evaluations, **study.variants}.items():
        for system, evaluation in evaluations.items():
            for result in evaluation.results:
                query_id = result.reformulation.query.id
                yield {
                    "variant": name,
                    **asdict(system),
                    "query_id": query_id,
                    "kind": result.kind,
                    "difficulty": thirds[query_id],
                    "route": result.reformulation.route,
                    **result.measures,
                    "calls": result.reformulation.calls,
                    "tokens": result.reformulation.tokens,
                    "embedded": result.embedded,
                    "searches": result.searches,
                    "reformulation_ms": result.reformulation_ms,
                    "retrieval_ms": result.retrieval_ms,
                    "problem": result.reformulation.problem or "",
                }


def write_csv(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes rows, at least one, under the keys of the first."""
    listed = list(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(listed[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(listed)
    write_atomic(path, [text.getvalue().removesuffix("\n")])
